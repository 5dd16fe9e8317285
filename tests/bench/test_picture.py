"""The figure of the curves: what is drawn, into which formats."""

import re

import pytest

from weyl.bench.picture import curves, draw

WHERE = {
    "metric": "f1",
    "dtype": "float64",
    "device": "cpu",
    "threads": 2,
    "machine": "abacus",
    "date": "2026-01-01",
}


def row(series, rank, pairs, ours, other=None, theirs=None):
    found = {
        "series": series,
        "space": f"upper({rank})",
        "rank": rank,
        "pairs": pairs,
        "against": other,
        **WHERE,
    }
    return found | {"microseconds_per_pair": ours, "against_microseconds_per_pair": theirs}


ROWS = [
    row("table", 2, 500, 9.0),
    *(row("rank", n, 1024, 0.01 * n**3, "geoopt", 10.0 * n) for n in (4, 1, 2)),
    *(row("rank", n, 1024, 0.01 * n**3, "sympa", 10.1 * n) for n in (4, 1, 2)),
    row("batch", 4, 64, 0.5, "geoopt", 20.0),
    row("batch", 4, 256, 0.4),
]


def test_curves_hold_their_series_in_order():
    assert curves(ROWS, "rank", "rank") == {
        "weyl": [(1, 0.01), (2, 0.08), (4, 0.64)],
        "geoopt": [(1, 10.0), (2, 20.0), (4, 40.0)],
        "sympa": [(1, 10.1), (2, 20.2), (4, 40.4)],
    }
    assert curves(ROWS, "batch", "pairs") == {"weyl": [(64, 0.5), (256, 0.4)], "geoopt": [(64, 20.0)]}


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_every_format(tmp_path, ending, start):
    path = tmp_path / f"time.{ending}"
    draw(ROWS, path)
    assert path.read_bytes().startswith(start)


def test_names_of_curves_that_end_together_stand_apart(tmp_path):
    path = tmp_path / "time.svg"
    draw(ROWS, path)
    texts = re.findall(r'<text [^>]*y="([\d.]+)"[^>]*>(geoopt|sympa)</text>', path.read_text())
    heights = {name: float(y) for y, name in reversed(texts)}  # of the first panel
    assert heights["geoopt"] - heights["sympa"] > 7
