"""Relative errors of distances against mpmath, from the same rounded inputs: python -m accuracy.distances.

Pairs: near ones (1e-8 to 1), component gaps up to 25 (float32: 10), components that grow together up to 300 (60),
all between points moved by isometries of spread 1. Prints one table a space and writes accuracy/distances.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path

import mpmath as mp
import numpy as np
import torch

from weyl.geometry import space as make

from . import oracle

METRICS = ("riemannian", "f1", "finf")
ORACLES = {
    "upper": oracle.upper,
    "bounded": lambda p, q: oracle.symmetric_ball(p, q, -1),
    "dual": lambda p, q: oracle.symmetric_ball(p, q, 1),
    "spd": oracle.positive_definite,
    "hpd": oracle.positive_definite,
    "hyperbolic": oracle.hyperbolic,
}


def exact(name: str, p: torch.Tensor, q: torch.Tensor, size: float) -> list:
    """v in 50 digits beyond what cancels at this size of distance."""
    mp.mp.dps = 60 + int(1.3 * size)
    family = name.split("(")[0]
    complex_points = family in ("upper", "bounded", "dual", "hpd")
    arrays = [(torch.view_as_complex(x.double().contiguous()) if complex_points else x.double()).numpy() for x in (p, q)]
    return ORACLES[family](*arrays)


def norm(v: list, metric: str) -> mp.mpf:
    sizes = [abs(x) for x in v]
    return {"f1": mp.fsum(sizes), "finf": max(sizes), "riemannian": mp.sqrt(mp.fsum(x * x for x in sizes))}[metric]


def pairs(name: str, v: torch.Tensor, dtype: torch.dtype, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two points at vector distance about v, moved by an isometry of spread 1 and rounded to dtype."""
    space = make(name)
    o = space.origin()
    q = space.exp(o, space.flat_o(v))
    g = space.random_isometry(seed=seed, spread=min(1.0, space.reach() / 8))
    return space.act(g, o).to(dtype), space.act(g, q).to(dtype)


def worst_error(name: str, vectors: list[torch.Tensor], dtype: torch.dtype) -> float:
    """The largest relative error over metrics and draws; infinite where a rounded point left the space."""
    space, worst = make(name), 0.0
    for seed, v in enumerate(vectors):
        p, q = pairs(name, space.chamber.fold(v), dtype, seed)
        try:
            ours = {metric: float(space.distance(p, q, metric)) for metric in METRICS}
        except ValueError:
            return float("inf")
        truth = exact(name, p, q, float(v.abs().amax()))
        worst = max(worst, *(float(abs(ours[m] - norm(truth, m)) / norm(truth, m)) for m in METRICS))
    return worst


def draw(length: int, scale: float, gap: float, count: int) -> list[torch.Tensor]:
    """Vectors whose smallest component is `scale` and whose largest is `gap` more."""
    generator = torch.Generator().manual_seed(int(1e6 * (scale + gap)) % 2**31)
    drawn = torch.rand(count, length, generator=generator, dtype=torch.float64)
    drawn[:, 0] = 1
    if length > 1:
        drawn[:, -1] = 0
    return list(scale + gap * drawn)


CASES = {  # name: (scale, gap) for float64 and for float32
    "1e-8 (1e-4)": ((5e-9, 1e-8), (5e-5, 1e-4)),
    "1e-4 (1e-2)": ((5e-5, 1e-4), (5e-3, 1e-2)),
    "1": ((0.5, 1.0), (0.5, 1.0)),
    "gap 5": ((0.3, 5.0), (0.3, 5.0)),
    "gap 10": ((0.3, 10.0), (0.3, 10.0)),
    "gap 25 (10)": ((0.3, 25.0), (0.1, 10.0)),
    "100 (30) together": ((98.0, 4.0), (28.0, 4.0)),
    "300 (60) together": ((298.0, 4.0), (58.0, 4.0)),
}
LIMITED = {"bounded": 4, "dual": 3, "hyperbolic": 8}  # how many of the cases fit into the space


def table(family: str, sizes: range, draws: int) -> list[dict]:
    rows = []
    for case, settings in list(CASES.items())[: LIMITED.get(family, len(CASES))]:
        for dtype, (scale, gap) in zip((torch.float64, torch.float32), settings, strict=True):
            errors = {}
            for n in sizes:
                name = f"{family}({n})"
                length = make(name).chamber.length
                if family == "dual":
                    scale, gap = min(scale, 0.3), min(gap, 1.2)
                errors[n] = worst_error(name, draw(length, scale, gap, draws), dtype)
            rows.append({"space": f"{family}(n)", "case": case, "dtype": str(dtype)[6:], **{f"n={n}": errors[n] for n in sizes}})
    return rows


def main() -> None:
    rows = []
    for family, sizes in (("upper", range(1, 9)), ("bounded", range(1, 5)), ("dual", range(1, 5)), ("spd", range(1, 5)), ("hyperbolic", range(2, 5))):
        found = table(family, sizes, draws=3)
        columns = [f"n={n}" for n in sizes]
        print(f"\n{family}(n): largest relative error of riemannian, f1, finf\n{'':20}{'':9}" + "".join(f"{c:>9}" for c in columns))
        for row in found:
            print(f"{row['case']:20}{row['dtype']:9}" + "".join(f"{row[c]:9.0e}" for c in columns))
        rows += found
    columns = ["space", "case", "dtype"] + [f"n={n}" for n in range(1, 9)]
    with open(Path(__file__).with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows({k: f"{v:.2e}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
