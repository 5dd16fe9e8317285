"""`weyl embed` in this process: what it prints and writes, what its options do, and what it refuses."""

import gzip
import json
import os
from pathlib import Path

import pytest
import torch

import weyl
from weyl.cli import main

PROMISED = {
    "graph", "nodes", "edges", "pairs", "space", "metric", "parameters", "average_distortion", "worst_distortion",
    "mean_average_precision", "sampled", "scale", "seconds", "epochs", "pairs_seen", "seed", "device", "dtype",
    "version", "out",
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("short.toml").write_text("steps = 40\nwarmup = 5\n")
    return tmp_path


@pytest.fixture
def embed(here, capsys):
    """Runs `weyl embed --json` for a few steps; the record it prints."""

    def run(*arguments, config="short.toml"):
        status = main(["embed", *arguments, "--json", *(["--config", config] if config else [])])
        out, err = capsys.readouterr()
        assert status == 0, err
        assert out.count("\n") == 1
        return json.loads(out)

    return run


# ── what is printed and written ──────────────────────────────────────────────────────────────────────────────────────
def test_json_holds_what_is_promised(embed):
    record = embed("grid(3,3)", "--space", "upper(2)")
    assert record.keys() >= PROMISED
    assert (record["graph"], record["nodes"], record["edges"], record["pairs"]) == ("grid(3,3)", 9, 12, 36)
    assert (record["space"], record["metric"], record["parameters"]) == ("upper(2)", "f1", 6)
    assert (record["seed"], record["device"], record["dtype"], record["sampled"]) == (
        0,
        "cpu",
        "float32",
        False,
    )
    assert record["epochs"] == 40 and record["pairs_seen"] == 40 * 36 and record["seconds"] > 0
    assert 0 < record["average_distortion"] < 1 <= record["worst_distortion"]
    assert record["version"] == weyl.__version__ and record["scale"] == 1


def test_the_file_holds_the_embedding_with_its_scores(embed):
    record = embed("grid(3,3)", "--space", "upper(2)")
    embedding = weyl.load(record["out"])
    assert embedding.scores.average_distortion == record["average_distortion"]
    assert weyl.evaluate(embedding, "grid(3,3)") == embedding.scores
    assert torch.equal(
        embedding.points, weyl.embed("grid(3,3)", "upper(2)", config={"steps": 40, "warmup": 5}).points
    )


@pytest.mark.parametrize(
    "graph, name",
    [("grid(3, 3)", "grid(3,3).weyl"), ("karate", "karate.weyl"), ("folder/my graph.tsv", "my_graph.weyl")],
)
def test_it_is_written_here_under_the_graphs_name(embed, here, graph, name):
    Path("folder").mkdir()
    Path("folder/my graph.tsv").write_text("a b\nb c\n")
    before = set(os.listdir())
    assert embed(graph, "--space", "upper(1)")["out"] == name
    assert set(os.listdir()) - before == {name}, "one file, no checkpoint"


def test_it_is_written_where_it_is_asked_for(embed, here):
    Path("folder").mkdir()
    assert embed("grid(2,2)", "--out", "folder/mine.weyl")["out"] == "folder/mine.weyl"
    assert os.listdir("folder") == ["mine.weyl"]


def test_people_get_a_table_and_nothing_else(here, capsys):
    assert main(["embed", "grid(3,3)", "--space", "upper(2)", "--config", "short.toml"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "average distortion %" in out and "grid(3,3).weyl" in out
    assert 8 <= out.count("\n") <= 16


def test_names_of_nodes_are_kept(embed, here):
    with gzip.open("städte.csv.gz", "wt", encoding="utf-8") as file:
        file.write("Köln,São Paulo\nSão Paulo,x y\n")
    embedding = weyl.load(embed("städte.csv.gz", "--space", "upper(1)")["out"])
    assert sorted(embedding.nodes) == ["Köln", "São Paulo", "x y"]


# ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_seeds_threads_and_dtypes(embed):
    def points(*options):
        return weyl.load(embed("tree(2,3)", "--space", "upper(2)", "--out", "x.weyl", *options)["out"]).points

    first = points()
    assert torch.equal(
        first, points("--seed", "0", "--threads", "2", "--dtype", "float32", "--device", "cpu")
    )
    assert not torch.equal(first, points("--seed", "1"))
    assert not torch.equal(first, points("--dtype", "float64"))


def test_space_and_metric(embed):
    record = embed("tree(2,3)", "--space", "product(hyperbolic(2),euclidean(1))", "--metric", "lp(3)")
    assert (record["space"], record["metric"]) == ("product(hyperbolic(2), euclidean(1))", "lp(3)")


def test_the_largest_component(embed, here, capsys):
    Path("two.tsv").write_text("a b\nb c\nc d\nx y\n")
    assert embed("two.tsv")["nodes"] == 6
    record = embed("two.tsv", "--component", "largest")
    assert record["nodes"] == 4 and any("largest component" in note for note in record["notes"])


def test_components_are_told_of_on_stderr(here, capsys):
    Path("two.tsv").write_text("a b\nb c\nc d\nx y\n")
    assert main(["embed", "two.tsv", "--json", "--config", "short.toml"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["nodes"] == 6
    assert err.startswith("weyl embed: two: 2 components of 4, 2 nodes") and err.count("\n") == 1


def test_effort_and_recipe(embed, here, monkeypatch):
    monkeypatch.setattr("weyl.training.trainer.LOOK", 0.0)
    seen = {}

    def stop(self, state):
        state.stop = True
        seen["steps"] = state.steps

    monkeypatch.setattr("weyl.cli.progress.Progress.__call__", stop)
    monkeypatch.setattr("weyl.training.rounds.ROUNDS", ())
    steps = {}
    for effort in ("quick", "normal", "best"):
        record = embed("grid(3,3)", "--effort", effort, config=None)
        steps[effort] = seen["steps"]
        assert "training was stopped before its end" in record["notes"]
    assert steps["quick"] < steps["normal"] <= steps["best"]
    embedding = weyl.load(embed("grid(3,3)", "--recipe", "paper", config=None)["out"])
    assert embedding.config["recipe"] == "paper" and embedding.config["optimizer"] == "sgd"


def test_a_time_limit(embed, here):
    Path("long.toml").write_text("steps = 100000000")
    record = embed("grid(3,3)", "--time-limit", "1", config="long.toml")
    assert record["seconds"] < 20 and record["average_distortion"] < 0.3


def test_settings_of_a_file_and_options_before_them(embed, here):
    Path("mine.toml").write_text(
        'space = "upper(1)"\nsteps = 7\nseed = 5\nmetric = "finf"\nbetas = [0.8, 0.9]\n'
    )
    record = embed("grid(2,2)", config="mine.toml")
    assert (record["space"], record["metric"], record["seed"], record["epochs"]) == ("upper(1)", "finf", 5, 7)
    record = embed("grid(2,2)", "--seed", "0", "--space", "spd(2)", config="mine.toml")
    assert (record["space"], record["metric"], record["seed"], record["epochs"]) == ("spd(2)", "finf", 0, 7)


def test_a_log(embed, here):
    Path("long.toml").write_text("steps = 450")
    embed("grid(3,3)", "--log", "log.jsonl", config="long.toml")
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [200, 400, 450]
    assert all(line.keys() >= {"step", "loss", "seconds", "dtype"} for line in lines)


def test_data_from_a_folder(embed, here):
    Path("data").mkdir()
    with gzip.open("data/csphd.tsv.gz", "wt") as file:
        file.write("a\tb\nb\tc\n")
    record = embed("csphd", "--data", "data")
    assert record["nodes"] == 3 and any("sha256 differs" in note for note in record["notes"])


# ── --resume where there is nothing to go on with ────────────────────────────────────────────────────────────────────
def test_resuming_a_run_that_came_to_its_end_prints_it_again(embed, here):
    first = embed("grid(3,3)", "--space", "upper(2)")
    before = Path(first["out"]).stat().st_mtime_ns
    again = embed("grid(3,3)", "--space", "upper( 2 )", "--resume")
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    assert Path(first["out"]).stat().st_mtime_ns == before


def test_resuming_the_largest_component(embed, here):
    Path("two.tsv").write_text("a b\nb c\nc d\nx y\n")
    first = embed("two.tsv", "--component", "largest")
    assert embed("two.tsv", "--component", "largest", "--resume")["nodes"] == first["nodes"] == 4


def test_resuming_where_nothing_is_begins(embed, here):
    assert embed("grid(3,3)", "--resume")["epochs"] == 40


@pytest.mark.parametrize(
    "options, other",
    [
        (["--seed", "1"], "seed"),
        (["--space", "upper(3)"], "space"),
        (["--metric", "finf", "--dtype", "float64"], "dtype, metric"),
        (["--effort", "best"], "effort"),
    ],
)
def test_resuming_another_run_is_refused(embed, here, capsys, options, other):
    embed("grid(3,3)", "--space", "upper(2)")
    defaults = [] if "--space" in options else ["--space", "upper(2)"]
    status = main(["embed", "grid(3,3)", "--resume", "--config", "short.toml", *defaults, *options])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert f"is of a run with another {other}: leave out --resume" in err


def test_resuming_another_graph_is_refused(embed, here, capsys):
    embed("grid(3,3)", "--out", "x.weyl")
    assert main(["embed", "grid(3,4)", "--out", "x.weyl", "--resume", "--config", "short.toml"]) == 2
    assert "of a run with another graph" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"junk", b"\x08" + bytes(30)])
def test_a_checkpoint_that_is_none(here, capsys, data):
    Path("grid(3,3).weyl.checkpoint").write_bytes(data)
    assert main(["embed", "grid(3,3)", "--resume"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == (
        "weyl embed: grid(3,3).weyl.checkpoint: no checkpoint of weyl, or a damaged one: remove it to start anew\n"
    )
    assert Path("grid(3,3).weyl.checkpoint").read_bytes() == data and not Path("grid(3,3).weyl").exists()


def test_a_checkpoint_of_another_run(embed, here, capsys):
    fields = {"space": "upper(2)", "config": {"steps": 40, "warmup": 5}, "checkpoint_every": 0.0}
    weyl.embed("grid(3,3)", checkpoint="grid(3,3).weyl.checkpoint", seed=3, **fields)
    before = Path("grid(3,3).weyl.checkpoint").read_bytes()
    assert main(["embed", "grid(3,3)", "--space", "upper(2)", "--resume", "--config", "short.toml"]) == 2
    err = capsys.readouterr().err
    assert (
        err.count("\n") == 1
        and "checkpoint is of a run with another seed: remove it, or ask for the same" in err
    )
    assert Path("grid(3,3).weyl.checkpoint").read_bytes() == before


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────
FILES = {
    "empty.tsv": b"",
    "comments.tsv": b"# a\n# b\n",
    "one.tsv": b"a\n",
    "loop.tsv": b"a a\n",
    "negative.tsv": b"a b -1\n",
    "zero.tsv": b"a b 0\n",
    "nan.tsv": b"a b nan\n",
    "infinite.tsv": b"a b inf\n",
    "text.tsv": b"a b 1\nb c far\n",
    "cut.tsv.gz": gzip.compress(b"a b\n" * 1000)[:-12],
    "weighted.tsv": b"a b 1\nb c 2\n",
    "bad.toml": b"rate = \n",
    "unknown.toml": b"ratee = 0.1\n",
    "negative.toml": b"rate = -1\n",
    "latin.toml": b'space = "\xe4"\n',
    "ranking.toml": b"ranking = 1.0\n",
}
BAD = [
    (["empty.tsv"], "empty.tsv"),
    (["comments.tsv"], "comments.tsv"),
    (["one.tsv"], "one.tsv"),
    (["loop.tsv"], "no edges"),
    (["negative.tsv"], "negative"),
    (["zero.tsv"], "zero"),
    (["nan.tsv"], "not a number"),
    (["infinite.tsv"], "infinite"),
    (["text.tsv"], "far"),
    (["cut.tsv.gz"], "cut.tsv.gz"),
    (["missing.tsv"], "missing.tsv"),
    (["folder"], "folder"),
    (["grid(1)"], "grid"),
    (["gird(3,3)"], "grid"),
    (["karat"], "karate"),
    (["facebok"], "facebook"),
    (["csphd", "--data", "folder"], "csphd"),
    (["csphd", "--data", "nowhere"], "nowhere"),
    (["grid(2,2)", "--space", "uper(2)"], "upper"),
    (["grid(2,2)", "--space", "upper(0)"], "at least 1"),
    (["grid(2,2)", "--space", "upper(2"], "upper(2"),
    (["grid(2,2)", "--metric", "f2"], "f2"),
    (["grid(2,2)", "--metric", "fmin", "--space", "spd(3)"], "det=1"),
    (["grid(2,2)", "--metric", "weighted(1,2)", "--space", "upper(2)"], "must not increase"),
    (["grid(2,2)", "--effort", "hard"], "quick or normal or best"),
    (["grid(2,2)", "--recipe", "soup"], "default or paper"),
    (["grid(2,2)", "--seed", "-1"], "'--seed': Input should be greater than or equal to 0"),
    (["grid(2,2)", "--seed", "one"], "'--seed': Input should be a valid integer"),
    (["grid(2,2)", "--threads", "0"], "'--threads': Input should be greater"),
    (["grid(2,2)", "--time-limit", "0"], "positive number of seconds"),
    (["grid(2,2)", "--time-limit", "nan"], "positive number of seconds"),
    (["grid(2,2)", "--dtype", "float16"], "float32 or float64"),
    (["grid(2,2)", "--device", "tpu"], "auto, cpu or cuda"),
    (["grid(2,2)", "--component", "small"], "'largest' or 'all'"),
    (["grid(2,2)", "--out", "folder"], "--out folder is a folder"),
    (["grid(2,2)", "--out", "nowhere/x.weyl"], "there is no folder nowhere"),
    (["grid(2,2)", "--out", ""], "folder"),
    (["grid(2,2)", "--log", "nowhere/log.jsonl"], "nowhere"),
    (["grid(2,2)", "--log", "folder"], "folder"),
    (["grid(2,2)", "--config", "nowhere.toml"], "nowhere.toml"),
    (["grid(2,2)", "--config", "folder"], "folder"),
    (["grid(2,2)", "--config", "bad.toml"], "bad.toml: not a TOML file"),
    (["grid(2,2)", "--config", "latin.toml"], "latin.toml: not a TOML file"),
    (["grid(2,2)", "--config", "unknown.toml"], "unknown.toml: config: no field 'ratee'; did you mean rate"),
    (["grid(2,2)", "--config", "negative.toml"], "negative.toml: rate: expected a positive number, got -1"),
    (["weighted.tsv", "--config", "ranking.toml"], "ranking needs edges of one length"),
    (["weighted.tsv", "--out", "weighted.tsv"], "--out weighted.tsv would be written over"),
    (
        ["weighted.tsv", "--log", "./folder/../weighted.tsv"],
        "--log ./folder/../weighted.tsv would be written over",
    ),
    (
        ["grid(2,2)", "--config", "ranking.toml", "--log", "ranking.toml"],
        "--log ranking.toml would be written over",
    ),
    (["grid(2,2)", "--out", "x.weyl", "--log", "x.weyl"], "--log x.weyl would be written over"),
    ([], "GRAPH"),
    (["grid(2,2)", "grid(3,3)"], "extra argument"),
    (["grid(2,2)", "--sed", "1"], "--seed"),
]


@pytest.mark.parametrize(
    "arguments, says", BAD, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else ""
)
def test_bad_input_is_one_line_and_nothing_is_written(here, capsys, arguments, says):
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    Path("folder").mkdir()
    before = sorted(os.listdir())
    status = main(["embed", *arguments])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("weyl embed: ") and err.count("\n") == 1 and err.endswith("\n")
    assert says in err and "fault of weyl" not in err
    assert sorted(os.listdir()) == before and os.listdir("folder") == []


def test_a_folder_that_cannot_be_written(here, capsys):
    Path("locked").mkdir(mode=0o500)
    locked = "/sys" if Path("/sys").is_dir() else "locked"  # root writes into the other
    assert main(["embed", "grid(2,2)", "--out", f"{locked}/x.weyl"]) == 2
    err = capsys.readouterr().err
    assert f"--out {locked}/x.weyl: cannot write into {locked}: " in err and err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_under_the_log_is_one_line_and_the_run_goes_on(here, capsys):
    assert main(["embed", "grid(2,2)", "--log", "/dev/full", "--config", "short.toml"]) == 0
    out, err = capsys.readouterr()
    assert "average distortion" in out
    assert err == "weyl embed: the log ends here, training goes on: /dev/full: No space left on device\n"


def test_a_checkpoint_that_cannot_be_written_leaves_the_run_alone(here, capsys, monkeypatch):
    """A folder lies in its place; the embedding is written, the folder stays."""
    monkeypatch.setitem(weyl.embed.__kwdefaults__, "checkpoint_every", 0.0)
    Path("grid(2,2).weyl.checkpoint").mkdir()
    assert main(["embed", "grid(2,2)", "--config", "short.toml"]) == 0
    out, err = capsys.readouterr()
    assert "average distortion" in out and err.count("\n") == 1
    assert err.startswith(
        "weyl embed: no checkpoint could be written, training goes on: grid(2,2).weyl.checkpoint: "
    )
    assert weyl.load("grid(2,2).weyl").scores is not None


def test_an_earlier_file_stays_where_a_run_fails(embed, here, capsys):
    out = embed("grid(2,2)")["out"]
    before = Path(out).read_bytes()
    assert main(["embed", "grid(2,2)", "--effort", "hard"]) == 2
    assert Path(out).read_bytes() == before
