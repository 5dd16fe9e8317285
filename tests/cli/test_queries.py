"""`weyl evaluate`, `neighbors`, `distance` and `export`: what they print for people, for programs, and where."""

import csv
import json
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

import weyl
from weyl.cli import main
from weyl.evaluation import sampling

PROMISED = {
    "graph", "nodes", "edges", "pairs", "space", "metric", "parameters", "average_distortion", "worst_distortion",
    "mean_average_precision", "sampled", "scale", "seconds", "epochs", "pairs_seen", "seed", "device", "dtype",
    "version", "out",
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    """Runs a command that must succeed, and gives what it printed."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return out

    return run


@pytest.fixture
def as_json(run):
    """One JSON value on one line, and nothing else."""

    def run_json(*arguments):
        out = run(*arguments, "--json")
        assert out.count("\n") == 1
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    return run_json


def saved(source="karate", path="a.weyl", space="upper(2)", dtype=torch.float32, **more):
    """An embedding of random points, written into the folder of the test."""
    made = weyl.graph(source)
    points = weyl.space(space).random_points(len(made), seed=0, dtype=dtype)
    fields = {"graph": made.name, "fingerprint": made.fingerprint, "seed": 3, **more}
    embedding = weyl.Embedding(space, "f1", points, made.nodes, **fields)
    embedding.save(path)
    return embedding


# ── evaluate ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_evaluate_prints_every_promised_key(as_json):
    embedding = saved(scale=1.5, training={"epochs": 12, "pairs_seen": 3400, "seconds": 99})
    record = as_json("evaluate", "a.weyl")
    assert set(record) >= PROMISED
    scores = weyl.evaluate(embedding, "karate")
    assert {name: record[name] for name in scores.to_json()} == scores.to_json()
    expected = {
        "graph": "karate",
        "space": "upper(2)",
        "metric": "f1",
        "parameters": 6,
        "scale": 1.5,
        "seed": 3,
    }
    expected |= {"epochs": 12, "pairs_seen": 3400, "device": "cpu", "dtype": "float32", "out": "a.weyl"}
    expected |= {"version": weyl.__version__, "nodes": 34, "edges": 78, "pairs": 561, "sampled": False}
    assert {name: record[name] for name in expected} == expected
    assert 0 < record["seconds"] < 60 and record["notes"] == []


def test_evaluate_for_people(run):
    embedding = saved()
    scores = weyl.evaluate(embedding, "karate")
    lines = dict(line.split("  ", 1) for line in run("evaluate", "a.weyl").splitlines())
    shown = {name.strip(): value.strip() for name, value in lines.items()}
    assert (shown["graph"], shown["nodes"], shown["space"]) == ("karate", "34", "upper(2)")
    assert float(shown["average distortion %"]) == pytest.approx(100 * scores.average_distortion, rel=1e-3)
    assert float(shown["worst distortion"]) == pytest.approx(scores.worst_distortion, rel=1e-3)
    assert float(shown["mean average precision %"]) == pytest.approx(
        100 * scores.mean_average_precision, rel=1e-3
    )
    assert shown["pairs"] == "561" and "note" not in shown


def test_evaluate_against_a_graph_that_is_named(as_json):
    saved("cycle(12)")
    same = as_json("evaluate", "a.weyl", "cycle(12)")
    other = as_json("evaluate", "a.weyl", "grid(3,4)")
    assert same["notes"] == [] and (other["graph"], other["edges"]) == ("grid(3,4)", 17)
    assert other["notes"] == ["this is not the graph that was embedded: it has other edges or weights"]
    smaller = as_json("evaluate", "a.weyl", "cycle(5)")
    assert (smaller["nodes"], smaller["edges"], smaller["pairs"]) == (5, 5, 10)
    assert smaller["notes"] == ["measured on the 5 nodes that both have: 5 in the graph, 12 in the embedding"]


def test_evaluate_prints_its_notes(run):
    saved("cycle(12)")
    assert "measured on the 5 nodes" in run("evaluate", "a.weyl", "cycle(5)")


def test_evaluate_reports_estimates_with_their_intervals(run, as_json, monkeypatch):
    monkeypatch.setattr(sampling, "EXACT_PAIRS", 1000)
    monkeypatch.setattr(sampling, "SAMPLED_PAIRS", 34 * 20)
    monkeypatch.setattr(sampling, "FEWEST_SOURCES", 20)
    saved()
    record = as_json("evaluate", "a.weyl")
    assert record["sampled"] and record["sources"] == 20 and record["pairs"] == 20 * 33
    for name in ("average_distortion", "mean_average_precision"):
        low, high = record[f"{name}_interval"]
        assert low < record[name] < high
    assert record["worst_distortion_interval"] == [record["worst_distortion"], None]
    text = run("evaluate", "a.weyl")
    assert "sampled: from 20 of 34 nodes" in text and text.count(", 95 %)") == 2
    assert "at least" in next(line for line in text.splitlines() if line.startswith("worst distortion"))


def test_evaluate_what_has_no_precision_and_no_bound(run, as_json):
    joined = nx.complete_graph(4)
    nx.set_edge_attributes(joined, {edge: 1 + edge[0] for edge in joined.edges}, "weight")
    nx.write_weighted_edgelist(joined, "joined.edges")
    points = torch.tensor([[0.0], [0.0], [1.0], [3.0]])
    graph = weyl.graph("joined.edges")
    weyl.Embedding("euclidean(1)", "f1", points, graph.nodes, graph=graph.name).save("a.weyl")
    record = as_json("evaluate", "a.weyl", "joined.edges")
    assert record["worst_distortion"] is record["mean_average_precision"] is record["tie_share"] is None
    text = run("evaluate", "a.weyl", "joined.edges")
    assert "infinite" in text and "nan" not in text


def test_evaluate_finds_the_file_that_was_embedded(as_json, here):
    (here / "there").mkdir()
    (here / "there" / "my graph.tsv").write_text("a\tb\nb\tc\nc\td\n")
    saved(here / "there" / "my graph.tsv", "there/b.weyl")
    record = as_json("evaluate", "there/b.weyl")
    assert (record["graph"], record["nodes"], record["notes"]) == ("my graph", 4, [])
    os.rename("there/b.weyl", "c.weyl")
    os.rename("there/my graph.tsv", "my graph.tsv")
    assert as_json("evaluate", "c.weyl")["notes"] == []


def test_evaluate_tells_a_file_from_a_graph_of_the_same_name(as_json):
    Path("karate.csv").write_text("a,b\nb,c\n")
    saved(Path("karate.csv"))
    record = as_json("evaluate", "a.weyl")
    assert (record["graph"], record["nodes"], record["notes"]) == ("karate", 3, [])


def test_evaluate_takes_the_component_that_was_embedded(as_json):
    Path("parts.tsv").write_text("a\tb\nb\tc\nx\ty\n")
    saved(weyl.graph("parts.tsv").largest_component())
    record = as_json("evaluate", "a.weyl")
    assert record["nodes"] == 3 and record["notes"][-1] == "kept the largest component: 3 of 5 nodes"


def test_evaluate_says_that_a_graph_has_changed(as_json):
    Path("mine.tsv").write_text("a\tb\nb\tc\n")
    saved(Path("mine.tsv"))
    Path("mine.tsv").write_text("a\tb\nb\tc\na\tc\n")
    assert "not the graph that was embedded" in as_json("evaluate", "a.weyl")["notes"][-1]


def test_evaluate_reads_datasets_from_a_folder(as_json, here, monkeypatch):
    monkeypatch.delenv("WEYL_DATA", raising=False)
    (here / "data").mkdir()
    (here / "data" / "mine.tsv").write_text("a\tb\nb\tc\n")
    saved(here / "data" / "mine.tsv", graph="mine")
    assert as_json("evaluate", "a.weyl", "--data", "data")["nodes"] == 3


def test_evaluate_shows_both_ways_to_count_ties(run):
    points = torch.tensor([[6.0], [3.0], [1.0], [0.0]])
    weyl.Embedding("euclidean(1)", "f1", points, range(4), graph="grid(4)").save("a.weyl")
    shown = dict(map(str.strip, line.split("  ", 1)) for line in run("evaluate", "a.weyl").splitlines())
    assert float(shown["mean average precision %"]) == pytest.approx(100 * (3 + 5 / 6) / 4, rel=1e-3)
    by_order = shown["ties by row order %"]  # 1 has 0 and 3 equally far, and its neighbour 0 stands first
    assert by_order == "100  (mean average precision as the paper counts)"
    assert float(shown["tied neighbours %"]) == pytest.approx(100 / 6, rel=1e-3)


# ── neighbors and distance ───────────────────────────────────────────────────────────────────────────────────────────
def test_neighbors(run, as_json):
    embedding = saved(scale=2.0)
    names, distances = embedding.neighbors(5, 4)
    record = as_json("neighbors", "a.weyl", "5", "-k", 4)
    assert record == {
        "node": 5,
        "neighbors": [
            {"node": name, "distance": pytest.approx(d)} for name, d in zip(names, distances, strict=True)
        ],
    }
    heading, *rows = run("neighbors", "a.weyl", "5", "-k", 4).splitlines()
    assert heading.split() == ["node", "distance"]
    assert [row.split()[0] for row in rows] == [str(name) for name in names]
    assert [float(row.split()[1]) for row in rows] == pytest.approx(distances, rel=1e-5)


def test_neighbors_are_ten_or_all(as_json):
    saved()
    assert len(as_json("neighbors", "a.weyl", "5")["neighbors"]) == 10
    assert len(as_json("neighbors", "a.weyl", "5", "-k", 1000)["neighbors"]) == 33


def test_distance(run, as_json):
    embedding = saved(scale=2.0)
    record = as_json("distance", "a.weyl", "5", "0")
    assert record["nodes"] == [5, 0] and (record["space"], record["metric"]) == ("upper(2)", "f1")
    assert record["distance"] == pytest.approx(embedding.distance(5, 0))
    assert record["vector_distance"] == pytest.approx(embedding.vector_distances([(5, 0)])[0])
    assert sum(record["vector_distance"]) == pytest.approx(record["distance"])
    first, second = run("distance", "a.weyl", "5", "0").splitlines()
    assert float(first.removeprefix("distance ")) == pytest.approx(record["distance"], rel=1e-5)
    numbers = second.removeprefix("vector distance").split()
    assert list(map(float, numbers)) == pytest.approx(record["vector_distance"], rel=1e-5)


@pytest.mark.parametrize("node", ["a b", "ö漢", "-x", "--json", "", "'q'", "x\ty", "0"])
def test_nodes_of_any_name_can_be_asked_for(run, node):
    names = [node, "other", "third"]
    weyl.Embedding("euclidean(1)", "f1", torch.tensor([[0.0], [1.0], [3.0]]), names).save("a.weyl")
    near = json.loads(run("neighbors", "--json", "a.weyl", "--", node))
    assert [one["distance"] for one in near["neighbors"]] == [1, 3] and near["node"] == node
    assert json.loads(run("distance", "--json", "a.weyl", "--", node, "third"))["distance"] == 3


@pytest.mark.parametrize("name", [("x", 1), b"raw", frozenset({2}), 2.5, None, True])
def test_names_that_are_no_text_are_printed_and_asked_for_by_their_text(as_json, run, name):
    points = torch.tensor([[0.0], [1.0]])
    weyl.Embedding("euclidean(1)", "f1", points, [name, "other"]).save("a.weyl")
    assert as_json("distance", "a.weyl", str(name), "other")["distance"] == 1
    assert as_json("neighbors", "a.weyl", "other")["neighbors"][0]["distance"] == 1
    assert str(name) in run("neighbors", "a.weyl", "other")


def test_names_do_not_move_the_cursor(run):
    points = torch.tensor([[0.0], [1.0]])
    weyl.Embedding("euclidean(1)", "f1", points, ["a", "\x1b[2Jb\rc"]).save("a.weyl")
    out = run("neighbors", "a.weyl", "a")
    assert "\x1b" not in out and "\r" not in out and r"\x1b[2Jb" in out


# ── export ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("ending", ["npz", "csv", "txt", "parquet"])
@pytest.mark.parametrize("flat", [False, True])
def test_export_writes_and_says_what(run, here, ending, flat):
    saved(space="upper(3)")
    out = run("export", "a.weyl", f"b.{ending}", *(["--flat"] if flat else []))
    what = "flat features" if flat else "points"
    assert out == f"b.{ending}: 34 nodes, {what} of upper(3)\n"
    assert (here / f"b.{ending}").stat().st_size > 34 * (12 if flat else 18) * 4


def test_exported_features_are_those_of_python(run):
    embedding = saved()
    run("export", "a.weyl", "b.csv", "--flat")
    with open("b.csv", newline="") as file:
        _, *rows = csv.reader(file)
    assert [int(row[0]) for row in rows] == list(embedding.nodes)
    assert np.array_equal([list(map(float, row[1:])) for row in rows], embedding.flat())


def test_an_embedding_may_be_of_a_later_minor_version(as_json):
    """A file may say more than this version knows, as long as its format is one this version reads."""
    saved(config={"not": "known yet"}, training={"neither": [1]}, versions={"weyl": "0.9.0"})
    assert as_json("evaluate", "a.weyl")["version"] == "0.9.0"
