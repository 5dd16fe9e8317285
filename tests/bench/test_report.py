"""Documents hold measured numbers: the tables are what the report writes of the saved rows."""

import json
from pathlib import Path

from benchmarks import report

PAGE = Path(report.__file__).parent / "README.md"
ROW = {
    "series": "table", "work": "distance+gradient", "space": "upper(4)", "metric": "f1", "dtype": "float32",
    "device": "cpu", "threads": 2, "cores": 4, "machine": "abacus", "torch": "2.11", "date": "2026-01-01",
    "pairs": 200000, "nodes": 633, "microseconds_per_pair": 0.125, "spread": 0.04, "share_of_peak": 0.25,
    "first_call_seconds": 3.2, "against": "geoopt", "against_microseconds_per_pair": 10.0, "against_spread": 0.02,
    "ratio": 80.0,
}  # fmt: skip
BEFORE = "a\n<!-- pairs-cpu -->\nold\n<!-- end -->\nb\n<!-- pairs-cuda -->\n<!-- end -->\nc\n"


def test_the_page_is_what_the_report_writes():
    assert report.filled(PAGE.read_text()) == PAGE.read_text()


def test_tables_of_rows(tmp_path):
    other = ROW | {"against": "sympa", "ratio": 120.4, "against_microseconds_per_pair": 15.05}
    (tmp_path / "pairs-cpu.json").write_text(json.dumps([ROW, other]))
    cuda = ROW | {"device": "cuda", "microseconds_per_pair": 0.0005, "against": None, "machine": "lamp"}
    (tmp_path / "pairs-cuda.json").write_text(json.dumps([cuda]))
    page = report.filled(BEFORE, tmp_path)
    line = (
        "| upper(4) | float32 | distance and gradient | 0.125 ± 2% | 25% | 10 ± 1% | 80 | 15.1 ± 1% | 120 |"
    )
    assert line in page.splitlines()
    assert "| upper(4) | float32 | distance and gradient | 0.5 ± 2% | 25% | 2 | 3.2 |" in page.splitlines()
    assert "abacus, 4 cores, 2 threads, torch 2.11, 2026-01-01; 200,000 pairs of 633 nodes" in page
    assert "old" not in page and page.startswith("a\n") and page.endswith("c\n")


def test_what_was_not_measured_is_said(tmp_path):
    assert report.filled(BEFORE, tmp_path).count("Not measured yet") == 2
