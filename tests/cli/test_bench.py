"""`weyl bench pairs`: a table for people, JSON for programs, one line for what is wrong."""

import json

import pytest
import torch

from weyl.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # geoopt uses it
FEW = [
    "--ranks",
    "2",
    "--dtype",
    "float32",
    "--pairs",
    "100",
    "--repeats",
    "1",
    "--threads",
    "1",
    "--device",
    "cpu",
]


def test_json_is_one_value_and_nothing_else(capsys):
    assert main(["bench", "pairs", *FEW, "--json"]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)
    assert err == "" and out.count("\n") == 1
    assert [row["work"] for row in rows] == ["distance", "distance+gradient"]
    assert {row["space"] for row in rows} == {"upper(2)"}


def test_table_beside_geoopt(capsys):
    assert main(["bench", "pairs", *FEW, "--against", "geoopt"]) == 0
    out, err = capsys.readouterr()
    where, headings, *lines = out.splitlines()
    assert err == "" and "100 pairs, f1" in where and "1 threads" in where
    assert headings.split() == [
        "space",
        "dtype",
        "work",
        "weyl",
        "±",
        "%",
        "geoopt",
        "±",
        "%",
        "ratio",
        "peak",
        "%",
    ]
    assert [line.split()[:2] for line in lines] == [["upper(2)", "float32"]] * 2


def test_picture(tmp_path, monkeypatch, capsys):
    from weyl.bench import pairs

    monkeypatch.setattr(pairs, "CURVE_RANKS", (1, 2))
    monkeypatch.setattr(pairs, "CURVE_BATCHES", {"cpu": (16, 64)})
    path = tmp_path / "time.png"
    assert main(["bench", "pairs", *FEW, "--picture", str(path)]) == 0
    assert path.stat().st_size > 10_000
    assert len(capsys.readouterr().out.splitlines()) == 4  # curves are not in the table


@pytest.mark.parametrize(
    "wrong, words",
    [
        (["--against", "numpy"], "--against knows geoopt"),
        (["--sympa", "."], "no checkout of sympa"),
        (["--ranks", "0"], "at least 1"),
        (["--ranks", "2,x"], "whole numbers"),
        (["--space", "uper"], "unknown space 'uper'"),
        (["--metric", "f3"], "unknown metric 'f3'"),
        (["--space", "spd", "--against", "geoopt"], "geoopt has no spd(2)"),
        (["--pairs", "many"], "valid integer"),
        (["--picture", "a/b/c.png"], "no folder"),
    ],
)
def test_bad_input_is_one_line(wrong, words, capsys):
    assert main(["bench", "pairs", *FEW, *wrong]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("weyl bench") and words in err and err.count("\n") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what is wrong without CUDA")
def test_cuda_without_cuda(capsys):
    assert main(["bench", "pairs", *FEW[:-1], "cuda"]) == 2
    assert capsys.readouterr().err == "weyl bench: --device cuda: torch finds no CUDA device here\n"


def test_alone_it_names_its_measurements(capsys):
    assert main(["bench"]) == 0
    assert "pairs" in capsys.readouterr().out
    assert main(["bench", "nothing"]) == 2
