"""Bad input and faults of commands that read an embedding: exit 2, one line that names the trouble, nothing lost."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import weyl
from weyl import storage
from weyl.cli import main

EVERY = ("evaluate FILE", "neighbors FILE 5", "distance FILE 5 6", "export FILE out.csv")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an embedding of karate, one of nowhere, and files that are none."""
    monkeypatch.chdir(tmp_path)
    graph = weyl.graph("karate")
    points = weyl.space("upper(2)").random_points(34, seed=0)
    weyl.Embedding("upper(2)", "f1", points, graph.nodes, graph="karate").save("good.weyl")
    names = [f"member {row}" for row in range(34)]
    weyl.Embedding("upper(2)", "f1", points, names).save("nameless.weyl")
    weyl.Embedding("upper(2)", "f1", points, names, graph="no such graph").save("lost.weyl")
    twins = ["a b", "a\tb", *names[2:]]
    weyl.Embedding("upper(2)", "f1", points, twins, graph="karate").save("twins.weyl")
    good = Path("good.weyl").read_bytes()
    Path("cut.weyl").write_bytes(good[:-100])
    Path("headless.weyl").write_bytes(good[:50])
    Path("flipped.weyl").write_bytes(good[:700] + bytes([good[700] ^ 16]) + good[701:])
    Path("empty.weyl").write_bytes(b"")
    Path("edges.tsv").write_text("a\tb\nb\tc\n")
    np.savez("points.npz", points=points.numpy())
    save_file({"weight": torch.ones(3)}, "model.safetensors")
    Path("folder").mkdir()
    monkeypatch.setattr(storage, "FORMAT", 99)
    weyl.Embedding("upper(2)", "f1", points, names).save("newer.weyl")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(here, capsys):
    """Runs a command that must fail as promised, and gives its line."""

    def run(arguments):
        before = contents(here)
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.endswith("\n") and err.count("\n") == 1
        assert err.startswith(f"weyl {arguments[0]}: ") and "fault of weyl" not in err
        assert before == contents(here)
        return err.removeprefix(f"weyl {arguments[0]}: ").rstrip("\n")

    return run


def contents(folder):
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.is_symlink()}


FILES = {
    "none.weyl": "none.weyl: No such file or directory",
    "folder": "folder: Is a directory",
    "folder/none.weyl": "folder/none.weyl: No such file or directory",
    "good.weyl/x": "good.weyl/x: Not a directory",
    "empty.weyl": "empty.weyl: an empty file",
    "edges.tsv": "edges.tsv: not a file written by weyl",
    "points.npz": "points.npz: not a file written by weyl",
    "model.safetensors": "model.safetensors: a safetensors file, but not an embedding written by weyl",
    "cut.weyl": "cut.weyl: damaged: cut off or longer than it was",
    "headless.weyl": "headless.weyl: damaged: it ends within its header",
    "flipped.weyl": "flipped.weyl: damaged: its contents do not fit its digest",
    "newer.weyl": "newer.weyl: written by a newer weyl (format 99; this one reads up to 1): update weyl",
}


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("file", FILES)
def test_files_that_are_no_embedding(refused, command, file):
    assert refused(command.replace("FILE", file).split()) == FILES[file]


@pytest.mark.parametrize(
    "arguments, line",
    [
        (
            ["evaluate", "nameless.weyl"],
            "nameless.weyl does not say which graph it embeds: add the graph, as in",
        ),
        (["evaluate", "lost.weyl"], "lost.weyl embeds 'no such graph', which is not to be found here ("),
        (["evaluate", "good.weyl", "karat"], "unknown graph 'karat'"),
        (["evaluate", "good.weyl", "tree(3"], "the bracket opened at column 5 is not closed"),
        (["evaluate", "good.weyl", "none.tsv"], "none.tsv: No such file or directory"),
        (
            ["evaluate", "good.weyl", "edges.tsv"],
            "graph and embedding share no node: their first ones are 'a' and 0",
        ),
        (["evaluate", "good.weyl", "folder"], "folder: is a folder"),
        (["evaluate", "good.weyl", "empty.weyl"], "empty.weyl: "),
        (["neighbors", "good.weyl", "99"], "no node '99' among the 34 nodes: 0, 1, 2, …"),
        (["neighbors", "nameless.weyl", "membr 7"], "no node 'membr 7'; did you mean 'member 7'"),
        (["neighbors", "good.weyl", "5", "-k", "0"], "invalid value for '-k': "),
        (["neighbors", "good.weyl", "5", "-k", "many"], "invalid value for '-k': "),
        (["neighbors", "good.weyl"], "missing argument 'NODE'; see 'weyl neighbors --help'"),
        (["distance", "good.weyl", "5", "x"], "no node 'x' among the 34 nodes"),
        (["distance", "good.weyl", "y\nz", "5"], "no node 'y\\nz' among the 34 nodes"),
        (["distance", "good.weyl", "5"], "missing argument 'NODE'; see 'weyl distance --help'"),
        (
            ["export", "good.weyl", "out.json"],
            "out.json: the ending must be one of .npz, .csv, .txt, .parquet",
        ),
        (["export", "good.weyl", "out"], "out: the ending must be one of .npz, .csv, .txt, .parquet"),
        (["export", "good.weyl", "none/out.csv"], "none/out.csv: there is no folder "),
        (["export", "good.weyl", "good.weyl/out.csv"], "good.weyl/out.csv: there is no folder "),
        (
            ["export", "twins.weyl", "out.txt"],
            "word2vec text has no white space in names, and 'a b' and 'a\\tb' wo",
        ),
        (["export", "good.weyl"], "missing argument 'OUT'"),
        (["export", "good.weyl", "a\0b.csv"], ""),
        (["evaluate"], "missing argument 'FILE.weyl'"),
        (["evaluate", "good.weyl", "--seed", "1"], "no such option: --seed"),
    ],
)
def test_what_cannot_be_asked(refused, arguments, line):
    assert refused(arguments).startswith(line)


def test_a_folder_in_place_of_the_export(refused, here):
    (here / "out.csv").mkdir()
    assert refused(["export", "good.weyl", "out.csv"]) == "out.csv: is a folder; give a file name"


def test_parquet_without_pyarrow(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(["export", "good.weyl", "out.parquet"]).startswith("parquet needs pyarrow: pip install")


def test_a_full_disk(refused, monkeypatch, here):
    def full(*_):
        raise OSError(28, "No space left on device")

    (here / "out.csv").write_text("before")
    monkeypatch.setattr("weyl.storage.os.fsync", full)
    line = refused(["export", "good.weyl", "out.csv"])
    assert line == "out.csv: No space left on device; the file is as it was"
    assert refused(["export", "good.weyl", "new.csv"]).endswith("; no file was written")


def test_a_folder_that_takes_no_file(refused, here):
    locked = here / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    folder = "locked" if not os.access(locked, os.W_OK) else "/proc/self"  # where rights stop nobody
    line = refused(["export", "good.weyl", f"{folder}/out.csv"])
    assert line.startswith(f"{folder}/out.csv: ") and line.endswith("; no file was written")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails while it is read")
def test_a_disk_that_fails_while_reading(refused, here):
    (here / "secret.weyl").symlink_to("/proc/self/mem")
    assert refused(["neighbors", "secret.weyl", "5"]) == "secret.weyl: Input/output error"


RUN = "import sys; from weyl.cli import main; sys.exit(main())"
LIMITED = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); {RUN}"


def weyl_process(*arguments, program=RUN, stdout=subprocess.PIPE):
    words = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_a_limit_on_files_stops_an_export_of_a_real_process(here):
    (here / "out.csv").write_text("before")
    found = weyl_process("export", "good.weyl", "out.csv", program=LIMITED)
    assert found == (2, "", "weyl export: out.csv: File too large; the file is as it was\n")
    assert (here / "out.csv").read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_result_that_nobody_can_store_is_an_error(here):
    with open("/dev/full", "w") as full:
        status, _, err = weyl_process("neighbors", "good.weyl", "5", stdout=full)
    assert (status, err) == (2, "weyl neighbors: No space left on device\n")
