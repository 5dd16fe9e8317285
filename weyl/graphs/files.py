"""Graph files by their suffix, packed by gzip or not; every problem names the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .edge_list import from_text
from .graph import Graph
from .lines import whole_numbers
from .matrix_market import BEGINNING, from_matrix_market
from .objects import from_array, from_distances, from_networkx, from_pairs, from_sparse

TEXT = (".tsv", ".csv", ".txt", ".edges")
GZIP = b"\x1f\x8b"  # how such files begin


def stem(path: Path) -> str:
    """The file's name without .gz and the suffix before it."""
    name = path.name.removesuffix(".gz")
    suffix = _suffix(path)
    return name[: len(name) - len(suffix)] or name


def read_file(path: Path) -> Graph:
    """The graph in a file; a suffix that is not known stands for text."""
    name = stem(path)
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder: name a file with a graph", str(path))
    data = path.read_bytes()
    try:
        data = _unpacked(data)
        reader = from_matrix_market if data.startswith(BEGINNING) else READERS.get(_suffix(path), from_text)
        return reader(name, data)
    except ValueError as problem:
        raise ValueError(f"{path}: {str(problem).removeprefix(f'{name}: ')}") from None


def _suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(GZIP):
        return data
    try:
        return gzip.decompress(data)
    except EOFError:
        raise ValueError("its gzip data end too early: the file was cut off") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"its gzip data are damaged: {error}") from None


# ── formats: name of the graph, bytes of the file ────────────────────────────────────────────────────────────────────
def from_graphml(name: str, data: bytes) -> Graph:
    """GraphML. Where ids were made by a program (n0, n1, …) and nodes have labels, these name the nodes."""
    import networkx

    source = _parsed("GraphML", networkx.read_graphml, data)
    notes: tuple[str, ...] = ()
    ids = [str(node) for node in source]
    names: list[Any] = ids
    if whole_numbers([node.removeprefix("n") for node in ids]) is not None:
        for key in ("label", "name"):
            labels = [value for _, value in source.nodes(data=key)]
            if None not in labels and "" not in labels and len(set(labels)) == len(labels):
                names, notes = labels, (f"nodes are named by their {key}",)
                break
    numbers = whole_numbers(names) if names is ids else None
    names = names if numbers is None else numbers.tolist()
    renamed = networkx.relabel_nodes(source, dict(zip(source, names, strict=True)))
    return from_networkx(name, renamed, notes=notes)


def from_numpy(name: str, data: bytes) -> Graph:
    """One array, of edges or distances; or named ones: edges, weights, nodes; distances, nodes; a sparse matrix."""
    arrays = _parsed("arrays of numpy", _arrays, data)
    if isinstance(arrays, np.ndarray):
        return from_array(name, arrays)
    nodes = arrays["nodes"].tolist() if "nodes" in arrays else None
    if "edges" in arrays:
        edges, weights = arrays["edges"], arrays.get("weights")
        return from_array(name, edges, nodes) if weights is None else from_pairs(name, edges, weights, nodes)
    if "distances" in arrays:
        return from_distances(name, arrays["distances"], nodes)
    if "format" in arrays:
        return from_sparse(name, _parsed("a sparse matrix", _sparse_matrix, data))
    raise ValueError(
        f"holds {', '.join(arrays) or 'nothing'}: expected edges (weights, nodes), distances (nodes), or what "
        "scipy.sparse.save_npz writes"
    )


def _arrays(file: BytesIO) -> np.ndarray | dict[str, np.ndarray]:
    loaded = np.load(file, allow_pickle=False)
    return loaded if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}


def _sparse_matrix(file: BytesIO) -> Any:
    from scipy.sparse import load_npz

    matrix = load_npz(file)
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # indices out of range would lead out of memory that is ours
    return matrix


def _parsed(what: str, parse: Callable[[BytesIO], Any], data: bytes) -> Any:
    """What another library reads; whatever it trips over (damaged bytes lead anywhere) is said in one line."""
    try:
        return parse(BytesIO(data))
    except Exception as problem:
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise ValueError(f"cannot be read as {what}: {reason}") from problem


READERS: dict[str, Callable[[str, bytes], Graph]] = {
    ".graphml": from_graphml, ".mtx": from_matrix_market, ".npz": from_numpy, ".npy": from_numpy,
}  # fmt: skip
SUFFIXES = (*TEXT, *READERS)
