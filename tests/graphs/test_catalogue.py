"""Datasets by name, files of the data folder, and what names and paths a graph argument may be."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import weyl
from weyl.graphs import catalogue

ROWS = list(catalogue.DATASETS.values())
SIZES = {  # the paper's table "Real-world graph stats": nodes, edges, triples
    "usca312": (312, 48_516, 48_516),
    "bio-diseasome": (516, 1_188, 132_870),
    "csphd": (1_025, 1_043, 524_800),
    "euroroad": (1_039, 1_305, 539_241),
    "facebook": (4_039, 88_234, 8_154_741),
}
FOLDER = os.environ.get("WEYL_DATA")  # seen once, here: the fixture hides it from the tests


@pytest.fixture
def data(tmp_path):
    """A data folder with a small csphd, a usca312 in miles, and a graph of the user's own."""
    for name, text in {
        "csphd": "0\t1\n1\t2\n",
        "usca312": "0\t1\t500\n1\t2\t1500\n0\t2\t2500\n",
        "my-graph": "a\tb\n",
        "broken": "a\tb\tfar\nb\tc\t1\n",
    }.items():
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "notes.txt").write_text("no graph")
    return tmp_path


def test_every_row_of_the_catalogue_is_complete_and_of_its_own():
    assert {row.name: (row.nodes, row.edges) for row in ROWS} == {
        name: sizes[:2] for name, sizes in SIZES.items()
    }
    for row in ROWS:
        assert row.about and row.source and row.licence and row.address.startswith("https://")
        assert len(row.sha256) == 64 and set(row.sha256) <= set("0123456789abcdef")
    assert len({row.sha256 for row in ROWS}) == len({row.address for row in ROWS}) == len(ROWS)


def test_the_files_at_hand_are_those_of_the_catalogue():
    for row in ROWS:
        if FOLDER and (Path(FOLDER) / row.file).is_file():
            graph = weyl.graph(row.name, data=FOLDER)
            distances = weyl.graph_distances(graph)
            assert (len(graph), len(graph.edges), distances.connected_pairs) == SIZES[row.name]
            assert not graph.notes, row.name


def test_usca312_at_hand_is_its_shortest_path_closure_in_thousands_of_miles():
    closure = Path(FOLDER or "/nowhere") / "usca312-apsp.tsv.gz"
    if closure.is_file():
        found = np.asarray(weyl.graph_distances("usca312", data=FOLDER))
        a, b, miles = np.loadtxt(closure).T
        np.testing.assert_allclose(found[a.astype(int), b.astype(int)] * 1000, miles, rtol=1e-12)
        assert 5.9 < found.max() < 6


def test_units_are_taken_off_and_shortest_paths_close_the_rest(data):
    graph = weyl.graph("usca312", data=data)
    assert graph.name == "usca312" and graph.weights.tolist() == [0.5, 2.5, 1.5]
    np.testing.assert_allclose(np.asarray(weyl.graph_distances(graph))[0], [0, 0.5, 2])


def test_a_file_that_is_not_the_measured_one_is_used_and_noted(data, monkeypatch):
    monkeypatch.setenv("WEYL_DATA", str(data))
    graph = weyl.graph("csphd")
    assert graph.nodes == range(3)
    assert graph.notes == ("csphd.tsv.gz is not the file that was measured: its sha256 differs",)


def test_other_files_of_the_folder_go_by_their_names(data):
    assert set(catalogue.others(data)) == {"my-graph", "broken"}
    graph = weyl.graph("my-graph", data=data)
    assert graph.nodes == ["a", "b"] and graph.name == "my-graph"
    assert len(weyl.graph("cartesian(my-graph, tree(2,1))", data=data)) == 6
    with pytest.raises(ValueError, match=r"broken\.tsv\.gz: line 1: weight 'far' is not a number"):
        weyl.graph("broken", data=data)


@pytest.mark.parametrize(
    "name, folder, message",
    [
        (
            "csphd",
            None,
            "dataset csphd: no data folder: name one with --data FOLDER or WEYL_DATA; get it from https",
        ),
        ("csphd", "none", "none does not exist; get it from https"),
        ("facebook", "", "has no facebook.tsv.gz; get it from https://snap.stanford.edu"),
        ("my-grap", "", "unknown graph 'my-grap'; did you mean 'my-graph'"),
        ("euroraod", None, "did you mean 'euroroad'"),
    ],
)
def test_what_is_missing_says_how_to_get_it(data, name, folder, message):
    with pytest.raises(ValueError) as caught:
        weyl.graph(name, data=None if folder is None else data / folder)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    if str(caught.value).startswith("dataset"):
        assert f"save its edges in the data folder as {name}.tsv.gz" in str(caught.value)


# ── names and paths ──────────────────────────────────────────────────────────────────────────────────────────────
def test_an_existing_file_wins_over_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(weyl.graph("karate")) == 34
    Path("karate").write_text("a b\n")
    assert len(weyl.graph("karate")) == 2
    Path("tree(2,3)").write_text("a b\nb c\n")
    assert len(weyl.graph("tree(2,3)")) == 3
    os.mkdir("cycle")
    assert len(weyl.graph("cycle(7)")) == 7


def test_paths_of_all_kinds(tmp_path, monkeypatch):
    (tmp_path / "sub dir").mkdir()
    path = tmp_path / "sub dir" / "graph (1).csv"
    path.write_text("a,b\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in (
        path,
        str(path),
        "sub dir/graph (1).csv",
        "./sub dir/graph (1).csv",
        "~/sub dir/graph (1).csv",
    ):
        assert weyl.graph(text).name == "graph (1)"


@pytest.mark.parametrize("text", ["none.csv", "./none", "no/such/place", "none.tsv.gz", "x" * 300 + ".csv"])
def test_what_looks_like_a_path_is_one(text):
    with pytest.raises(OSError, match=r"No such file|too long"):
        weyl.graph(text)


@pytest.mark.parametrize("text", ["", "  ", "none", "a b", "tree(", "\0", "x" * 5000])
def test_the_rest_is_an_expression(text):
    with pytest.raises(ValueError) as caught:
        weyl.graph(text)
    assert "\n" not in str(caught.value)
