"""A run's state in one file, written whole or not at all: tensors by name, and plain numbers beside them."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

from torch import Tensor

from weyl import storage

FORMAT = 1
ENTRY = "weyl-checkpoint"  # of the safetensors metadata


def save(path: str | os.PathLike, plain: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Writes the state of a run."""
    from safetensors.torch import save as as_bytes

    record = json.dumps({"format": FORMAT, **plain})
    on_cpu = {name: x.detach().cpu().contiguous().clone() for name, x in tensors.items()}
    storage.write_whole(path, as_bytes(on_cpu, {ENTRY: record, "sha256": _digest(record, on_cpu)}))


def load(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `save` has written; ValueError with the reason where the file is something else."""
    from safetensors import SafetensorError, safe_open

    open(path, "rb").close()  # a folder, or no right to read: said with its name
    try:
        with safe_open(os.fspath(path), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        plain = json.loads(metadata[ENTRY])
        written = plain.pop("format")
        if metadata["sha256"] != _digest(metadata[ENTRY], tensors):
            raise ValueError("its contents do not fit its digest")
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: no checkpoint of weyl, or a damaged one: remove it to start anew"
        ) from error
    if written != FORMAT:
        raise ValueError(
            f"{path}: a checkpoint of format {written}, this weyl reads {FORMAT}: remove it to start anew"
        )
    return plain, tensors


def _digest(record: str, tensors: dict[str, Tensor]) -> str:
    digest = sha256(record.encode())
    for name, x in sorted(tensors.items()):
        digest.update(f"{name} {x.dtype} {tuple(x.shape)}".encode())
        digest.update(x.contiguous().numpy().tobytes())
    return digest.hexdigest()
