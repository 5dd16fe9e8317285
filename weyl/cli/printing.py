"""Results on stdout: one JSON value for programs, aligned tables for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import wrap

WIDTH = 100  # columns that a table may take
GAP = "  "


def print_json(value: object) -> None:
    """One JSON value on one line; NaN and infinities, which JSON has not, raise ValueError."""
    print(json.dumps(value, allow_nan=False))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]], width: int = WIDTH) -> None:
    """Columns aligned, numbers to the right, within a width: the widest columns wrap, between words if they can."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(headings)
    right = [bool(column) and all(isinstance(cell, (int, float)) for cell in column) for column in columns]
    lines = [[str(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = [
        max(len(word) for cell in column for word in cell.split() or [""])
        for column in zip(*lines, strict=True)
    ]
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        breakable = [i for i, size in enumerate(widths) if size > words[i]] or range(len(widths))
        widths[max(breakable, key=widths.__getitem__)] -= 1
    for line in lines:
        wrapped = [wrap(cell, size, break_on_hyphens=False) for cell, size in zip(line, widths, strict=True)]
        for level in range(max(map(len, wrapped))):
            cells = [parts[level] if level < len(parts) else "" for parts in wrapped]
            aligned = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
            print(GAP.join(aligned).rstrip())
