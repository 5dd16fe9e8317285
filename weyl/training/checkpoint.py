"""A run's state in one file, written whole or not at all: tensors by name, and plain numbers beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from torch import Tensor

from weyl import storage

FORMAT = 1


def save(path: str | os.PathLike, plain: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Writes the state of a run."""
    from safetensors.torch import save as as_bytes

    record = json.dumps({"format": FORMAT, **plain})
    on_cpu = {name: x.detach().cpu().contiguous().clone() for name, x in tensors.items()}
    storage.write_whole(path, as_bytes(on_cpu, {"weyl-checkpoint": record}))


def load(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `save` has written; ValueError with the reason where the file is something else."""
    from safetensors import SafetensorError, safe_open

    data = Path(path)
    try:
        with safe_open(str(data), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        plain = json.loads(metadata["weyl-checkpoint"])
        written = plain.pop("format")
    except (SafetensorError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path}: no checkpoint of weyl, or a damaged one: remove it to start anew"
        ) from error
    if written != FORMAT:
        raise ValueError(
            f"{path}: a checkpoint of format {written}, this weyl reads {FORMAT}: remove it to start anew"
        )
    return plain, tensors
