"""`bench pairs` on few pairs: what is measured, and the rows that are promised. No law about times."""

import json

import pytest
import torch

from weyl.bench import pairs
from weyl.bench.__main__ import main
from weyl.bench.pairs import Case
from weyl.bench.request import Request
from weyl.geometry import space as make_space
from weyl.kernels import native

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # geoopt uses it
PROMISED = {
    "space", "metric", "rank", "dtype", "device", "threads", "pairs", "microseconds_per_pair", "against",
    "against_microseconds_per_pair", "ratio", "share_of_peak",
}  # fmt: skip


def case(count, text="upper(2)", series="table"):
    return Case(series, make_space(text), "f1", torch.float32, torch.device("cpu"), 1, count)


@pytest.mark.parametrize("count, nodes", [(1, 2), (2, 3), (3, 3), (4, 4), (200_000, 633)])
def test_pairs_are_all_pairs_of_the_fewest_nodes(count, nodes):
    one = case(count)
    first, second = one.indices()
    assert one.nodes == nodes and len(first) == len(second) == count
    assert (first < second).all() and second.max() < nodes and first.min() >= 0
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == count


def test_rows_beside_geoopt():
    request = Request(
        ranks="1,3", dtype="float64", pairs=200, repeats=1, threads=1, against="geoopt", device="cpu"
    )
    rows = pairs.run(request)
    assert [(row["space"], row["work"]) for row in rows] == [
        (space, work) for space in ("upper(1)", "upper(3)") for work in ("distance", "distance+gradient")
    ]
    for row in rows:
        assert row.keys() >= PROMISED
        assert (row["metric"], row["dtype"], row["device"], row["threads"]) == ("f1", "float64", "cpu", 1)
        assert (row["pairs"], row["nodes"], row["against"], row["series"]) == (200, 21, "geoopt", "table")
        assert row["ratio"] == row["against_microseconds_per_pair"] / row["microseconds_per_pair"]
        assert row["against_batch"] in (64, 200) and set(row["against_batches"]) == {"64", "200"}
        done = row["multiply_adds_per_pair"] / (1e-6 * row["microseconds_per_pair"])
        assert row["share_of_peak"] == pytest.approx(done / row["peak_multiply_adds_per_second"])
    json.dumps(rows, allow_nan=False)


def test_alone_there_is_nothing_to_compare_with():
    rows = pairs.run(Request(space="spd(2)", dtype="float32", pairs=100, repeats=1, threads=1, device="cpu"))
    for row in rows:
        assert row["against"] is row["ratio"] is row["share_of_peak"] is row["against_pairs"] is None
        assert row.keys() >= PROMISED and row["rank"] == make_space("spd(2)").rank


def test_without_a_compiled_kernel(monkeypatch):
    monkeypatch.setattr(native, "available", lambda: False)
    rows = pairs.run(Request(ranks="2", dtype="float32", pairs=50, repeats=1, threads=1, device="cpu"))
    assert {row["backend"] for row in rows} == {"batched"}


def test_curves(monkeypatch):
    monkeypatch.setattr(pairs, "CURVE_RANKS", (1, 2))
    monkeypatch.setattr(pairs, "CURVE_BATCHES", {"cpu": (16, 64)})
    request = Request(
        ranks="2", dtype="float32,float64", pairs=50, repeats=1, threads=1, device="cpu", curves=True
    )
    told = []
    rows = [row for row in pairs.run(request, told.append) if row["series"] != "table"]
    found = [(row["series"], row["space"], row["pairs"], row["dtype"], row["work"]) for row in rows]
    work = ("float64", "distance+gradient")
    assert found == [
        ("rank", "upper(1)", 1024, *work), ("rank", "upper(2)", 1024, *work),
        ("batch", "upper(2)", 16, *work), ("batch", "upper(2)", 64, *work),
    ]  # fmt: skip
    assert len(told) == 6


def test_the_number_of_threads_is_set_back():
    before = torch.get_num_threads()
    pairs.run(Request(ranks="1", dtype="float32", pairs=10, repeats=1, threads=before + 1, device="cpu"))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"ranks": "0"}, "at least 1"),
        ({"ranks": "2;4"}, "whole numbers"),
        ({"dtype": "float16"}, "--dtype takes"),
        ({"device": "tpu"}, "--device takes"),
        ({"against": "numpy"}, "--against knows geoopt"),
        ({"against": "sympa"}, "--sympa PATH"),
        ({"pairs": 0}, "--pairs must"),
        ({"threads": 0}, "--threads must"),
        ({"repeats": 0}, "--repeats must"),
        ({"space": "upper(2)", "curves": True}, "family"),
        ({"picture": "time.gif"}, "takes a file .png"),
        ({"picture": "missing/time.png"}, "no folder"),
    ],
)
def test_wrong_options_are_refused_in_words(wrong, words):
    with pytest.raises(ValueError, match=words):
        Request(**wrong)


def test_the_module_prints_json_alone(capsys):
    words = [
        "--ranks",
        "2",
        "--dtype",
        "float32",
        "--pairs",
        "20",
        "--repeats",
        "1",
        "--threads",
        "1",
        "--json",
    ]
    assert main([*words, "--device", "cpu"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 and all(row.keys() >= PROMISED for row in rows)
    assert main([*words, "--device", "vax"]) == 2
    assert capsys.readouterr().err.startswith("python -m weyl.bench: --device takes")
