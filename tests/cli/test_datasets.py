"""`weyl datasets`: what there is, where it comes from, and where it lies."""

import gzip
import json

import pytest

from weyl.cli import main
from weyl.graphs.catalogue import DATASETS
from weyl.graphs.generators import GENERATORS


@pytest.fixture
def datasets(monkeypatch, capsys, tmp_path):
    """Runs `weyl datasets` over a folder with a csphd that is not the real one, and a graph of the user's own."""
    for name in ("csphd", "mine"):
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(b"0\t1\n"))
    monkeypatch.setenv("WEYL_DATA", str(tmp_path))

    def run(*arguments):
        status = main(["datasets", *arguments])
        return status, *capsys.readouterr()

    return run


def test_the_list_holds_every_name_once(datasets):
    for arguments in (["--json"], ["list", "--json"]):
        status, out, err = datasets(*arguments)
        assert (status, err, out.count("\n")) == (0, "", 1)
        assert sorted(row["name"] for row in json.loads(out)) == sorted([*DATASETS, *GENERATORS, "mine"])


def test_the_list_says_what_is_here(datasets, tmp_path):
    rows = {row["name"]: row for row in json.loads(datasets("list", "--json")[1])}
    assert rows["csphd"]["here"] and rows["csphd"]["path"] == str(tmp_path / "csphd.tsv.gz")
    assert rows["facebook"]["here"] is False and rows["facebook"]["path"] is None
    assert rows["mine"]["kind"] == "file" and rows["mine"]["here"]
    assert rows["tree"]["kind"] == "built in" and rows["tree"]["expression"] == "tree(b=3, h=5)"
    sizes = {name: (rows[name]["nodes"], rows[name]["edges"]) for name in ("facebook", "grid4d", "karate")}
    assert sizes == {"facebook": (4039, 88234), "grid4d": (625, 2000), "karate": (34, 78)}


def test_the_table_fits_and_names_the_folder(datasets, tmp_path):
    status, out, err = datasets()
    assert (status, err) == (0, "") and max(map(len, out.splitlines()[:-1])) <= 100
    assert out.splitlines()[-1] == f"data folder: {tmp_path}"


def test_without_a_folder_it_says_how_to_name_one(datasets, monkeypatch):
    monkeypatch.delenv("WEYL_DATA")
    assert datasets()[1].splitlines()[-1] == "data folder: none; name one with --data FOLDER or WEYL_DATA"
    assert "mine" not in [row["name"] for row in json.loads(datasets("--json")[1])]


def test_info_of_a_dataset(datasets, tmp_path):
    record = json.loads(datasets("info", "csphd", "--json")[1])
    row = DATASETS["csphd"]
    assert {key: record[key] for key in ("source", "address", "licence", "sha256", "nodes", "edges")} == {
        "source": row.source, "address": row.address, "licence": row.licence, "sha256": row.sha256,
        "nodes": 1025, "edges": 1043,
    }  # fmt: skip
    assert record["intact"] is False and record["path"] == str(tmp_path / "csphd.tsv.gz")
    assert "intact      no" in datasets("info", "csphd")[1].splitlines()
    missing = datasets("info", "facebook")[1].splitlines()
    assert missing[-1].startswith("missing     get it from https://snap.stanford.edu")


@pytest.mark.parametrize("name, kind", [("mine", "file"), ("tree-x-tree", "built in"), ("cycle", "built in")])
def test_info_of_what_is_in_no_catalogue(datasets, name, kind):
    assert json.loads(datasets("info", name, "--json")[1])["kind"] == kind
    assert datasets("info", name)[1].splitlines()[0] == f"name        {name}"


def test_path_prints_the_path_alone(datasets, tmp_path):
    for name in ("csphd", "mine"):
        assert datasets("path", name) == (0, f"{tmp_path / name}.tsv.gz\n", "")
        path = str(tmp_path / f"{name}.tsv.gz")
        assert json.loads(datasets("path", name, "--json")[1]) == {"name": name, "path": path}


def test_data_wins_over_the_environment(datasets, tmp_path):
    (tmp_path / "other").mkdir()
    status, out, err = datasets("path", "csphd", "--data", str(tmp_path / "other"))
    assert (status, out) == (2, "") and f"{tmp_path / 'other'} has no csphd.tsv.gz; get it from https" in err


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["path", "facebook"], "dataset facebook: "),
        (["info", "facebok"], "no dataset 'facebok'; did you mean 'facebook'?"),
        (["info", "tree-x-tre"], "no dataset 'tree-x-tre'; did you mean 'tree-x-tree'"),
        (["path", "nothing-like-it"], "no dataset 'nothing-like-it'; `weyl datasets` lists all"),
        (["path", "tree"], "tree is built in: it needs no file"),
        (["info"], "info needs a name: weyl datasets info NAME"),
        (["path"], "path needs a name: weyl datasets path NAME"),
        (["list", "tree"], "list takes no name: weyl datasets info tree describes one"),
        (["csphd"], "unknown action 'csphd': list, info NAME or path NAME"),
    ],
)
def test_says_in_one_line_what_is_wrong(datasets, arguments, line):
    for more in ([], ["--json"]):
        status, out, err = datasets(*arguments, *more)
        assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(f"weyl datasets: {line}")
