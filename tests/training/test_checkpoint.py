"""Checkpoints: what is written comes back, and what is no checkpoint is refused with the reason."""

import os

import pytest
import torch

from weyl.training import checkpoint
from weyl.training.watch import resumed

TENSORS = {
    "points.0": torch.randn(5, 3, dtype=torch.float64),
    "points.10": torch.zeros(0, 4),
    "number": torch.tensor(7),
}
PLAIN = {"step": 3, "losses": [[1, 0.1 + 0.2]], "schedule": {"best": None}, "identity": {"name": "Köln \0"}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.checkpoint"
    checkpoint.save(path, PLAIN, TENSORS)
    return path


def test_what_is_written_comes_back(file):
    plain, tensors = checkpoint.load(file)
    assert plain == PLAIN and set(tensors) == set(TENSORS)
    for name, x in TENSORS.items():
        assert torch.equal(tensors[name], x) and tensors[name].dtype == x.dtype


def test_it_is_the_only_file(file):
    checkpoint.save(file, PLAIN, TENSORS)
    assert os.listdir(file.parent) == [file.name]


def test_a_newer_one_replaces_it(file):
    checkpoint.save(file, {**PLAIN, "step": 4}, TENSORS)
    assert checkpoint.load(file)[0]["step"] == 4


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_one_is_refused(file, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=f"^{file}: .*remove it to start anew$") as problem:
        checkpoint.load(file)
    assert "\n" not in str(problem.value)


def test_a_flipped_bit_is_found(file):
    data = file.read_bytes()
    for place in range(0, len(data), 3):
        spoilt = bytearray(data)
        spoilt[place] ^= 16
        file.write_bytes(spoilt)
        with pytest.raises(ValueError, match="damaged"):
            checkpoint.load(file)


def foreign():
    from safetensors.torch import save

    yield b"a b\n1 2\n"
    yield b"\x00" * 100
    yield save({"points": torch.zeros(3)})
    yield save({"points": torch.zeros(3)}, {"weyl": "{}"})
    yield save({"points": torch.zeros(3)}, {"weyl-checkpoint": "[]"})
    yield save({"points": torch.zeros(3)}, {"weyl-checkpoint": "null"})
    yield save({"points": torch.zeros(3)}, {"weyl-checkpoint": "{"})


@pytest.mark.parametrize("data", list(foreign()))
def test_a_foreign_file_is_refused(file, data):
    file.write_bytes(data)
    with pytest.raises(ValueError, match="no checkpoint of weyl, or a damaged one: remove it to start anew"):
        checkpoint.load(file)


def test_a_newer_format_says_so(file, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    checkpoint.save(file, PLAIN, TENSORS)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="of format 99, this weyl reads 1"):
        checkpoint.load(file)


def test_a_folder_is_one_line(tmp_path):
    with pytest.raises(IsADirectoryError) as problem:
        checkpoint.load(tmp_path)
    assert "\n" not in str(problem.value) and str(tmp_path) in str(problem.value)


def test_a_run_takes_its_own_only(trainer, tmp_path):
    """One line names all that differs."""
    path, run = tmp_path / "checkpoint", trainer()
    state = run.state
    identity = {"fingerprint": "abc", "rate": 0.1, "seed": 0}
    tensors = state.pop("tensors")
    checkpoint.save(path, {**state, "identity": identity}, tensors)
    resumed(trainer(), path, identity)
    for other, names in (
        ({**identity, "seed": 1}, "seed"),
        ({"fingerprint": "abc", "seed": 0}, "rate"),
        ({"fingerprint": "x", "seed": 2, "rate": 0.1}, "fingerprint, seed"),
    ):
        with pytest.raises(
            ValueError, match=f"of a run with another {names}: remove it, or ask for the same"
        ):
            resumed(trainer(), path, other)


def test_points_in_another_form_are_refused(trainer, tmp_path):
    """Where one machine keeps frames and another points, nothing is mixed up."""
    path, run = tmp_path / "checkpoint", trainer(movement="geodesic")
    state = run.state
    tensors = state.pop("tensors")
    checkpoint.save(path, {**state, "identity": {}}, tensors)
    with pytest.raises(ValueError, match="keeps points in another form"):
        resumed(trainer(), path, {})
