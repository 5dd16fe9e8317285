"""Exports read back by other programs: numpy, csv, the word2vec text that gensim reads, parquet."""

import csv
import io
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import weyl
from weyl import exporting
from weyl.exporting import WRITERS, as_csv, as_word2vec

NAMES = ["a", "b c", 'd"e', "f,g", "h\ni", "ö 漢", "'", "#x", "01"]


def embedding_in(space="upper(2)", names=NAMES, dtype=torch.float64):
    points = weyl.space(space).random_points(len(names), seed=0, dtype=dtype)
    return weyl.Embedding(space, "f1", points, names, scale=1.5)


def word2vec(path):
    """Read as gensim reads it: a line of sizes, then words and numbers between single spaces."""
    with open(path, encoding="utf-8", newline="\n") as file:
        count, size = map(int, file.readline().split())
        rows = {}
        for line in file:
            word, *numbers = line.rstrip("\n").split(" ")
            assert len(numbers) == size
            rows[word] = [float(number) for number in numbers]
    assert len(rows) == count
    return rows


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    return heading, [row[0] for row in rows], np.array([list(map(float, row[1:])) for row in rows])


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("space", ["upper(2)", "euclidean(3)", "ball(1, 2)", "power(hyperbolic(2), 2)"])
def test_every_format_holds_every_digit(tmp_path, space, dtype, flat):
    embedding = embedding_in(space, dtype=dtype)
    rows = embedding.flat() if flat else embedding.points.numpy()
    numbers = rows.reshape(len(rows), -1)
    paths = {ending: tmp_path / f"out{ending}" for ending in WRITERS}
    for path in paths.values():
        embedding.export(path, flat=flat)

    with np.load(paths[".npz"], allow_pickle=False) as file:
        assert sorted(file) == sorted(["nodes", "features" if flat else "points"])
        assert file["nodes"].tolist() == NAMES
        found = file["features" if flat else "points"]
        assert found.dtype == rows.dtype and np.array_equal(found, rows)

    heading, names, found = table(paths[".csv"])
    assert heading == ["node", *(f"x{i}" for i in range(numbers.shape[1]))]
    assert names == NAMES and np.array_equal(found, numbers)

    found = word2vec(paths[".txt"])
    assert list(found) == ["_".join(name.split()) for name in NAMES]
    assert np.array_equal(list(found.values()), numbers)

    found = parquet.read_table(paths[".parquet"])
    assert found.column_names == heading and found["node"].to_pylist() == NAMES
    columns = np.column_stack([found[name].to_numpy() for name in heading[1:]])
    assert columns.dtype == rows.dtype and np.array_equal(columns, numbers)
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths.values())


@pytest.mark.parametrize(
    "names, kept",
    [
        ([3, 1, -2], [3, 1, -2]),
        ([np.int64(5), 6, 7], [5, 6, 7]),
        ([2**70, 0, 1], [str(2**70), "0", "1"]),
        ([True, 2, 3], ["True", "2", "3"]),
        (["a", 2, ("b", 1)], ["a", "2", "('b', 1)"]),
        ([0.5, 1.5, 2.5], ["0.5", "1.5", "2.5"]),
        ([None, b"x", "y"], ["None", "b'x'", "y"]),
    ],
)
def test_names_stay_numbers_where_all_are_whole_and_become_text_where_not(tmp_path, names, kept):
    embedding = embedding_in("euclidean(2)", names)
    for ending in WRITERS:
        embedding.export(tmp_path / f"out{ending}")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        assert file["nodes"].tolist() == kept
    assert parquet.read_table(tmp_path / "out.parquet")["node"].to_pylist() == kept
    assert table(tmp_path / "out.csv")[1] == [str(name) for name in kept]
    assert list(word2vec(tmp_path / "out.txt")) == ["_".join(str(name).split()) for name in kept]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=5, unique=True), st.integers(1, 3), st.integers(0, 99))
def test_any_text_is_a_name_in_csv(names, width, seed):
    rows = (
        np.random.default_rng(seed).normal(size=(len(names), width))
        * 10.0 ** np.arange(-150, 151, 150)[:width]
    )
    read = list(csv.reader(io.StringIO(as_csv(names, rows, "points").decode(), newline="")))
    assert [row[0] for row in read[1:]] == names
    assert np.array_equal([list(map(float, row[1:])) for row in read[1:]], rows)


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=5, unique=True))
def test_any_text_is_a_word_or_refused_because_another_would_be_the_same(tmp_path_factory, names):
    rows = np.arange(2.0 * len(names)).reshape(-1, 2)
    expected = ["_".join(name.split()) or "_" for name in names]
    if len(set(expected)) < len(names):
        with pytest.raises(ValueError, match=r"would both be .*: export .csv instead"):
            as_word2vec(names, rows, "points")
        return
    path = tmp_path_factory.mktemp("words") / "a.txt"
    path.write_bytes(as_word2vec(names, rows, "points"))
    assert list(word2vec(path)) == expected


@pytest.mark.parametrize("ending", WRITERS)
def test_names_that_are_no_whole_text_can_be_exported(tmp_path, ending):
    """A file name that is no UTF-8 reaches Python with halves of characters in it."""
    names = [b"caf\xe9".decode("utf-8", "surrogateescape"), "tea"]
    embedding_in("euclidean(1)", names).export(tmp_path / f"out{ending}")
    read = {
        ".npz": lambda path: np.load(path)["nodes"].tolist(),
        ".csv": lambda path: table(path)[1],
        ".txt": lambda path: list(word2vec(path)),
        ".parquet": lambda path: parquet.read_table(path)["node"].to_pylist(),
    }
    assert read[ending](tmp_path / f"out{ending}") == [r"caf\udce9", "tea"]


def test_the_ending_may_be_in_capitals(tmp_path):
    embedding_in().export(tmp_path / "OUT.CSV")
    assert len(table(tmp_path / "OUT.CSV")[1]) == len(NAMES)


@pytest.mark.parametrize("name", ["out", "out.json", "out.npz.gz", ".csv"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"the ending must be one of .npz, .csv, .txt, .parquet"):
        embedding_in().export(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "weyl\[parquet\]", or export .npz'):
        embedding_in().export(tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == []


def test_an_export_is_whole_or_not_there(tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weyl.storage.os.fsync", full)
    for ending in WRITERS:
        with pytest.raises(OSError, match="No space left on device"):
            embedding_in().export(tmp_path / f"out{ending}")
    assert os.listdir(tmp_path) == ["out.csv"] and (tmp_path / "out.csv").read_text() == "before"


def test_every_writer_gives_bytes():
    rows = np.ones((2, 3, 2))
    assert all(isinstance(write(["a", "b"], rows, "points"), bytes) for write in exporting.WRITERS.values())
