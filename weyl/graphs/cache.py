"""Distances on disk, found by what they are of: a graph's content, the sources, the dtype.

A file holds the sha256 of its key and rows, then the rows. It is written whole or not at all; one that does not fit its
digest counts as missing. Whatever goes wrong with the folder, distances are computed as if there were none.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from .graph import Graph

VARIABLE = "WEYL_CACHE"  # a folder, or one of OFF
OFF = ("off", "no", "false", "0")
FORMAT = 1  # raised when the same key would stand for other rows
SLOW_SECONDS = 0.5  # what takes less is not kept
LARGEST_BYTES = 2 << 30  # of all files together; those used longest ago go first
ABANDONED_SECONDS = 3600  # after that long, a file still being written is not
DIGEST_BYTES = 32
SUFFIX, PART = ".distances", ".part"


def folder() -> Path | None:
    """Where the cache lies, None where it is switched off or there is no home."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in OFF:
        return None
    try:
        if chosen:
            return Path(chosen).expanduser()
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "weyl"
    except RuntimeError:  # no home
        return None


def key(graph: Graph, sources: np.ndarray, dtype: np.dtype) -> str:
    """What the rows depend on, in hexadecimal digits."""
    digest = hashlib.sha256(f"{FORMAT} {graph.fingerprint} {dtype.str} {len(sources)}\n".encode())
    digest.update(sources.astype("<i8").tobytes())
    return digest.hexdigest()


def load(name: str, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray | None:
    """The rows kept under a key, None where there are none, or damaged ones."""
    where = folder()
    if where is None:
        return None
    try:
        with open(where / (name + SUFFIX), "rb") as file:
            if os.fstat(file.fileno()).st_size != DIGEST_BYTES + shape[0] * shape[1] * dtype.itemsize:
                return None
            digest = file.read(DIGEST_BYTES)
            rows = np.fromfile(file, dtype).reshape(shape)
    except (OSError, ValueError):
        return None
    if digest != _digest(name, rows):
        return None
    with suppress(OSError):
        os.utime(where / (name + SUFFIX))  # used just now
    return rows


def store(name: str, rows: np.ndarray) -> None:
    """Keeps rows under a key, where that is possible."""
    where, size = folder(), DIGEST_BYTES + rows.nbytes
    if where is None or size > LARGEST_BYTES:
        return
    part = ""
    try:
        where.mkdir(parents=True, exist_ok=True)
        _make_room(where, size)
        handle, part = tempfile.mkstemp(PART, dir=where)
        with open(handle, "wb") as file:
            file.write(_digest(name, rows))
            file.write(_bytes(rows))
        os.replace(part, where / (name + SUFFIX))
    except (OSError, ValueError):  # read-only, full, not a folder: the cache is no reason to fail
        pass
    finally:
        if part:
            with suppress(OSError):
                os.unlink(part)


def _make_room(where: Path, size: int) -> None:
    """Deletes abandoned files, then those used longest ago, until `size` more bytes fit."""
    found = []
    for path in where.iterdir():
        with suppress(OSError):
            status = path.stat()
            if path.suffix == SUFFIX:
                found.append((status.st_mtime, status.st_size, path))
            elif path.suffix == PART and time.time() - status.st_mtime > ABANDONED_SECONDS:
                path.unlink()
    total = sum(bytes_ for _, bytes_, _ in found)
    for _, bytes_, path in sorted(found):
        if total + size <= LARGEST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        total -= bytes_


def _digest(name: str, rows: np.ndarray) -> bytes:
    digest = hashlib.sha256(name.encode())
    digest.update(_bytes(rows))
    return digest.digest()


def _bytes(rows: np.ndarray) -> memoryview:
    return rows.reshape(-1).view(np.uint8).data
