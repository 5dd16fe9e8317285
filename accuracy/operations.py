"""Errors of exp, log, geodesics, transport and gradients, every kind of space: python -m accuracy.operations [space …]

At points of spread 1 and for tangent vectors of length 0.1 to 20, as far as the storage carries. Prints one table a
dtype and writes accuracy/operations.csv.
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise

import mpmath as mp
import torch
from torch import Tensor

from weyl.geometry import Space, table
from weyl.geometry import space as make
from weyl.geometry.matrix_space import MatrixSpace

from . import oracle, report

LENGTHS = (0.1, 1.0, 5.0, 10.0, 20.0)
DRAWS = 20
DRAWS_OF_ORACLE = 3
GOALS = {"log exp": 1e-9, "speed": 1e-9, "transport": 1e-10}  # for float64, up to length 5
EXTRA = ("upper(1)", "upper(8)", "bounded(1)", "ball(1, 1)", "interpolated(2, k=0)", "interpolated(2, k=0.5)")


def lengths(space: Space, dtype: torch.dtype) -> list[float]:
    """Those that end before the cut locus of a compact space, or where the dtype no longer tells a ball's end."""
    end = space.reach(torch.float64)
    if end == space.reach(torch.float32):
        return (
            [x for x in LENGTHS if x < end]
            if math.isinf(end)
            else [*(x for x in LENGTHS if x < 0.8 * end), 0.9 * end]
        )
    return [x for x in LENGTHS if x + 2 < space.reach(dtype)]


def size(space: Space, p: Tensor, X: Tensor) -> Tensor:
    return space.inner(p, X, X).sqrt()


def scaled(space: Space, p: Tensor, X: Tensor, length: float) -> Tensor:
    """X made that long at p."""
    return X * (length / size(space, p, X)).reshape(-1, *[1] * len(space.point_shape))


def measure(space: Space, length: float, dtype: torch.dtype) -> report.Row:
    """The largest errors over the draws, relative to the length or absolute, whichever is larger."""
    spread = min(1.0, space.reach() / 8)
    p = space.random_points(DRAWS, spread=spread, seed=1, dtype=dtype)
    X, Y = (scaled(space, p, space.random_tangent(p, seed=seed), length) for seed in (2, 3))
    unit = min(length, 1.0)
    q = space.exp(p, X)
    back = size(space, p, space.log(p, q) - X) / unit
    row: report.Row = {"log exp": float(back.max())}
    ends = [space.geodesic(p, q, t) for t in (0.0, 0.2, 0.5, 0.9)] + [q]
    steps = [space.distance(a, b, "riemannian") for a, b in pairwise(ends)]
    shares = (0.2, 0.3, 0.4, 0.1)
    row["speed"] = max(float((d - t * length).abs().max()) for d, t in zip(steps, shares, strict=True)) / unit
    there = [(space.transport(p, q, Z), Z) for Z in (X, Y)]
    products = [space.inner(q, a, b) - space.inner(p, c, d) for a, c in there for b, d in there]
    row["transport"] = max(float(x.abs().max()) for x in products) / length**2
    at = p.clone().requires_grad_()
    space.distance(at, q, "riemannian").sum().backward()
    assert at.grad is not None
    row["gradient"] = float(size(space, p, space.riemannian_gradient(p, at.grad) + X / length).max())
    worst = back.argsort(descending=True)[:DRAWS_OF_ORACLE]
    return row | exponential(space, p[worst], X[worst], q[worst], unit)


def exponential(space: Space, p: Tensor, X: Tensor, q: Tensor, unit: float) -> report.Row:
    """How far q = exp(p, X) is from mpmath's exp, and how far that is from what the storage rounds it to."""
    if not isinstance(space, MatrixSpace):
        return {}
    mp.mp.dps = 80
    ours, rounded = [], []
    for a, b, c in zip(p, X, q, strict=True):
        truth = oracle.exponential(space, a, b)
        for found, x in ((ours, c), (rounded, oracle.stored(space, truth, q.dtype))):
            found.append(float(oracle.norm(oracle.vector_distance(space, truth, x), "riemannian")) / unit)
    return {"exp": max(ours), "exp rounded": max(rounded)}


def rows_of(name: str, dtype: torch.dtype) -> list[report.Row]:
    space, rows = make(name), []
    for length in lengths(space, dtype):
        row: report.Row = {"space": name, "dtype": str(dtype)[6:], "length": length}
        try:
            row |= measure(space, length, dtype)
        except ValueError as error:
            row["met"] = str(error).removeprefix(f"{name}: ")[:70]
        else:
            if dtype == torch.float64 and length <= 5:
                missed = [what for what, goal in GOALS.items() if not row[what] < goal]
                row["met"] = f"not {', '.join(missed)}" if missed else "yes"
        rows.append(row)
    return rows


def main() -> None:
    torch.set_num_threads(1)
    names = sys.argv[1:] or [row.example for row in table()] + list(EXTRA)
    rows = []
    for dtype in (torch.float64, torch.float32):
        found = [row for name in names for row in rows_of(name, dtype)]
        report.show(f"{dtype}: largest errors", found)
        rows += found
    if not sys.argv[1:]:
        report.save("operations", rows)


if __name__ == "__main__":
    main()
