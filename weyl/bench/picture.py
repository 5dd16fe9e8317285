"""Rows to a figure: time a pair against rank, the paper's complexity figure, and against the size of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

STYLES = {  # colours of Okabe and Ito, apart for the colour-blind; markers for print without colour
    "weyl": ("#0072B2", "o"),
    "geoopt": ("#D55E00", "s"),
    "sympa": ("#009E73", "^"),
}
GUIDE = "#8a8a8a"
COLUMN = 3.4  # inches: one column of a paper
FONT = 7.5
SETTINGS: dict[Any, Any] = {
    "font.size": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    "svg.fonttype": "none",
}
Curve = list[tuple[float, float]]


def curves(rows: Sequence[dict[str, Any]], series: str, x: str) -> dict[str, Curve]:
    """Microseconds a pair over a column of the rows of a series, for weyl and for every other library."""
    found: dict[str, dict[float, float]] = {"weyl": {}}
    for row in rows:
        if row["series"] == series:
            found["weyl"][row[x]] = row["microseconds_per_pair"]
            if row["against"]:
                found.setdefault(row["against"], {})[row[x]] = row["against_microseconds_per_pair"]
    return {name: sorted(points.items()) for name, points in found.items()}


def draw(rows: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Writes the figure; the ending of the path chooses its format."""
    import matplotlib
    from matplotlib.figure import Figure

    over_rank, over_batch = curves(rows, "rank", "rank"), curves(rows, "batch", "pairs")
    some = next(row for row in rows if row["series"] == "batch")
    family = some["space"].partition("(")[0]
    what = f"{some['metric'].capitalize()}, {some['dtype']}"
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(COLUMN, 1.58 * COLUMN), layout="constrained")
        top, bottom = figure.subplots(2, 1)
        _panel(top, over_rank, f"{family}(n), {what}, batches of 1,024 pairs", "rank n")
        _guide(top, over_rank["weyl"])
        ranks = [n for n in (1, 2, 4, 8, 17, 32) if n >= over_rank["weyl"][0][0]]
        top.set_xticks(ranks)
        top.minorticks_off()
        _panel(bottom, over_batch, f"{some['space']}, {what}", "pairs in a batch")
        figure.align_ylabels()
        figure.draw_without_rendering()  # now the panels have their places
        _names(top, over_rank)
        _names(bottom, over_batch)
        threads = (
            f"{some['threads']} thread{'s' * (some['threads'] > 1)}" if some["device"] == "cpu" else "GPU"
        )
        where = f"{some['machine']}, {threads}, {some['date']}"
        figure.supxlabel(where, fontsize=FONT - 2, color=GUIDE, x=0.99, ha="right")
        figure.savefig(path, dpi=300)


def _panel(axes: Any, lines: dict[str, Curve], title: str, label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, points in lines.items():
        colour, marker = STYLES[name]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=colour, marker=marker, markersize=3.2, linewidth=1.3, clip_on=False, zorder=3)
    axes.set_title(title, fontsize=FONT, loc="left", pad=6)
    axes.set_xlabel(label)
    axes.set_ylabel("µs a pair, distance and gradient")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.minorticks_off()
    axes.grid(which="major", color="#e4e4e4", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.margins(x=0.03)


def _names(axes: Any, lines: dict[str, Curve]) -> None:
    """Every curve's name at its right end, from the lowest up, moved up where two would touch."""
    points_of_pixel = 72 / axes.figure.dpi
    last = -1e9
    for name, points in sorted(lines.items(), key=lambda line: line[1][-1][1]):
        height = axes.transData.transform(points[-1])[1] * points_of_pixel
        at = max(height, last + 1.2 * FONT)
        axes.annotate(
            name, points[-1], xytext=(5, at - height), textcoords="offset points",
            color=STYLES[name][0], va="center", fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        last = at


def _guide(axes: Any, points: Curve) -> None:
    """A line of slope three, below the last of our points."""
    right, value = points[-1]
    left = max(2.0, points[0][0])
    at_right = 0.35 * value
    axes.plot(
        (left, right),
        (at_right * (left / right) ** 3, at_right),
        color=GUIDE,
        linewidth=0.9,
        linestyle=(0, (4, 3)),
    )
    axes.annotate(
        "n³", (right, at_right), xytext=(5, 0), textcoords="offset points",
        color=GUIDE, va="center", annotation_clip=False,
    )  # fmt: skip
