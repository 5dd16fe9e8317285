"""Relative errors of distances against mpmath, from the same rounded points: python -m accuracy.distances [family …]

Near pairs, component gaps, components that grow together, all between points moved by isometries of spread 1, and
pairs of which both points are far from o. Prints one table a family and writes accuracy/distances.csv.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import mpmath as mp
import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make
from weyl.geometry.matrix_ball import MatrixBall

from . import oracle, report

METRICS = ("riemannian", "f1", "finf")
GOALS = {torch.float64: 1e-12, torch.float32: 1e-5}
DRAWS = 5


@dataclass(frozen=True)
class Case:
    """Components of v(p, q) from `least` to `most`, p at a component gap `far` from o; each for float64, float32."""

    name: str
    least: tuple[float, float]
    most: tuple[float, float]
    far: tuple[float, float] = (0.0, 0.0)
    one: bool = False  # one component at `most`, all others equal


CASES = (
    Case("1e-8 (1e-4)", (3e-9, 3e-5), (1e-8, 1e-4)),
    Case("1e-4 (1e-2)", (3e-5, 3e-3), (1e-4, 1e-2)),
    Case("1", (0.3, 0.3), (1.0, 1.0)),
    Case("gap 5", (0.3, 0.3), (5.3, 5.3)),
    Case("gap 10 (7)", (0.3, 0.3), (10.3, 7.3)),
    Case("gap 25 (10)", (0.3, 0.3), (25.3, 10.3)),
    Case("gap 25 (10), the others equal", (0.3, 0.3), (25.3, 10.3), one=True),
    Case("100 (30) together", (98.0, 28.0), (102.0, 32.0)),
    Case("300 (60) together", (298.0, 58.0), (302.0, 62.0)),
    Case("both far, gap 10 (5), 1e-8 (1e-4) apart", (3e-9, 3e-5), (1e-8, 1e-4), (10.0, 5.0)),
    Case("both far, gap 25 (10), 1e-2 (1e-1) apart", (3e-3, 3e-2), (1e-2, 1e-1), (25.0, 10.0)),
    Case("both far, gap 25 (10), 3 apart", (0.3, 0.3), (3.0, 3.0), (25.0, 10.0)),
    Case("both far, gap 15 (6), 15 (6) apart", (0.3, 0.3), (15.3, 6.3), (15.0, 6.0)),
)
NEAR, FAR = CASES[:3], CASES[7:9]
CURVED = (  # in units of the distance to the cut locus
    Case("0.9 of the way to the cut locus", (0.3, 0.3), (0.9, 0.9)),
    Case("p at 0.99 of the chart, 1e-4 (1e-2) apart", (3e-5, 3e-3), (1e-4, 1e-2), (0.99, 0.99)),
)
FAMILIES = {  # the sizes that are measured
    "upper({n})": range(1, 9),
    "spd({n})": range(1, 9),
    "hpd({n})": range(1, 9),
    "qpd({n})": range(1, 4),
    "bounded({n})": range(1, 9),
    "ball({n}, 3)": range(1, 4),
    'ball({n}, 3, field="C")': range(1, 4),
    'ball({n}, 3, field="H")': range(1, 4),
    "antisymmetric({n})": range(2, 6),
    "dual({n})": range(1, 9),
    "hyperbolic({n})": range(1, 9),
    "sphere({n})": range(1, 9),
}


def cases(space: SymmetricSpace) -> list[tuple[Case, float]]:
    """The cases that fit into a space, and the factor on their lengths (a ball of v = θ ends half as far)."""
    end = space.reach()
    if end < 5:
        return [*((case, min(1.0, 0.3 * end)) for case in NEAR), *((case, end) for case in CURVED)]
    if isinstance(space, MatrixBall):
        return [(case, space.v_scale / 2) for case in CASES[:-1] if case not in FAR]
    return [(case, 1.0) for case in CASES]


def pair(
    space: SymmetricSpace, v: Tensor, far: Tensor, dtype: torch.dtype, seed: int
) -> tuple[Tensor, Tensor]:
    """p at v(o, p) about `far` and q at v(p, q) about v, moved by an isometry of spread 1 and rounded to dtype."""
    o, generator = space.origin(), torch.Generator().manual_seed(seed)
    g = space.random_isometry(seed=seed, spread=min(1.0, space.reach() / 8))
    if far.any():
        h = space.frame(space.exp(o, space.flat_o(space.chamber.fold(far))))
        g = (*g, h, space.rotation(generator))
    q = space.exp(o, space.flat_o(space.chamber.fold(v)))
    return space.act(g, o).to(dtype), space.act(g, q).to(dtype)


def draw(space: SymmetricSpace, least: float, most: float, seed: int, one: bool = False) -> Tensor:
    """A vector with components from least to most, both attained; in type A every second one around zero."""
    length = space.chamber.length
    t = torch.rand(length, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * (not one)
    t[-1], t[0] = 0, 1
    v = least + (most - least) * t
    return (
        v - (least + most) / 2
        if space.chamber.factors[0].type == "A" and length > 1 and seed % 2 and least < 1
        else v
    )


@dataclass
class Measured:
    """What one pair shows: the worst relative errors, and where the points really are."""

    error: float  # of the distances
    vector: float  # of the components, relative to the largest
    size: float  # the largest component of the true v(p, q)
    gap: float  # the largest less the smallest
    frame: float  # the same of v(o, p)
    digits: float  # relative change of the truth with twice the digits; 0 where not repeated


def measure(space: SymmetricSpace, p: Tensor, q: Tensor, digits: int, repeat: bool) -> Measured:
    """The distance of one pair in every metric and its v, against mpmath."""
    mp.mp.dps = digits
    truth, start = oracle.vector_distance(space, p, q), oracle.vector_distance(space, space.origin(), p)
    ours = {metric: float(space.distance(p, q, metric)) for metric in METRICS}
    errors = [abs(ours[metric] / oracle.norm(truth, metric) - 1) for metric in METRICS]
    largest = oracle.norm(truth, "finf")
    v = space.vector_distance(p, q).tolist()
    vector = max(abs(a - b) / largest for a, b in zip(v, truth, strict=True))
    change = mp.mpf(0)
    if repeat:
        mp.mp.dps = 2 * digits
        again = oracle.vector_distance(space, p, q)
        change = max(abs(a - b) / largest for a, b in zip(again, truth, strict=True))
    spread = [float(max(x) - min(x)) if len(x) > 1 else float(abs(x[0])) for x in (truth, start)]
    return Measured(float(max(errors)), float(vector), float(largest), *spread, float(change))


def cell(space: SymmetricSpace, case: Case, unit: float, dtype: torch.dtype) -> list[Measured]:
    """All draws of one space, case and dtype; AssertionError where a point is not where it was meant to be."""
    at = list(GOALS).index(dtype)
    least, most, far = (unit * x[at] for x in (case.least, case.most, case.far))
    found = []
    for seed in range(DRAWS):
        v, start = draw(space, least, most, seed, case.one), draw(space, 0.0, far, seed + 50)
        p, q = pair(space, v, start, dtype, seed)
        digits = 60 + int(1.3 * (most + 2 * far))
        m = measure(space, p, q, digits, repeat=seed == 0)
        where = f"{space.name}, {case.name}, {dtype}, draw {seed}"
        meant = float(v.abs().max()), float(v.max() - v.min() if len(v) > 1 else v.abs().max())
        slack = (
            0.3 if far else 0.1
        )  # making and rounding far points moves them: the truth is that of the rounded ones
        assert abs(m.size / meant[0] - 1) < slack, f"{where}: components to {m.size}, meant {meant[0]}"
        assert abs(m.gap - meant[1]) < slack * meant[0], f"{where}: a gap of {m.gap}, meant {meant[1]}"
        assert not far or abs(m.frame - far) < 3, f"{where}: p at a gap of {m.frame} from o, meant {far}"
        assert m.digits < 1e-25, f"{where}: mpmath has too few digits, {m.digits}"
        found.append(m)
    return found


def table(pattern: str, sizes: range) -> list[report.Row]:
    """One row a case and dtype: where the points are, and the largest error of each size."""
    spaces = [make(pattern.format(n=n)) for n in sizes]
    rows = []
    for index, (case, unit) in enumerate(cases(spaces[-1])):
        for dtype, goal in GOALS.items():
            found = {n: cell(s, *cases(s)[index], dtype) for n, s in zip(sizes, spaces, strict=True)}
            flat = [m for cells in found.values() for m in cells]
            row: report.Row = {"space": pattern.format(n="n"), "case": case.name, "dtype": str(dtype)[6:]}
            if unit not in (1.0, spaces[-1].reach()) and case not in NEAR:
                row["case"] = f"{case.name}, lengths halved"
            for name in ("size", "gap", "frame"):
                values = [getattr(m, name) for m in flat]
                row[f"true {name}"] = f"{min(values):.3g}…{max(values):.3g}"
            row |= {"goal": goal, "met": "yes" if max(m.error for m in flat) < goal else "NO"}
            row["v, all n"] = max(m.vector for m in flat)
            rows.append(row | {f"n={n}": max(m.error for m in cells) for n, cells in found.items()})
    return rows


def main() -> None:
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    rows = []
    for pattern, sizes in FAMILIES.items():
        if not wanted or pattern.split("(")[0] in wanted:
            found = table(pattern, sizes)
            report.show(f"{pattern.format(n='n')}: largest relative error of riemannian, f1, finf", found)
            rows += found
    missed = sum(row["met"] == "NO" for row in rows)
    print(f"\n{len(rows)} rows of {DRAWS} draws a cell, {missed} miss their goal")
    if not wanted:
        report.save("distances", rows)


if __name__ == "__main__":
    main()
