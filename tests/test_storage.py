"""The file of an embedding: what is written comes back, the damaged or foreign is refused, nothing is half there."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

import weyl
from weyl import storage
from weyl.storage import FileProblem, plain

POINTS = torch.tensor([[[0.5]], [[1.25]], [[-0.75]]], dtype=torch.float64)
HEADER = {"space": "power(euclidean(1), 1)", "metric": "f1"}


def written(tmp_path, name="a.weyl", **header):
    """The file of a small embedding."""
    path = tmp_path / name
    storage.write(path, {**HEADER, **header}, ["a", "b", "c"], POINTS)
    return path


def refusal(path):
    """The one line that says why a file cannot be read; everything else is a failure."""
    with pytest.raises(FileProblem) as problem:
        weyl.load(path)
    line = str(problem.value)
    assert "\n" not in line and line.startswith(f"{path}: ")
    return line.removeprefix(f"{path}: ")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ── what is written comes back ───────────────────────────────────────────────────────────────────────────────────────
halves = st.text(st.sampled_from("\ud800\udc00\udcffaé\x00"))  # lone halves of characters among others
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
scalars = st.none() | numbers | st.text() | halves | st.binary()
tuples = st.lists(scalars, max_size=3).map(tuple)
nested = st.lists(scalars | tuples, max_size=3).map(tuple) | st.frozensets(scalars | tuples, max_size=3)


@settings(deadline=None)
@given(
    st.lists(scalars | tuples | nested, min_size=1, max_size=6, unique=True),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_names_and_points_come_back(tmp_path_factory, nodes, dtype):
    path = tmp_path_factory.mktemp("names") / "a.weyl"
    points = torch.arange(len(nodes), dtype=dtype).reshape(-1, 1) / 3
    storage.write(path, {"seed": 7}, nodes, points)
    header, found, again = storage.read(path)
    assert found == nodes and list(map(kind, found)) == list(map(kind, nodes))
    assert again.dtype == dtype and torch.equal(again, points)
    assert header["seed"] == 7 and header["format"] == storage.FORMAT


def kind(name):
    """The types of a name and its parts; the parts of a frozenset have no order."""
    if isinstance(name, tuple):
        return tuple, [kind(part) for part in name]
    return (
        (frozenset, sorted(str(kind(part)) for part in name)) if isinstance(name, frozenset) else type(name)
    )


@pytest.mark.parametrize("nodes", [[0, 1, 2], [0, 2, 1], [False, True, 2], ["0", "1", "2"], [0.0, 1.0, 2.0]])
def test_row_numbers_are_told_from_what_equals_them(tmp_path, nodes):
    storage.write(tmp_path / "a.weyl", {}, nodes, POINTS)
    found = storage.read(tmp_path / "a.weyl")[1]
    assert found == nodes and list(map(type, found)) == list(map(type, nodes))


def test_row_numbers_take_no_room(tmp_path):
    points = torch.zeros(10_000, 1)
    storage.write(tmp_path / "a.weyl", {}, list(range(10_000)), points)
    assert (tmp_path / "a.weyl").stat().st_size < points.numel() * 4 + 1000


def test_names_out_of_arrays_come_back_as_python_names(tmp_path):
    nodes = [np.int64(3), np.str_("x"), np.float64(0.5)]
    storage.write(tmp_path / "a.weyl", {}, nodes, POINTS)
    found = storage.read(tmp_path / "a.weyl")[1]
    assert found == nodes and [type(name) for name in found] == [int, str, float]


class Person:
    def __repr__(self):
        return "<Person>"


@pytest.mark.parametrize("name", [Person(), float("nan"), float("inf"), 1j, ("a", Person())])
def test_names_that_a_file_cannot_hold_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"cannot be saved: use text, numbers or tuples"):
        storage.write(tmp_path / "a.weyl", {}, ["a", name, "b"], POINTS)
    assert names_in(tmp_path) == []


def test_more_names_than_a_header_can_hold_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "LARGEST_HEADER", 1000)
    storage.write(tmp_path / "a.weyl", {}, ["a" * 200, "b" * 200, "c" * 200], POINTS)
    assert int.from_bytes((tmp_path / "a.weyl").read_bytes()[:8], "little") < 1100
    with pytest.raises(ValueError, match=r"b.weyl: the node names take [\d,]+ bytes, more than a file"):
        storage.write(tmp_path / "b.weyl", {}, ['"' * 150, '""' * 75 + "b", "c"], POINTS)
    assert names_in(tmp_path) == ["a.weyl"]


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"a": (1, 2.5), 3: {"x"}}, {"a": [1, 2.5], "3": ["x"]}),
        ([float("nan"), float("inf"), True, None], [None, None, True, None]),
        (np.array([[1, 2]]), [[1, 2]]),
        (torch.tensor([0.5, float("nan")]), [0.5, None]),
        (np.float32(0.5), 0.5),
        (b"x", "b'x'"),
        (Path("/a/b"), str(Path("/a/b"))),
    ],
)
def test_plain_values_are_what_json_holds(value, expected):
    assert plain(value) == expected
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == expected


# ── what is damaged or foreign is refused ────────────────────────────────────────────────────────────────────────────
@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_changed_byte_is_found(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bytes")
    whole = written(folder).read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1), "place")
    value = data.draw(st.integers(0, 255).filter(lambda value: value != whole[place]), "value")
    path = folder / "b.weyl"
    path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
    assert refusal(path)


def test_every_flipped_bit_is_found(tmp_path):
    whole = written(tmp_path).read_bytes()
    path = tmp_path / "b.weyl"
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert refusal(path)


def test_every_cut_is_found(tmp_path):
    whole = written(tmp_path).read_bytes()
    path = tmp_path / "b.weyl"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        reason = refusal(path)
        assert length > 8 or "empty" in reason or "not a file written by weyl" in reason


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=64))
def test_whatever_is_appended_or_put_before_is_found(tmp_path_factory, more):
    folder = tmp_path_factory.mktemp("more")
    whole = written(folder).read_bytes()
    for name, data in {"b.weyl": whole + more, "c.weyl": more + whole, "d.weyl": more}.items():
        (folder / name).write_bytes(data)
        assert refusal(folder / name)


def test_points_of_another_file_are_found(tmp_path):
    one, other = written(tmp_path).read_bytes(), tmp_path / "b.weyl"
    storage.write(other, HEADER, ["a", "b", "c"], POINTS + 1)
    size = POINTS.numel() * 8
    other.write_bytes(other.read_bytes()[:-size] + one[-size:])
    assert refusal(other) == "damaged: its contents do not fit its digest"


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "an empty file"),
        (b"a\tb\n" * 50, "not a file written by weyl"),
        (b"PK\x03\x04" + bytes(100), "not a file written by weyl"),
        (b"\x80\x04\x95" + b"q" * 20, "not a file written by weyl"),
        (save({"weight": torch.ones(2)}), "a safetensors file, but not an embedding written by weyl"),
        (save({"points": torch.ones(2)}, {"format": "pt"}), "a safetensors file, but not an embedding"),
        (save({"points": torch.ones(2)}, {"weyl": "[]"}), "damaged: its header cannot be read"),
        (save({"points": torch.ones(2)}, {"weyl": "{"}), "damaged: its header cannot be read"),
        (save({"points": torch.ones(2)}, {"weyl": "[" * 100_000}), "damaged: its header cannot be read"),
        (save({"points": torch.ones(2).half()}, {"weyl": "{}"}), "damaged: it does not hold points of 32"),
        (save({"points": torch.ones(2), "more": torch.ones(1)}, {"weyl": "{}"}), "damaged: it does not hold"),
        (save({"points": torch.ones(2)}, {"weyl": '{"format": 1, "sha256": ""}'}), "damaged: its contents"),
        (save({"points": torch.ones(2)}, {"weyl": '{"format": 1, "sha256": 5}'}), "damaged: its contents"),
        ((1 << 63).to_bytes(8, "little") + b"{" * 20, "damaged: it ends within its header"),
    ],
)
def test_files_of_others_are_refused(tmp_path, data, reason):
    (tmp_path / "a.weyl").write_bytes(data)
    assert refusal(tmp_path / "a.weyl").startswith(reason)


def test_a_newer_format_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "FORMAT", storage.FORMAT + 1)
    path = written(tmp_path)
    monkeypatch.undo()
    assert "written by a newer weyl (format 2; this one reads up to 1): update weyl" in refusal(path)


@pytest.mark.parametrize(
    "header, reason",
    [
        ({"space": "uper(2)"}, "uper"),
        ({"space": "upper(2)"}, "expected points (n, 2, 2, 2) of upper(2), got (3, 1, 1)"),
        ({"metric": "f9"}, "f9"),
        ({"space": 7}, ""),
        ({"metric": None}, ""),
        ({"scale": -1}, "the scale must be positive and finite"),
        ({"scale": "wide"}, "wide"),
        ({"scores": [1, 2]}, ""),
        ({"scores": {"average_distortion": 0.1}}, "mean_average_precision"),
        ({"config": 3}, ""),
        ({"training": "none"}, ""),
        ({"versions": 7}, ""),
    ],
)
def test_a_header_that_makes_no_embedding_is_refused(tmp_path, header, reason):
    assert reason in refusal(written(tmp_path, **header))


def test_a_header_without_its_space_is_refused(tmp_path):
    storage.write(tmp_path / "a.weyl", {"metric": "f1"}, ["a", "b", "c"], POINTS)
    assert refusal(tmp_path / "a.weyl") == "its header has no 'space'"


@pytest.mark.parametrize(
    "nodes",
    [
        None,
        3,
        ["a", "b"],
        {"count": 2},
        ["a", "b", 1.5],
        ["a", "b", ["c"]],
        ["a", "b", {"odd": 1}],
        ["a", "b", {"float": "x"}],
        ["a", "b", {}],
        ["a", "b", {"tuple": 3}],
        ["a", "b", "b"],
    ],
)
def test_names_that_are_none_are_refused(tmp_path, monkeypatch, nodes):
    monkeypatch.setattr(storage, "named", lambda given: nodes)
    path = written(tmp_path)
    assert "name" in refusal(path)


# ── whole or not at all ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_file_is_replaced_and_keeps_its_rights(tmp_path):
    path = written(tmp_path)
    path.chmod(0o640)
    storage.write(path, HEADER, ["x", "y", "z"], POINTS)
    assert storage.read(path)[1] == ["x", "y", "z"]
    assert path.stat().st_mode & 0o777 == 0o640 and names_in(tmp_path) == ["a.weyl"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    real = written(tmp_path / "there")
    link = tmp_path / "link.weyl"
    link.symlink_to(real)
    storage.write(link, HEADER, ["x", "y", "z"], POINTS)
    assert link.is_symlink() and storage.read(real)[1] == ["x", "y", "z"]


@pytest.mark.parametrize("name", ["a" * 250 + ".weyl", "漢" * 83 + ".weyl", "a b\n.weyl", "-.weyl"])
def test_any_name_that_the_disk_takes(tmp_path, name):
    assert storage.read(written(tmp_path, name))[1] == ["a", "b", "c"]
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_nothing_is_half_written(tmp_path, monkeypatch, step, problem):
    before = written(tmp_path).read_bytes()

    def fail(*_):
        raise problem

    monkeypatch.setattr(storage.os, step, fail)
    for name in ("a.weyl", "new.weyl"):
        with pytest.raises(type(problem)) as raised:
            storage.write(tmp_path / name, HEADER, ["x", "y", "z"], POINTS)
        if isinstance(problem, OSError):
            kept = "the file is as it was" if name == "a.weyl" else "no file was written"
            assert raised.value.strerror == f"No space left on device; {kept}"
            assert raised.value.filename == str(tmp_path / name)
    assert names_in(tmp_path) == ["a.weyl"] and (tmp_path / "a.weyl").read_bytes() == before


FULL = """
import resource, sys, torch, weyl
points = weyl.space("upper(2)").random_points(5000, seed=0)
embedding = weyl.Embedding("upper(2)", "f1", points, range(5000))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    embedding.save(sys.argv[1])
except OSError as problem:
    print(problem.strerror)
"""


def test_a_disk_that_takes_no_more(tmp_path):
    before = written(tmp_path).read_bytes()
    for name, kept in {"a.weyl": "the file is as it was", "new.weyl": "no file was written"}.items():
        words = [sys.executable, "-c", FULL, str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout.strip()) == (0, f"File too large; {kept}"), done.stderr
    assert names_in(tmp_path) == ["a.weyl"] and (tmp_path / "a.weyl").read_bytes() == before


def locked(folder):
    """A folder that takes no file: one without the right to write, or where that stops nobody one of the system's."""
    folder.chmod(0o555)
    return folder if not os.access(folder, os.W_OK) else Path("/proc/self")


def test_a_locked_folder(tmp_path):
    path = locked(tmp_path) / "a.weyl"
    with pytest.raises(OSError) as problem:
        written(path.parent)
    assert problem.value.filename == str(path) and problem.value.strerror.endswith("; no file was written")
    tmp_path.chmod(0o755)
    assert names_in(tmp_path) == []


def test_a_folder_in_place_of_a_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; give a file name"):
        written(tmp_path, ".")
    with pytest.raises(IsADirectoryError):
        weyl.load(tmp_path)
    assert names_in(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"there is no folder {tmp_path / 'none'}"):
        written(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        weyl.load(tmp_path / "none.weyl")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.weyl"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    written(tmp_path, "pipe.weyl")
    reader.join(timeout=30)
    assert pipe.is_fifo() and received == [written(tmp_path).read_bytes()]


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path):
    path = tmp_path / "a.weyl"
    problems = []

    def write(number):
        try:
            for _ in range(10):
                storage.write(path, HEADER, [f"{number}", "b", "c"], POINTS + number)
        except OSError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    _, (first, *_), points = storage.read(path)
    assert torch.equal(points, POINTS + int(first)) and not problems
    assert names_in(tmp_path) == ["a.weyl"]
