"""How far each dtype carries, and what the twofold arithmetic buys: python -m accuracy.gaps [--picture]

Pairs are made in mpmath, with components from 0.3 to 0.3 + gap, moved by an isometry of spread about 1, and rounded
once. Against the true v of the rounded pair: our distance, and float64 arithmetic alone. Against the true v of the
pair that was meant: what rounding did. Writes accuracy/gaps.csv and limits.csv and, where there is matplotlib,
gaps.png (--picture: that alone, from gaps.csv).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

import mpmath as mp
import numpy as np
import torch

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make
from weyl.geometry.matrix_space import MatrixSpace
from weyl.geometry.space import TOLERANCE

from . import distances, oracle, report

DRAWS = 9
SPACES = ("upper(2)", "upper(4)", "spd(4)", "bounded(4)", "ball(2, 3)")
GAPS = {
    torch.float64: [*map(float, range(2, 41)), *(42.0, 44.0, 47.0, 50.0, 55.0, 60.0)],
    torch.float32: [x / 2 for x in range(4, 51)],
}
GOALS = {torch.float64: 1e-12, torch.float32: 1e-5}
Pair = tuple[mp.matrix, mp.matrix]


def noise(rows: int, columns: int, draw: np.random.Generator, scale: float) -> mp.matrix:
    return mp.matrix((scale * draw.standard_normal((rows, columns))).tolist())


def rotation(size: int, draw: np.random.Generator) -> mp.matrix:
    """An orthogonal matrix, to all digits."""
    return mp.qr(noise(size, size, draw, 1.0))[0]


def spread_one(size: int, draw: np.random.Generator) -> mp.matrix:
    """A matrix that moves Id about 1 far in the space of positive definite matrices."""
    return rotation(size, draw) * mp.expm(noise(size, size, draw, 0.5 / size))


def positive_definite(v: list, draw: np.random.Generator) -> Pair:
    g = spread_one(len(v), draw)
    return g * g.T, g * mp.diag([mp.exp(x) for x in v]) * g.T


def upper(v: list, draw: np.random.Generator) -> Pair:
    """Z → gZgᵀ + X and Z → -Z⁻¹ generate the isometries."""
    g, h = spread_one(len(v), draw), spread_one(len(v), draw)
    shifts = [noise(len(v), len(v), draw, 0.5) for _ in range(2)]
    moved = []
    for Z in (mp.eye(len(v)) * mp.j, mp.diag([mp.j * mp.exp(x) for x in v])):
        Z = g * Z * g.T + (shifts[0] + shifts[0].T) / 2
        moved.append(-h * mp.inverse(Z) * h.T + (shifts[1] + shifts[1].T) / 2)
    return moved[0], moved[1]


def bounded(v: list, draw: np.random.Generator) -> Pair:
    """The Cayley images of the same pairs."""
    one = mp.j * mp.eye(len(v))
    return tuple((Z - one) * mp.inverse(Z + one) for Z in upper(v, draw))  # type: ignore[return-value]


def ball(v: list, draw: np.random.Generator) -> Pair:
    """The origin and a point of ball(n, n + 1), turned about it."""
    Z = mp.zeros(len(v), len(v) + 1)
    for j, x in enumerate(v):
        Z[j, j] = mp.tanh(x)
    return mp.zeros(len(v), len(v) + 1), rotation(len(v), draw) * Z * rotation(len(v) + 1, draw)


KINDS: dict[str, Callable[[list, np.random.Generator], Pair]] = {
    "upper": upper,
    "spd": positive_definite,
    "bounded": bounded,
    "ball": ball,
}


def change(v: list, truth: list) -> float:
    """The largest error of a component, relative to the largest component."""
    return float(max(abs(a - b) for a, b in zip(v, truth, strict=True)) / max(abs(x) for x in truth))


def outside(space: MatrixSpace, x: torch.Tensor) -> bool:
    """Whether a rounded point truly left its space."""
    M = oracle.exact(space, x)
    try:
        if space.name.startswith("spd"):
            mp.cholesky(M)
        elif space.name.startswith("upper"):
            mp.cholesky(M.apply(mp.im))
        else:
            mp.cholesky(mp.eye(M.cols) - M.H * M)
    except ValueError:
        return True
    return False


def one(space: MatrixSpace, gap: float, dtype: torch.dtype, seed: int) -> tuple[float, ...] | str:
    """Change by rounding, error of ours, error of float64 alone; "outside" or "refused" where there is none."""
    mp.mp.dps = 60 + int(3 * gap)
    draw = np.random.default_rng(seed)
    length = space.chamber.length
    v = sorted([0.3 + gap, *(0.3 + gap * draw.random(length - 2)), 0.3], reverse=True)
    p, q = (
        oracle.stored(space, Z, dtype) for Z in KINDS[space.name.split("(")[0]]([mp.mpf(x) for x in v], draw)
    )
    if outside(space, p) or outside(space, q):
        return "outside"
    try:
        ours = space.vector_at(p.double(), q.double(), TOLERANCE[dtype])
        alone = space.vector_at(p.double(), q.double(), float("inf"))
    except ValueError:
        return "refused"
    truth = oracle.vector_distance(space, p, q)
    return change(truth, v), change(ours.tolist(), truth), change(alone.tolist(), truth)


def sweep(name: str, dtype: torch.dtype) -> list[report.Row]:
    space, rows = make(name), []
    assert isinstance(space, MatrixSpace)
    for gap in GAPS[dtype]:
        found = [one(space, gap, dtype, seed) for seed in range(DRAWS)]
        kept = [x for x in found if not isinstance(x, str)]
        row: report.Row = {"space": name, "dtype": str(dtype)[6:], "gap": gap}
        row |= {reason: found.count(reason) for reason in ("outside", "refused")}
        for name_, values in zip(
            ("rounding", "ours", "float64 alone"), zip(*kept, strict=True), strict=False
        ):
            row |= {name_: median(values), f"{name_}, worst": max(values)}
        rows.append(row)
        if not kept:
            break
    return rows


def ends(rows: list[report.Row]) -> list[report.Row]:
    """Where each series ends: the last gap of a sweep up to which all draws were below a bound."""

    def last(series: list[report.Row], column: str, bound: float) -> float:
        found = 0.0
        for row in series:
            if row["outside"] or row["refused"] or not row[column] < bound:
                break
            found = row["gap"]
        return found

    table = []
    for name in SPACES:
        for dtype, goal in GOALS.items():
            series = [row for row in rows if (row["space"], row["dtype"]) == (name, str(dtype)[6:])]
            line: report.Row = {"space": name, "dtype": str(dtype)[6:]}
            line["all points inside and accepted"] = last(series, "refused", 1)
            line["rounding below 1 %"] = last(series, "rounding, worst", 0.01)
            line["goal"] = goal
            line["ours within the goal"] = last(series, "ours, worst", goal)
            line["float64 alone"] = last(series, "float64 alone, worst", goal)
            table.append(line)
    return table


def together(name: str, dtype: torch.dtype) -> float:
    """The largest size, in steps of 10, to which components can grow together with errors within the goal."""
    space, size = make(name), 0.0
    assert isinstance(space, SymmetricSpace)
    while size < 2000:
        v = torch.full((space.chamber.length,), size + 10.0, dtype=torch.float64)
        mp.mp.dps = 60 + int(1.3 * size)
        for seed in range(3):
            try:
                p, q = distances.pair(space, v, 0 * v, dtype, seed)
                ours = space.vector_at(p.double(), q.double(), TOLERANCE[dtype]).tolist()
            except (ValueError, torch.linalg.LinAlgError):
                return size
            if not all(x < float("inf") for x in ours):
                return size
            truth = oracle.vector_distance(space, p, q)
            if change(ours, truth) > GOALS[dtype] or abs(truth[0] / (size + 10) - 1) > 0.01:
                return size
        size += 10.0
    return size


SERIES = {  # colours of Okabe and Ito
    "rounding": ("0.5", "rounding of the points", 1.4),
    "float64 alone": ("#D55E00", "float64 arithmetic alone", 2.6),
    "ours": ("#0072B2", "ours", 1.2),
}
STYLES = {"upper(4)": "-", "spd(4)": (0, (1, 1))}


def picture() -> None:
    """From gaps.csv the worst errors of upper(4) and spd(4) over the gap, one panel a dtype: accuracy/gaps.png."""
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: accuracy/gaps.png is not drawn")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = report.load("gaps")
    pyplot.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = pyplot.subplots(2, 1, figsize=(3.4, 5.0), layout="constrained")
    for panel, (dtype, goal), last in zip(panels, GOALS.items(), (42, 22), strict=True):
        end = 0.0
        for name, style in STYLES.items():
            chosen = [r for r in rows if (r["space"], r["dtype"]) == (name, str(dtype)[6:])]
            left = [i for i, r in enumerate(chosen) if (r["outside"], r["refused"]) != ("0", "0")]
            inside = chosen[: left[0] if left else None]
            gaps = [float(r["gap"]) for r in inside]
            end = max(end, gaps[-1])
            for what, (colour, _, width) in SERIES.items():
                errors = [max(float(r[f"{what}, worst"]), 1e-17) for r in inside]
                panel.semilogy(gaps, errors, color=colour, linestyle=style, linewidth=width)
        panel.axvspan(end, last, color="0.93", linewidth=0, zorder=0)
        text = {"color": "0.3", "ha": "center", "va": "center", "rotation": 90}
        panel.text((end + last) / 2, 1e-9, "rounded points leave the space", **text)
        panel.axhline(goal, color="0.6", linewidth=0.6, zorder=0)
        panel.text(2.3, goal * 1.6, f"goal {goal:.0e}".replace("e-0", "e-"), color="0.3")
        panel.set(
            xlim=(2, last),
            ylim=(1e-17, 1),
            xticks=range(5, last, 5),
            ylabel="relative error of v, worst of 9",
        )
        panel.set_title(f"points stored in {str(dtype)[6:]}", loc="left", fontsize=8, fontweight="bold")
    for line, (colour, label, _) in enumerate(SERIES.values()):
        panels[0].text(2.8, 10 ** (-0.6 - 1.3 * line), label, color=colour, va="top")
    lines = [pyplot.Line2D([], [], color="0.2", linestyle=s, label=name) for name, s in STYLES.items()]
    panels[1].legend(handles=lines, frameon=False, loc="upper left")
    panels[1].set_xlabel("gap between the components of v")
    figure.savefig(report.HERE / "gaps.png", dpi=220)


def main() -> None:
    torch.set_num_threads(1)
    rows = [row for name in SPACES for dtype in GAPS for row in sweep(name, dtype)]
    report.show("Errors of v relative to its largest component, median and worst", rows)
    limits = ends(rows)
    for name in ("upper(2)", "spd(4)", "hyperbolic(2)"):
        for dtype in GAPS:
            place = {"space": name, "dtype": str(dtype)[6:]}
            line = next((x for x in limits if place.items() <= x.items()), None)
            if line is None:
                limits.append(line := {**place})
            line["together"] = together(name, dtype)
    report.show("The gap (of a ball: the largest component of v(o, q)) up to which …", limits)
    report.save("gaps", rows)
    report.save("limits", limits)
    picture()


if __name__ == "__main__":
    picture() if sys.argv[1:] == ["--picture"] else main()
