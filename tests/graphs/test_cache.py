"""Distances on disk: found again by content, bounded, whole or not at all, and never a reason to fail."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import weyl
from weyl.graphs import cache, distances

GRID = "grid(7,8)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, where everything computed counts as slow."""
    monkeypatch.setenv("WEYL_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(cache, "SLOW_SECONDS", -1)
    return tmp_path / "deep" / "cache"


@pytest.fixture
def computed(monkeypatch):
    """Counts how often rows are computed."""
    calls = []
    compute = distances._rows
    monkeypatch.setattr(distances, "_rows", lambda *arguments: calls.append(1) or compute(*arguments))
    return calls


def rows(graph=GRID, **keywords):
    return np.asarray(weyl.graph_distances(graph, **keywords))


def files(folder):
    return sorted(folder.iterdir()) if folder.exists() else []


def test_the_second_time_nothing_is_computed(folder, computed):
    first, second = rows(), rows()
    assert len(computed) == 1 and len(files(folder)) == 1
    np.testing.assert_array_equal(first, second)
    second = weyl.graph_distances(GRID)
    second.rows[0, 0] = 7  # one's own copy
    np.testing.assert_array_equal(rows(), first)


def test_another_question_is_another_entry(folder, computed):
    weighted = weyl.graph([(0, 1, 2.0), (1, 2, 3.0), (2, 3, 1.0)])
    questions = [
        {"graph": GRID},
        {"graph": "grid(8,7)"},
        {"graph": GRID, "sources": [3]},
        {"graph": GRID, "sources": [4]},
        {"graph": GRID, "limit_bytes": 1000},
        {"graph": GRID, "limit_bytes": 1000, "seed": 1},
        {"graph": weighted},
        {"graph": weighted, "sources": [0, 1, 2, 3], "limit_bytes": 100},  # single precision
        {"graph": weyl.graph([(0, 1, 2.0), (1, 2, 3.0), (2, 3, 1.5)])},
    ]
    before = [rows(cache=False, **question) for question in questions]
    for turn in range(2):
        for question, expected in zip(questions, before, strict=True):
            np.testing.assert_array_equal(rows(**question), expected)
            assert rows(**question).dtype == expected.dtype
        assert len(files(folder)) == len(questions), turn


@pytest.mark.parametrize("word", ["off", "OFF", "no", "0", "false"])
def test_switched_off_it_neither_reads_nor_writes(folder, computed, monkeypatch, word):
    rows()
    rows(cache=False)
    monkeypatch.setenv("WEYL_CACHE", word)
    rows()
    assert len(computed) == 3 and len(files(folder)) == 1 and not Path(word).exists()


def test_what_is_quick_is_not_kept(folder, monkeypatch):
    monkeypatch.setattr(cache, "SLOW_SECONDS", 1e9)
    rows()
    assert not files(folder)


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────
def flipped(data):
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


@pytest.mark.parametrize(
    "damage",
    [flipped, lambda data: data[:-1], lambda data: b"", lambda data: data + b"x", lambda data: data[::-1]],
)
def test_damaged_files_are_ignored_and_replaced(folder, computed, damage):
    expected = rows()
    (path,) = files(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    np.testing.assert_array_equal(rows(), expected)
    assert len(computed) == 2 and path.read_bytes() == whole


def test_a_file_under_the_name_of_another_is_damaged_too(folder, computed):
    other = "cartesian(cycle(8),tree(1,6))"  # as many nodes
    expected = [rows(), rows(other)]
    first, second = files(folder)
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    np.testing.assert_array_equal([rows(), rows(other)], expected)
    assert len(computed) == 4


def test_a_folder_in_the_place_of_a_file(folder, computed):
    expected = rows()
    (path,) = files(folder)
    path.unlink()
    path.mkdir()
    np.testing.assert_array_equal(rows(), expected)
    assert [one.suffix for one in files(folder)] == [cache.SUFFIX]


# ── a folder that will not do ────────────────────────────────────────────────────────────────────────────────────
def test_a_folder_that_cannot_be(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for where in (tmp_path / "file", tmp_path / "file" / "below", "/proc/no", "/dev/full", "\0", "x" * 5000):
        if "\0" in str(where):
            monkeypatch.setattr(cache, "folder", lambda: Path("\0"))
        else:
            monkeypatch.setenv("WEYL_CACHE", str(where))
        assert rows().max() == 13
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_read_only_folder(folder, monkeypatch):
    with TemporaryDirectory() as where:
        monkeypatch.setenv("WEYL_CACHE", where)
        rows()
        os.chmod(where, 0o555)
        mine = os.geteuid()
        if mine == 0:
            os.seteuid(65534)  # permissions bind everybody but root
        try:
            assert rows("cycle(12)").max() == 6 and rows().max() == 13
        finally:
            os.seteuid(mine)
        assert len(files(Path(where))) == 1
        os.chmod(where, 0o755)


@pytest.mark.parametrize("where", ["mkdir", "write", "replace"])
def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch, where):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    if where == "mkdir":
        monkeypatch.setattr(Path, "mkdir", full)
    elif where == "write":
        monkeypatch.setattr(cache, "_digest", full)
    else:
        monkeypatch.setattr(cache.os, "replace", full)
    assert rows().max() == 13 and not files(folder)


def test_interrupted_it_leaves_nothing_behind(folder, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows()
    assert not files(folder)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_whole_stays_bounded_and_the_oldest_goes_first(folder, monkeypatch):
    size = cache.DIGEST_BYTES + 20 * 20
    monkeypatch.setattr(cache, "LARGEST_BYTES", 3 * size)
    graphs = [f"random_regular(3,20,seed={seed})" for seed in range(5)]
    for age, graph in enumerate(graphs[:3]):
        rows(graph)
        newest = max(files(folder), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (age + 1, age + 1))
    oldest = min(files(folder), key=lambda path: path.stat().st_mtime)
    rows(graphs[0])  # used again: no longer the oldest
    second = min(files(folder), key=lambda path: path.stat().st_mtime)
    assert second != oldest
    rows(graphs[3])
    assert len(files(folder)) == 3 and oldest in files(folder) and second not in files(folder)
    rows("cycle(50)")  # larger than the whole
    assert len(files(folder)) == 3


def test_abandoned_files_are_swept(folder):
    folder.mkdir(parents=True)
    for name, age in (("old", 2 * cache.ABANDONED_SECONDS), ("young", 0)):
        part = folder / f"{name}{cache.PART}"
        part.write_bytes(b"x" * 100)
        os.utime(part, (time.time() - age,) * 2)
    (folder / "mine.txt").write_text("not of the cache")
    rows()
    assert {path.stem for path in files(folder)} >= {"young", "mine"} and not (folder / "old.part").exists()


# ── where it lies ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("WEYL_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.folder() == tmp_path / ".cache" / "weyl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "weyl"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says its specification
    assert cache.folder() == tmp_path / ".cache" / "weyl"
    monkeypatch.setenv("WEYL_CACHE", "~/mine")
    assert cache.folder() == tmp_path / "mine"


def test_without_a_home_there_is_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("WEYL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() is None and rows().max() == 13
