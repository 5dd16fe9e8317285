"""Graph files by their suffix, packed by gzip or not; every problem names the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .edge_list import from_text
from .graph import Graph
from .lines import whole_numbers
from .objects import from_array, from_distances, from_networkx, from_pairs, from_sparse

TEXT = (".tsv", ".csv", ".txt", ".edges")
GZIP, MATRIX_MARKET = b"\x1f\x8b", b"%%MatrixMarket"  # how such files begin


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
        reader = (
            from_matrix_market if data.startswith(MATRIX_MARKET) else READERS.get(_suffix(path), from_text)
        )
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
    from xml.etree.ElementTree import ParseError

    import networkx

    try:
        source = networkx.read_graphml(BytesIO(data))
    except ParseError as error:
        raise ValueError(f"line {error.position[0]}: no well-formed XML") from None
    except (networkx.NetworkXException, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"cannot be read as GraphML: {error}") from None
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
    return from_networkx(
        name, networkx.relabel_nodes(source, dict(zip(source, names, strict=True))), notes=notes
    )


def from_matrix_market(name: str, data: bytes) -> Graph:
    """A sparse matrix of lengths, or a dense one of distances."""
    from scipy.io import mmread

    try:
        matrix = mmread(BytesIO(data))
    except (ValueError, OverflowError, TypeError, OSError) as error:
        raise ValueError(f"cannot be read as Matrix Market: {error}") from None
    return from_distances(name, matrix) if isinstance(matrix, np.ndarray) else from_sparse(name, matrix)


def from_numpy(name: str, data: bytes) -> Graph:
    """One array, of edges or distances; or named ones: edges, weights, nodes; distances, nodes; a sparse matrix."""
    try:
        loaded = np.load(BytesIO(data), allow_pickle=False)
        arrays = None if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
    except (ValueError, EOFError, OSError, KeyError, BadZipFile, zlib.error, NotImplementedError):
        raise ValueError("no array of numpy, damaged, or one of Python objects") from None
    if arrays is None:
        return from_array(name, loaded)
    nodes = arrays["nodes"].tolist() if "nodes" in arrays else None
    if "edges" in arrays:
        edges, weights = arrays["edges"], arrays.get("weights")
        return from_array(name, edges, nodes) if weights is None else from_pairs(name, edges, weights, nodes)
    if "distances" in arrays:
        return from_distances(name, arrays["distances"], nodes)
    if "format" in arrays:
        from scipy.sparse import load_npz

        try:
            return from_sparse(name, load_npz(BytesIO(data)))
        except (KeyError, NotImplementedError) as error:
            raise ValueError(f"cannot be read as a sparse matrix: {error}") from None
    raise ValueError(
        f"holds {', '.join(arrays) or 'nothing'}: expected edges (weights, nodes), distances (nodes), or what "
        "scipy.sparse.save_npz writes"
    )


READERS: dict[str, Callable[[str, bytes], Graph]] = {
    ".graphml": from_graphml, ".mtx": from_matrix_market, ".npz": from_numpy, ".npy": from_numpy,
}  # fmt: skip
SUFFIXES = (*TEXT, *READERS)
