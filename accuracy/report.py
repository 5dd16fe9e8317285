"""Tables of measurements: to the terminal, to csv, and from csv into README.md: python -m accuracy.report

README.md keeps each table between `<!-- table: name -->` and `<!-- end -->`; the prose around them is written by hand.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).parent
Row = dict[str, str | float | int | None]


def text(value: object) -> str:
    """Errors in two digits, other numbers in three, nothing for nothing."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.1e}".replace("e-0", "e-")


def show(title: str, rows: list[Row]) -> None:
    """A table in columns as wide as they have to be."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns] + [[text(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    print(f"\n{title}")
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(),
            flush=True,
        )


def save(name: str, rows: list[Row]) -> None:
    """accuracy/<name>.csv."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(HERE / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({column: text(value) for column, value in row.items()} for row in rows)


def merge(name: str, rows: list[Row], keys: tuple[str, ...], order: tuple[str, ...] = ()) -> None:
    """Rows measured again take the place of those with the same keys; sorted by `order` of the first key."""
    old = load(name) if (HERE / f"{name}.csv").exists() else []
    kept = {tuple(text(row[key]) for key in keys): row for row in [*old, *rows]}
    place = {value: i for i, value in reversed(list(enumerate(order)))}
    save(name, sorted(kept.values(), key=lambda row: place.get(str(row[keys[0]]), len(place))))


def load(name: str) -> list[dict[str, str]]:
    with open(HERE / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


# ── the tables of README.md ──────────────────────────────────────────────────────────────────────────────────────
DTYPES = ("float64", "float32")
SIZES = tuple(f"n={n}" for n in range(1, 9))
Measured = dict[str, str]


def markdown(headings: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    headings = list(headings)
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def worst(rows: Iterable[Measured], columns: Iterable[str]) -> tuple[float, Measured]:
    """The largest number in the columns, with its row."""
    columns = tuple(columns)
    found = [(float(row[column]), row) for row in rows for column in columns if row.get(column)]
    return max(found, key=lambda pair: pair[0])


def of_both(case: str, dtype: str) -> str:
    """The name of a case for one dtype: what stands in brackets is for float32."""
    case = re.sub(r"^(?=\d+e-\d|1$)", "size ", case.removesuffix(", lengths halved"))
    return re.sub(r"([\d.e-]+) \(([\d.e-]+)\)", r"\1" if dtype == "float64" else r"\2", case)


def short(goal: str) -> str:
    """1e-12 for 1.0e-12."""
    return goal.replace(".0e", "e")


def figures() -> str:
    """Every figure to reach, its goal, what was measured and where."""
    distances, lines = load("distances"), []
    upper = [row for row in distances if row["space"] == "upper(n)"]
    for dtype, from_, gap, together in (("float64", "1e-8", 25, 300), ("float32", "1e-4", 10, 60)):
        rows = [row for row in upper if row["dtype"] == dtype]
        near = [row for row in rows if "both far" not in row["case"]]
        range_ = f"from {from_}, gaps to {gap}, to {together} together"
        for what, chosen in ((range_, near), ("both points far from o", [r for r in rows if r not in near])):
            error, row = worst(chosen, SIZES)
            lines.append(
                [
                    f"upper(1 … 8), {dtype}: {what}",
                    short(row["goal"]),
                    text(error),
                    of_both(row["case"], dtype),
                ]
            )
        rest = [row for row in distances if row["dtype"] == dtype and row not in upper]
        error, row = worst(rest, SIZES)
        place = f"{row['space']}, {of_both(row['case'], dtype)}"
        lines.append([f"all other families, {dtype}", short(row["goal"]), text(error), place])
    operations = [
        row for row in load("operations") if row["dtype"] == "float64" and float(row["length"]) <= 5
    ]
    names = {
        "log exp": "log(exp(X)) = X",
        "speed": "geodesic speed constant",
        "transport": "transport isometric",
    }
    for column, goal in (("log exp", "1e-9"), ("speed", "1e-9"), ("transport", "1e-10")):
        for line in (False, True):
            error, row = worst([r for r in operations if (r["space"] == "ball(1, 1)") == line], (column,))
            met = "" if error < float(goal) else " (missed)"
            what = f"{names[column]}, float64, length up to 5" + (", in ball(1, 1)" if line else "")
            lines.append([what, goal, text(error) + met, f"{row['space']}, length {row['length']}"])
    drawn = load("finite")
    pairs, bad = (
        sum(int(row[column]) for row in drawn for column in columns)
        for columns in (("pairs",), ("bad values", "bad gradients"))
    )
    lines.append(
        [
            f"NaN or Inf in {pairs:,} pairs ({len(drawn)} spaces)",
            "0",
            str(bad),
            "values, gradients, exp, log, transport",
        ]
    )
    return markdown(("figure", "goal", "measured", "where the worst is"), lines)


def upper(dtype: str) -> str:
    """upper(n): one row a case, one column a rank."""
    rows = [row for row in load("distances") if (row["space"], row["dtype"]) == ("upper(n)", dtype)]
    lines = [[of_both(row["case"], dtype), *(row[size] for size in SIZES)] for row in rows]
    return markdown((f"upper(n), {dtype}", *SIZES), lines)


def families(dtype: str) -> str:
    """All families: one row a case, the worst size of each family."""
    rows = [row for row in load("distances") if row["dtype"] == dtype]
    spaces = list(dict.fromkeys(row["space"] for row in rows))
    lines = []
    for case in dict.fromkeys(of_both(row["case"], dtype) for row in rows):
        here = {row["space"]: row for row in rows if of_both(row["case"], dtype) == case}
        lines.append([case, *(text(worst([here[s]], SIZES)[0]) if s in here else "" for s in spaces)])
    lines.append(
        [
            "*one component, worst*",
            *(text(worst([r for r in rows if r["space"] == s], ["v, all n"])[0]) for s in spaces),
        ]
    )
    return markdown((dtype, *spaces), lines)


def limits() -> str:
    """The gaps at which each dtype gives up."""
    rows = load("limits")
    return markdown(rows[0], ((row | {"goal": short(row["goal"])}).values() for row in rows))


def operations() -> str:
    """exp, log, geodesics and transport: the longest tangent vector up to 5, then 10 and 20, then float32."""
    rows = load("operations")
    lines = []
    for space in dict.fromkeys(row["space"] for row in rows):
        here = {
            dtype: {float(r["length"]): r for r in rows if (r["space"], r["dtype"]) == (space, dtype)}
            for dtype in DTYPES
        }
        length = max(x for x in here["float64"] if x <= 5)
        row = here["float64"][length]
        line = [space, f"{length:g}", *(row[c] for c in ("log exp", "speed", "transport", "gradient"))]
        line += [here["float64"].get(x, {}).get("log exp", "") for x in (10.0, 20.0)]
        lines.append([*line, here["float32"].get(length, {}).get("log exp", "")])
    headings = (
        "space",
        "length",
        "log exp",
        "speed",
        "transport",
        "gradient",
        "log exp at 10",
        "at 20",
        "float32: log exp",
    )
    return markdown(headings, lines)


def finite() -> str:
    """The spaces, by how many pairs were drawn and how many were bad."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for row in load("finite"):
        counts = f"{int(row['pairs']):,}", row["bad values"], row["bad gradients"]
        kinds.setdefault(counts, []).append(row["space"])
    lines = [[*counts, " · ".join(spaces)] for counts, spaces in kinds.items()]
    return markdown(("pairs a space", "bad values", "bad gradients", "spaces"), lines)


def constants() -> str:
    """Each constant: the errors of the way taken and of the other way, on either side of it."""
    rows, lines = load("constants"), []
    edges = {"SERIES_BELOW": 0.01, "NEAR": 0.02, "TOLERANCE": 1e-14}
    for name, edge in edges.items():
        chosen = [
            row | {"case": row["case"].rpartition(", ")[0] if name == "TOLERANCE" else row["case"]}
            for row in rows
        ]
        chosen = [row for row in chosen if row["constant"] == name]
        for case in dict.fromkeys(row["case"] for row in chosen):
            here = [row for row in chosen if row["case"] == case]
            below = max((r for r in here if float(r["at"]) <= edge), key=lambda r: float(r["at"]))
            above = min((r for r in here if float(r["at"]) > edge), key=lambda r: float(r["at"]))
            sides = [x for row in (below, above) for x in (row["used"], row["instead"])]
            lines.append([f"{name} = {edge:g}", case, *sides])
    headings = ("constant", "case", "just below: used", "the other way", "just above: used", "the other way")
    return markdown(headings, lines)


TABLES: dict[str, Callable[[], str]] = {
    "figures": figures,
    "upper, float64": lambda: upper("float64"),
    "upper, float32": lambda: upper("float32"),
    "families, float64": lambda: families("float64"),
    "families, float32": lambda: families("float32"),
    "limits": limits,
    "operations": operations,
    "finite": finite,
    "constants": constants,
}


def filled(page: str) -> str:
    """The page with every table between its marks made from the csv files."""

    def table(mark: re.Match) -> str:
        return f"<!-- table: {mark[1]} -->\n\n{TABLES[mark[1]]()}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (.*?) -->.*?<!-- end -->", table, page, flags=re.DOTALL)


def main() -> None:
    page = HERE / "README.md"
    page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    main()
