"""How many real multiply-adds the distance of a pair takes, and its gradient, on upper(n).

Counted is what the method of docs/costs.md needs for the very pairs that are timed, on the entries of matrices alone
(a complex product is four); roots, quotients, logarithms and copies are left out, so shares of the peak are too low
rather than too high, most of all at rank 1 and 2. For other spaces nothing is counted yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry.half_space import HalfSpace

SAMPLE = 128  # pairs whose rotations are counted
MOST_SWEEPS = 30


@dataclass(frozen=True)
class Operations:
    """Multiply-adds of a pair of upper(n) whose columns meet and turn so many times on their way to orthogonality."""

    n: int
    meetings: float
    turns: float

    @property
    def distance(self) -> float:
        """Chord, n³/3 + n³ with its solves; 4n a meeting for an inner product, 8n a turn; lengths of columns."""
        n = self.n
        chord = (n**3 - n) / 3 + n * (n + 1) + n**2 * (n + 1)
        return chord + self.meetings * 4 * n + self.turns * 8 * n + 2 * n**2

    @property
    def with_gradient(self) -> float:
        """V turns as well; N V and Nᵀ Ū; half the entries of two products; the sums over nodes."""
        n = self.n
        vectors = self.turns * 8 * n
        return self.distance + vectors + 8 * n**3 + 2 * n**2 + 4 * n**2 * (n + 1) + 2 * n * (n + 1)


def count(space: SymmetricSpace, points: Tensor, first: Tensor, second: Tensor) -> Operations | None:
    """The operations of these pairs, counted on a sample of them; None where no count is defined."""
    if not (isinstance(space, HalfSpace) and space.kind == "symmetric"):
        return None
    p, q = (points[index[:SAMPLE]].to("cpu", torch.float64) for index in (first, second))
    C, _, _ = space.pair(space.matrix(p), space.matrix(q))
    assert isinstance(C, Tensor)
    return Operations(space.size, *rotations(C, torch.finfo(points.dtype).eps))


def rotations(C: Tensor, eps: float) -> tuple[float, float]:
    """Meetings and turns of columns a matrix (mean) in one-sided Jacobi, until none are oblique beyond rounding."""
    X, n = C.clone(), C.shape[-1]
    busy = torch.ones(len(C), dtype=torch.bool)
    sweeps, turns = torch.zeros(len(C)), torch.zeros(len(C))
    for _ in range(MOST_SWEEPS if n > 1 else 0):
        before = turns.clone()
        sweeps += busy
        for i in range(n):
            for j in range(i + 1, n):
                x, y = X[..., i].clone(), X[..., j].clone()
                a, b = x.abs().square().sum(-1), y.abs().square().sum(-1)
                g = (x.conj() * y).sum(-1)
                oblique = g.abs().square() > 16 * eps**2 * n * a * b
                turns += oblique
                d = (a - b) / 2
                size = d.abs() + torch.hypot(d, g.abs())
                t = torch.where(oblique, torch.where(d < 0, -1, 1) * g / size, 0).unsqueeze(-1)
                c = (1 + t.abs().square()).rsqrt()
                X[..., i], X[..., j] = c * (x + t.conj() * y), c * (y - t * x)
        busy = turns > before
        if not busy.any():
            break
    return float(sweeps.mean()) * n * (n - 1) / 2, float(turns.mean())
