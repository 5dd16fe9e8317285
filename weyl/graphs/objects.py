"""Graphs from what other libraries hold: networkx, scipy.sparse, PyTorch Geometric, numpy."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .graph import Graph
from .tidy import check_weights, tidy


def from_object(source: Any) -> Graph:
    """The graph that an object holds; the name says where it came from."""
    kind = type(source).__module__.split(".")[0]
    if hasattr(source, "is_directed") and hasattr(source, "adj"):
        return from_networkx(str(getattr(source, "name", "")) or "graph", source)
    if kind == "scipy" and hasattr(source, "tocoo"):
        return from_sparse("graph", source)
    if hasattr(source, "edge_index"):
        return from_edge_index(
            "graph",
            source.edge_index,
            getattr(source, "edge_weight", None),
            getattr(source, "num_nodes", None),
        )
    if isinstance(source, np.ndarray | list | tuple) or kind == "torch":
        return from_array("graph", _array(source))
    raise ValueError(
        f"cannot read a graph from {type(source).__name__}: expected an expression, a path, a networkx graph, "
        "a scipy.sparse matrix, PyG data, or an array of edges"
    )


def from_networkx(name: str, source: Any, weight: str | None = "weight", notes: Sequence[str] = ()) -> Graph:
    """Nodes and edges of a networkx graph; the attribute `weight` of an edge is its length."""
    nodes = list(source.nodes)
    row = {node: index for index, node in enumerate(nodes)}
    edges = list(source.edges(data=weight, default=None)) if weight else list(source.edges())
    pairs = np.array([(row[edge[0]], row[edge[1]]) for edge in edges], np.int64).reshape(-1, 2)
    found, weights = list(notes), None
    values = [edge[2] for edge in edges] if weight else []
    missing = sum(value is None for value in values)
    if missing < len(values):
        try:
            weights = np.array([1.0 if value is None else float(value) for value in values])
        except (TypeError, ValueError):
            raise ValueError(f"{name}: edges carry a {weight!r} that is not a number") from None
        if missing:
            found.append(f"{missing:,} edges without a weight got weight 1")
        check_weights(weights, lambda k: f"{name}: edge {edges[k][:2]}")
    return tidy(name, nodes, pairs[:, 0], pairs[:, 1], weights, found)


def from_sparse(name: str, matrix: Any, nodes: Sequence[Hashable] | None = None) -> Graph:
    """A square adjacency matrix; its entries are lengths."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: an adjacency matrix is square, this one is {_shape(matrix)}")
    found = matrix.tocoo()
    i, j = (axis.astype(np.int64) for axis in (found.row, found.col))
    stored, notes = found.data, []
    if np.iscomplexobj(stored):
        raise ValueError(f"{name}: complex entries: weights are lengths, positive and finite")
    weights = stored.astype(np.float64)
    if (weights == 0).any():
        notes.append(f"dropped {int((weights == 0).sum()):,} stored zeros")
        i, j, weights = i[weights != 0], j[weights != 0], weights[weights != 0]
    check_weights(weights, lambda k: f"{name}: entry ({i[k]}, {j[k]})")
    if (i < j).any() and (
        i > j
    ).any():  # a symmetric matrix lists every edge twice: no repetition worth a note
        difference = matrix.tocsr().astype(np.float64)
        if abs(difference - difference.T).max() == 0:
            keep = i <= j
            i, j, weights = i[keep], j[keep], weights[keep]
    return tidy(name, range(matrix.shape[0]) if nodes is None else nodes, i, j, weights, notes)


def from_edge_index(name: str, edge_index: Any, weight: Any = None, count: Any = None) -> Graph:
    """Edges as an array (2, m) of rows, the custom of PyTorch Geometric, where an edge stands in both directions."""
    index = _array(edge_index)
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: edge_index is an array (2, m) of whole numbers, got {_shape(index)} {index.dtype}"
        )
    index = index.astype(np.int64)
    n = int(count) if count is not None else int(index.max(initial=-1)) + 1
    if index.size and (index.min() < 0 or index.max() >= n):
        raise ValueError(
            f"{name}: edge_index names node {index.min() if index.min() < 0 else index.max()} of {n}"
        )
    weights = None if weight is None else _array(weight).astype(np.float64).reshape(-1)
    if weights is not None and len(weights) != index.shape[1]:
        raise ValueError(f"{name}: {len(weights)} weights for {index.shape[1]} edges")
    i, j = index
    if weights is not None:
        check_weights(weights, lambda k: f"{name}: edge {k} ({i[k]}, {j[k]})")
    forward = i < j
    one_way = np.sort(i[forward] * n + j[forward]), np.sort(j[~forward] * n + i[~forward])
    if weights is None and np.array_equal(*one_way):  # every edge in both directions
        i, j = i[forward], j[forward]
    return tidy(name, range(n), i, j, weights)


def from_array(name: str, array: np.ndarray, nodes: Sequence[Hashable] | None = None) -> Graph:
    """Edges (m, 2), edges with weights (m, 3), or a square matrix of distances."""
    if (
        array.ndim == 2
        and array.shape[0] == array.shape[1]
        and array.shape[0] > 1
        and array.dtype.kind in "iuf"
    ):
        pairs_of_two = array.shape[0] == 2 and array.dtype.kind in "iu"
        if not pairs_of_two and (array.shape[0] > 3 or not array.diagonal().any()):
            return from_distances(name, array, nodes)
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise ValueError(
            f"{name}: expected edges (m, 2) or (m, 3), or a square matrix of distances, got an array {_shape(array)}"
        )
    return from_pairs(name, array[:, :2], array[:, 2] if array.shape[1] == 3 else None, nodes)


def from_pairs(
    name: str, ends: np.ndarray, weights: np.ndarray | None = None, nodes: Sequence[Hashable] | None = None
) -> Graph:
    """Edges (m, 2) between nodes by their names, or by their rows where `nodes` names them all."""
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"{name}: expected edges (m, 2), got an array {_shape(ends)}")
    if ends.dtype.kind == "f":
        if not (np.isfinite(ends).all() and (ends == np.rint(ends)).all()):
            raise ValueError(f"{name}: node numbers must be whole")
        ends = ends.astype(np.int64)
    if weights is not None:
        if weights.shape != (len(ends),):
            raise ValueError(f"{name}: weights {_shape(weights)} for {len(ends)} edges: expected one an edge")
        try:
            weights = weights.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: a weight is not a number") from None
        check_weights(weights, lambda k: f"{name}: edge {k} ({ends[k, 0]}, {ends[k, 1]})")
    if nodes is not None:
        if ends.dtype.kind not in "iu" or (ends.size and not 0 <= ends.min() <= ends.max() < len(nodes)):
            raise ValueError(
                f"{name}: edges must be pairs of rows from 0 to {len(nodes) - 1}, as nodes are given"
            )
        first, second = ends.astype(np.int64).T
        return tidy(name, nodes, first, second, weights)
    names, row = np.unique(
        ends.ravel() if ends.dtype != object else ends.ravel().astype(str), return_inverse=True
    )
    if names.dtype.kind not in "iu":  # names keep the order in which they come
        _, start = np.unique(row, return_index=True)
        order = np.argsort(start)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        names, row = names[order], rank[row]
    first, second = row.reshape(-1, 2).T
    return tidy(name, names.tolist(), first, second, weights)


def from_distances(name: str, matrix: np.ndarray, nodes: Sequence[Hashable] | None = None) -> Graph:
    """A square matrix of distances: they are taken as they are; infinite ones do not exist."""
    n = len(matrix)
    if matrix.shape != (n, n) or matrix.dtype.kind not in "iuf":
        raise ValueError(
            f"{name}: a distance matrix is square, of real numbers; got {_shape(matrix)} of {matrix.dtype}"
        )
    if n < 2:
        raise ValueError(
            f"{name}: a distance matrix of {n} node{'s' * (n != 1)}: an embedding needs at least two"
        )
    if nodes is not None and len(nodes) != n:
        raise ValueError(f"{name}: {len(nodes)} names for {n} nodes")
    distances = matrix.astype(np.float64)
    if distances.diagonal().any():
        k = int(np.flatnonzero(distances.diagonal())[0])
        raise ValueError(f"{name}: the distance of node {k} from itself is {distances[k, k]:g}, expected 0")
    rounding = 1e-6 if matrix.dtype.itemsize < 8 else 1e-12
    with np.errstate(invalid="ignore"):
        uneven = abs(distances - distances.T) > rounding * abs(distances)
    uneven |= np.isinf(distances) != np.isinf(distances.T)
    if uneven.any():
        i, j = np.argwhere(uneven)[0]
        raise ValueError(
            f"{name}: not symmetric, entry ({i}, {j}) is {distances[i, j]:g} and ({j}, {i}) is {distances[j, i]:g}"
        )
    i, j = np.nonzero(np.triu(distances != np.inf, 1))
    lengths = distances[i, j]
    check_weights(lengths, lambda k: f"{name}: entry ({i[k]}, {j[k]})")
    graph = tidy(name, range(n) if nodes is None else nodes, i, j, lengths, given=True)
    size = np.bincount(graph.components)
    missing = int((size * (size - 1) // 2).sum()) - len(i)
    if not missing:
        return graph
    return tidy(name, graph.nodes, i, j, lengths, [f"filled {missing:,} missing distances by shortest paths"])


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):  # a tensor, on whatever device
        values = values.detach().cpu().numpy()
    array = np.asarray(values)
    if array.dtype == object:
        raise ValueError("an array of edges needs rows of one length, all names or all numbers")
    return array


def _shape(array: Any) -> str:
    return "(" + ", ".join(map(str, array.shape)) + ")"
