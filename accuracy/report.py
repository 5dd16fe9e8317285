"""Tables of measurements: to the terminal, to csv, and from csv into README.md (python -m accuracy.report)."""

from __future__ import annotations

import csv
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
