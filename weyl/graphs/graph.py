"""Graph: nodes with their names, undirected edges with their lengths, and what reading had to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph without loops or repeated edges; row i of every table belongs to nodes[i]."""

    name: str
    nodes: Sequence[Hashable]
    edges: np.ndarray  # (m, 2) int64, i < j, sorted
    weights: np.ndarray | None = None  # (m,) float64, positive and finite; None: every edge has length 1
    notes: tuple[str, ...] = ()  # what reading changed, one line each
    given: bool = False  # the weights are all the distances there are: no shortest paths to take

    def __post_init__(self):
        m, n = len(self.edges), len(self.nodes)
        if self.edges.shape != (m, 2) or self.edges.dtype != np.int64:
            raise ValueError(
                f"graph {self.name}: edges must be (m, 2) of int64; weyl.graph takes any edge array"
            )
        if not isinstance(self.nodes, range) and len(set(self.nodes)) != n:
            name = next(node for node, times in Counter(self.nodes).items() if times > 1)
            raise ValueError(f"{self.name}: two nodes have the name {name!r}")
        first, second = self.edges.T
        if m and not (int(first.min()) >= 0 and int(second.max()) < n and (first < second).all()):
            raise ValueError(f"graph {self.name}: edges must be pairs i < j of rows below {n}")
        if not (np.diff(first * n + second) > 0).all():
            raise ValueError(f"graph {self.name}: edges must be sorted, each once; weyl.graph sorts them")
        if self.weights is not None and (self.weights.shape != (m,) or self.weights.dtype != np.float64):
            raise ValueError(f"graph {self.name}: weights must be {m} numbers of float64, one an edge")

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"<Graph {self.name}: {len(self):,} nodes, {len(self.edges):,} edges{weighted}>"

    @cached_property
    def adjacency(self) -> csr_array:
        """The symmetric (n, n) matrix of edge lengths."""
        from scipy.sparse import coo_array

        i, j = self.edges.T
        lengths = np.ones(len(i)) if self.weights is None else self.weights
        both = np.concatenate([i, j]), np.concatenate([j, i])
        return coo_array((np.concatenate([lengths, lengths]), both), shape=(len(self), len(self))).tocsr()

    @cached_property
    def components(self) -> np.ndarray:
        """(n,) int64: the component of every node, 0 the largest; of equal ones the first comes first."""
        from scipy.sparse.csgraph import connected_components

        _, label = connected_components(self.adjacency, directed=False)
        _, start, size = np.unique(label, return_index=True, return_counts=True)
        rank = np.empty(len(size), np.int64)
        rank[np.lexsort((start, -size))] = np.arange(len(size))
        return rank[label]

    def largest_component(self) -> Graph:
        """The part of the graph that holds most nodes."""
        keep = self.components == 0
        if keep.all():
            return self
        row = np.cumsum(keep) - 1
        kept_edges = keep[self.edges[:, 0]]
        notes = [note for note in self.notes if note != components_note(self)]
        return replace(
            self,
            nodes=[name for name, kept in zip(self.nodes, keep, strict=True) if kept],
            edges=row[self.edges[kept_edges]],
            weights=None if self.weights is None else self.weights[kept_edges],
            notes=(*notes, f"kept the largest component: {keep.sum():,} of {len(self):,} nodes"),
        )

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of nodes, edges and weights, the same on every machine."""
        digest = sha256(f"weyl graph {len(self)} {self.given}\n".encode())
        if isinstance(self.nodes, range):
            digest.update(repr(self.nodes).encode())
        else:
            digest.update("\0".join(map(repr, self.nodes)).encode("utf-8", "backslashreplace"))
        digest.update(self.edges.astype("<i8").tobytes())
        digest.update(b"" if self.weights is None else self.weights.astype("<f8").tobytes())
        return digest.hexdigest()


def components_note(graph: Graph) -> str | None:
    """The line that says into what a graph falls, None where it is connected."""
    size = np.bincount(graph.components)
    if len(size) == 1:
        return None
    shown = ", ".join(f"{count:,}" for count in size[:4]) + (", …" if len(size) > 4 else "")
    return f"{len(size):,} components of {shown} nodes: pairs in different components have no distance and are left out"


def graph(source: Any, *, data: str | PathLike | None = None) -> Graph:
    """The graph that an expression such as "tree(3,5)", a file, or an object holds.

    Objects: networkx graphs, scipy.sparse matrices, PyTorch Geometric data, arrays of edges (m, 2) or (m, 3), square
    arrays of distances. Datasets are looked up in the folder `data`, or that of WEYL_DATA. Edges are undirected.
    """
    from .sources import read

    return read(source, data)
