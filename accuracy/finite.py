"""NaN and Inf in distances and their gradients, over awkward pairs: python -m accuracy.finite [--pairs N] [--spaces …]

Every metric that is a norm on the space, float64 and float32, gradients in both points (and in k, where the space is
interpolated); for a tenth of the pairs exp, log and transport too. Writes accuracy/finite.csv.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pool

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace, table
from weyl.geometry import space as make
from weyl.geometry.matrix_ball import MatrixBall
from weyl.geometry.norms import METRICS, BoundNorm
from weyl.geometry.space import TOLERANCE

from . import report

BATCH = 5000
GAP = {
    torch.float64: 32.0,
    torch.float32: 13.0,
}  # of far points, 0.7 of it where rounding must keep a determinant
TOGETHER = {torch.float64: 300.0, torch.float32: 60.0}
SPACES = (
    *("upper(1)", "upper(2)", "bounded(2)", "dual(2)", "ball(1, 1)", "spd(2)", "hyperbolic(1)", "sphere(1)"),
    *("interpolated(2, k=-0.5)", "interpolated(2, k=0)", "interpolated(2, k=0.5)"),
    *(
        'product(upper(2), hyperbolic(3), combine="pythagoras")',
        "product(spd(2, det=1), ball(2, 2), sphere(2))",
    ),
    *(row.example for row in table()),
)
Pair = tuple[Tensor, Tensor]


class Draws:
    """Points of one space, in float64, `count` at a time."""

    def __init__(self, space: SymmetricSpace, dtype: torch.dtype, count: int, seed: int):
        self.space, self.dtype, self.count = space, dtype, count
        self.generator = torch.Generator().manual_seed(seed)
        self.chamber = space.chamber
        self.spread = min(1.0, space.reach(dtype) / 8)
        compact = space.reach(torch.float64) == space.reach(torch.float32)
        self.end = (0.45 if compact else 0.8) * space.reach(dtype)  # of components, on either side of o
        self.gap = GAP[dtype] * (0.7 if space.rank < self.chamber.length else 1.0)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(self.count, *shape, dtype=torch.float64, generator=self.generator)

    def components(self, least: float, most: float) -> Tensor:
        return least + (most - least) * self.uniform(self.chamber.length)

    def origin(self) -> Tensor:
        return self.space.origin().expand(self.count, *self.space.point_shape)

    def tangents(self, p: Tensor) -> Tensor:
        """Of mean length `spread`."""
        return self.space.random_tangents(p, self.generator) * (self.spread / max(self.space.dim, 1) ** 0.5)

    def points(self) -> Tensor:
        return self.space.exp_at(self.origin(), self.tangents(self.origin()))

    def flat(self, v: Tensor) -> Tensor:
        """Points on one flat through o; v loses its mean where the determinant is 1."""
        parts = [
            x - x.mean(-1, keepdim=True) if f.type == "A" and f.rank < f.length else x
            for f, x in zip(self.chamber.factors, self.chamber.split(v), strict=True)
        ]
        return self.space.exp_at(self.origin(), self.space.flat_o(torch.cat(parts, -1)))

    def moved(self, *points: Tensor) -> tuple[Tensor, ...]:
        """By isometries of spread 1, one a pair."""
        g = self.space.frame(self.points()), self.space.rotation(self.generator)
        return tuple(self.space.act_at(g, p) for p in points)

    def tiny(self) -> Tensor:
        """Factors from 1e-300 to 1, one a pair."""
        return (10 ** (-300 * self.uniform().square())).reshape(-1, *[1] * len(self.space.point_shape))


def random(d: Draws) -> Pair:
    return d.points(), d.points()


def equal(d: Draws) -> Pair:
    p = d.points()
    return p, p.clone()


def basepoint(d: Draws) -> Pair:
    """o with o, with others, and others with o."""
    p, q, role = d.points(), d.points(), d.uniform().reshape(-1, *[1] * len(d.space.point_shape))
    return torch.where(role < 0.6, d.origin(), p), torch.where(role > 0.4, d.origin(), q)


def multiples_of_the_identity(d: Draws) -> Pair:
    most = min(d.end, 5.0)
    p, q = (d.flat((most * (2 * d.uniform(1) - 1)).expand(-1, d.chamber.length)) for _ in range(2))
    return p, q


def equal_eigenvalues(d: Draws) -> Pair:
    """Components from two values only, equal up to rounding once they are moved."""
    v = torch.where(d.uniform(d.chamber.length) < 0.5, d.uniform(1), d.uniform(1)) * min(d.end, 5.0)
    return d.moved(d.origin(), d.flat(v))  # type: ignore[return-value]


def rank_deficient(d: Draws) -> Pair:
    v = d.components(0, min(d.end, 5.0)) * (d.uniform(d.chamber.length) < 0.5)
    return d.moved(d.origin(), d.flat(v))  # type: ignore[return-value]


def common_flat(d: Draws) -> Pair:
    most = min(d.end, 5.0)
    return d.flat(d.components(-most, most)), d.flat(d.components(-most, most))


def opposite(d: Draws) -> Pair:
    v = d.components(-min(d.end, 5.0), min(d.end, 5.0))
    return d.flat(v), d.flat(-v)


def tiny_step(d: Draws) -> Pair:
    p = d.points()
    return p, d.space.exp_at(p, d.tiny() * d.tangents(p))


def tiny_step_at_o(d: Draws) -> Pair:
    """Where the storage is zero, steps of 1e-300 do not vanish in rounding."""
    steps = [d.space.exp_at(d.origin(), d.tiny() * d.tangents(d.origin())) for _ in range(2)]
    return steps[0], torch.where(
        (d.uniform() < 0.5).reshape(-1, *[1] * len(d.space.point_shape)), d.origin(), steps[1]
    )


def last_digits(d: Draws) -> Pair:
    """Entries that differ by one rounding of the dtype."""
    p = d.points().to(d.dtype)
    q = torch.where(torch.rand(p.shape, generator=d.generator) < 0.5, p, torch.nextafter(p, p + 1))
    return p.double(), d.space.structured(q.double())


def far(d: Draws) -> Pair:
    return d.moved(d.origin(), d.flat(d.components(0, min(d.end, d.gap))))  # type: ignore[return-value]


def both_far(d: Draws) -> Pair:
    """At a gap from o, and near each other."""
    gap = min(0.8 * d.end, d.gap / 2)
    p, q = d.moved(d.flat(d.components(0, gap)), d.flat(d.components(0, gap)))
    near = (d.uniform() < 0.5).reshape(-1, *[1] * len(d.space.point_shape))
    return p, torch.where(near, d.space.exp_at(p, 0.01 * d.tangents(p)), q)


def together(d: Draws) -> Pair:
    """Components that grow together, as far as there is room."""
    most = min(0.8 * d.end, TOGETHER[d.dtype])
    v = most * d.uniform(1) + min(0.2 * d.end, 2.0) * d.uniform(d.chamber.length)
    return d.moved(d.origin(), d.flat(v))  # type: ignore[return-value]


KINDS: tuple[Callable[[Draws], Pair], ...] = (
    *(random, equal, basepoint, multiples_of_the_identity, equal_eigenvalues, rank_deficient, common_flat),
    *(opposite, tiny_step, tiny_step_at_o, last_digits, far, both_far, together),
)


def norms(space: SymmetricSpace) -> list[BoundNorm]:
    """Every metric that is a norm here, lp with p = 3 and 1.5, weights learned and given."""
    weights = ", ".join(str(x) for f in space.chamber.factors for x in range(f.length, 0, -1))
    found = []
    for text in (
        *(m for m in METRICS if m not in ("lp", "weighted")),
        "lp(3)",
        "lp(1.5)",
        "weighted",
        f"weighted({weights})",
    ):
        try:
            found.append(space.norm(text))
        except ValueError:  # no norm on this space
            continue
    return found


def bad(*tensors: Tensor | None) -> int:
    """How many pairs have a number that is not finite."""
    wrong = [~x.detach().isfinite().flatten(1).all(-1) for x in tensors if x is not None]
    return int(torch.stack(wrong).any(0).sum())


def distances(space: SymmetricSpace, p: Tensor, q: Tensor, metrics: list[BoundNorm]) -> tuple[int, int]:
    """Pairs with a bad value, and with a bad gradient; the steps of Space.distance, vector_at shared by the metrics."""
    learned = [k for k in (getattr(space, "curvature", None),) if isinstance(k, Tensor) and k.requires_grad]
    a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
    v = space.vector_at(space.structured(a.double()), space.structured(b.double()), TOLERANCE[p.dtype])
    values, gradients = [v], []
    for metric in metrics:
        value = metric(v).to(p.dtype)
        values.append(value[:, None])
        found = torch.autograd.grad(
            value.sum(), [a, b, *metric.parameters(), *learned], retain_graph=True, allow_unused=True
        )
        gradients += found[:2]
        gradients += [x.expand(len(p), *x.shape).reshape(len(p), -1) for x in found[2:] if x is not None]
    return bad(*values), bad(*gradients)


def operations(space: SymmetricSpace, p: Tensor, q: Tensor, carried: bool) -> tuple[int, int]:
    """The same for log, for exp of half of it, and for the transport of it (gradients of that only where asked)."""
    a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
    X = space.log(a, b)
    values = [X, space.exp(a, X / 2), space.transport(a, b, X)]
    gradients = [
        x for y in values[: 2 + carried] for x in torch.autograd.grad(y.sum(), (a, b), retain_graph=True)
    ]
    return bad(*values), bad(*gradients)


def survey(space: str, pairs: int, seed: int = 0) -> Counter:
    """Counts by kind of pair: ("far", "values") and so on."""
    made = make(space)
    assert isinstance(made, SymmetricSpace)
    if isinstance(made, MatrixBall) and space.startswith("interpolated"):
        made.curvature.requires_grad_()
    metrics, counts, done, turn = norms(made), Counter(), 0, 0
    while done < pairs:
        kind, dtype = KINDS[turn % len(KINDS)], (torch.float64, torch.float32)[turn // len(KINDS) % 2]
        count = min(BATCH, math.ceil(pairs / (2 * len(KINDS))), pairs - done)
        with torch.no_grad():
            p, q = (made.project(x.to(dtype)) for x in kind(Draws(made, dtype, count, seed + turn)))
        few = count // 10 + 1
        # The derivative of a transport over 60 in all components is of size e^60 and more: no number of float32.
        found = [distances(made, p, q, metrics), operations(made, p[:few], q[:few], kind is not together)]
        for what, values, gradients in zip(("", "operations, "), *zip(*found, strict=True), strict=True):
            name = f"{what}{kind.__name__}, {str(dtype)[6:]}"
            counts[name, "values"] += values
            counts[name, "gradients"] += gradients
        done, turn = done + count, turn + 1
    return counts


def count_bad(space: str, pairs: int, seed: int = 0) -> tuple[int, int]:
    """How many of so many drawn pairs have a value, and a gradient, with NaN or Inf."""
    counts = survey(space, pairs, seed)
    return tuple(
        sum(n for (_, what), n in counts.items() if what == kind) for kind in ("values", "gradients")
    )  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m accuracy.finite", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000, help="pairs a space")
    parser.add_argument("--spaces", nargs="*", default=SPACES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1, help="each draws its share of the pairs")
    options = parser.parse_args()
    pool = Pool(options.processes, torch.set_num_threads, (1,))
    share = math.ceil(options.pairs / options.processes)
    for space in dict.fromkeys(options.spaces):
        start = time.monotonic()
        tasks = [(space, share, options.seed + 10_000 * i) for i in range(options.processes)]
        counts = sum(pool.starmap(survey, tasks), Counter())
        row: report.Row = {"space": space, "pairs": share * options.processes}
        for what in ("values", "gradients"):
            row[f"bad {what}"] = sum(n for (_, kind), n in counts.items() if kind == what)
        row["where"] = "; ".join(sorted({name for (name, _), n in counts.items() if n}))
        row["seconds"] = round(time.monotonic() - start)
        print(*row.values(), sep="\t", flush=True)
        if options.pairs >= 1_000_000:
            report.merge("finite", [row], keys=("space",), order=SPACES)


if __name__ == "__main__":
    main()
