"""Graph files by their suffix; every problem names the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .graph import Graph

TEXT = (".tsv", ".csv", ".txt", ".edges")
SUFFIXES = (*TEXT, ".graphml", ".mtx", ".npz", ".npy")


def stem(path: Path) -> str:
    """The file's name without .gz and the suffix before it."""
    name = path.name.removesuffix(".gz")
    known = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(known)] or name


def read_file(path: Path) -> Graph:
    """The graph in a file."""
    import gzip

    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    table = np.loadtxt(raw.decode().splitlines(), ndmin=2)
    from .objects import from_array

    return from_array(stem(path), table)
