"""Writes the tables of benchmarks/README.md from what was measured: python -m benchmarks.report

Each block between `<!-- pairs-cpu -->` and `<!-- end -->` becomes the table of results/pairs-cpu.json, which
`weyl bench pairs --json` printed; rows of a picture, where there are any, are drawn beside it.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
BLOCK = re.compile(r"<!-- (pairs-\w+) -->\n.*?<!-- end -->", re.DOTALL)
Row = dict[str, Any]


def filled(text: str, results: Path = RESULTS) -> str:
    """A page with its tables written anew."""

    def block(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n{_table(found[1], results / f'{found[1]}.json')}\n<!-- end -->"

    return BLOCK.sub(block, text)


def _table(name: str, path: Path) -> str:
    if not path.exists():
        return f"Not measured yet: there is no results/{path.name}."
    every = json.loads(path.read_text())
    rows = [row for row in every if row["series"] == "table"]
    lines = [_heading(rows[0]), "", *(_gpu(rows) if rows[0]["device"] == "cuda" else _cpu(rows))]
    if len(rows) < len(every):
        lines += ["", f"![Time a pair against rank and against the size of a batch](results/{name}.png)"]
    return "\n".join(lines)


def _heading(row: Row) -> str:
    cuda = row["device"] == "cuda"
    where = row["machine"] if cuda else f"{row['machine']}, {row['cores']} cores, {row['threads']} threads"
    return (
        f"{where}, torch {row['torch']}, {row['date']}; {row['pairs']:,} pairs of {row['nodes']:,} nodes, "
        f"{row['metric']}. Medians of interleaved repeats, ± half of the middle half's width."
    )


def _cpu(rows: list[Row]) -> list[str]:
    others = list(dict.fromkeys(row["against"] for row in rows if row["against"]))
    headings = ["", "dtype", "work", "weyl, µs a pair", "share of peak"]
    headings += [text for other in others for text in (f"{other}, µs", "ratio")]
    return _markdown(headings, [_ours(some) + _theirs(some, others) for some in _grouped(rows)])


def _gpu(rows: list[Row]) -> list[str]:
    headings = [
        "",
        "dtype",
        "work",
        "weyl, ns a pair",
        "share of peak",
        "10⁹ pairs a second",
        "first call, s",
    ]
    others = list(dict.fromkeys(row["against"] for row in rows if row["against"]))
    headings += [text for other in others for text in (f"{other}, µs", "ratio")]
    lines = []
    for some in _grouped(rows):
        row = some[0]
        rate, first = 1e-3 / row["microseconds_per_pair"], row["first_call_seconds"]
        lines.append([*_ours(some, 1000), f"{rate:.3g}", f"{first:.2g}", *_theirs(some, others)])
    return _markdown(headings, lines)


def _grouped(rows: list[Row]) -> list[list[Row]]:
    """The rows of the same measurement of ours together."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["space"], row["dtype"], row["work"]), []).append(row)
    return list(found.values())


def _ours(rows: list[Row], unit: float = 1) -> list[str]:
    row = rows[0]
    share = "" if row["share_of_peak"] is None else f"{row['share_of_peak']:.0%}"
    time = _with_spread(unit * row["microseconds_per_pair"], row["spread"])
    return [row["space"], row["dtype"], row["work"].replace("+", " and "), time, share]


def _theirs(rows: list[Row], others: list[str]) -> list[str]:
    cells = []
    for row in (next(row for row in rows if row["against"] == other) for other in others):
        cells.append(_with_spread(row["against_microseconds_per_pair"], row["against_spread"]))
        cells.append(f"{row['ratio']:.0f}")
    return cells


def _with_spread(value: float, spread: float) -> str:
    return f"{value:.3g} ± {spread / 2:.0%}"


def _markdown(headings: list[str], lines: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (headings, ["---"] * len(headings), *lines)]


def main() -> int:
    from weyl.bench.picture import draw

    for path in sorted(RESULTS.glob("pairs-*.json")):
        rows = json.loads(path.read_text())
        if any(row["series"] != "table" for row in rows):
            draw(rows, path.with_suffix(".png"))
    page = FOLDER / "README.md"
    page.write_text(filled(page.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
