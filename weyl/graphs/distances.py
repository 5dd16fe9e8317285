"""Shortest-path distances: of all pairs where they fit into memory, else from a random sample of sources."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from . import cache as disk
from . import native
from .graph import Graph
from .graph import graph as make_graph

LIMIT_BYTES = 1 << 30  # all pairs of 32,000 nodes at one byte each
SAMPLE_SHARE = (
    4  # beyond the limit, rows fill a quarter of it: a thousand sources of a hundred thousand nodes
)
LONGEST = np.iinfo(np.uint16).max - 1  # steps
NATIVE_SOURCES = 512  # searched at once by one thread, see native/breadth_first.hpp
SCIPY_SOURCES = 64
BLOCK_BYTES = 1 << 26  # of rows filled between two looks at the keyboard


@dataclass(frozen=True, eq=False, repr=False)
class Distances:
    """Rows of distances from some nodes to all; the largest integer, or infinity, where there is no path."""

    sources: np.ndarray  # (s,) int64, sorted
    rows: np.ndarray  # (s, n) uint8, uint16, float32 or float64
    components: np.ndarray  # (n,) int64: nodes with the same number are connected

    def __post_init__(self):
        s, n = len(self.sources), len(self.components)
        if self.rows.shape != (s, n) or self.rows.dtype not in ("u1", "u2", "f4", "f8"):
            raise ValueError(f"distances: rows must be ({s}, {n}) of uint8, uint16, float32 or float64")

    def __repr__(self) -> str:
        which = "all" if self.exact else f"{len(self.sources):,} of"
        return f"<Distances from {which} {self.n:,} nodes, {self.rows.dtype}>"

    @property
    def n(self) -> int:
        return len(self.components)

    @property
    def exact(self) -> bool:
        """Whether every node is a source."""
        return len(self.sources) == self.n

    @property
    def unreachable(self) -> int | float:
        """What stands in rows for no path."""
        return unreachable(self.rows.dtype)

    @cached_property
    def connected_pairs(self) -> int:
        """How many pairs i < j have a known distance: one of them a source, both in one component."""
        size = np.bincount(self.components)
        known = np.bincount(self.components[self.sources], minlength=len(size))
        return int((known * (known - 1) // 2 + known * (size - known)).sum())

    def at(self, row: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Distances (float) of nodes from the sources of rows; infinite where there is no path."""
        return as_floats(self.rows[row, node])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        rows = as_floats(self.rows)
        return rows if dtype is None else rows.astype(dtype, copy=False)


def unreachable(dtype: np.dtype) -> int | float:
    """The value of a dtype that says: no path."""
    return int(np.iinfo(dtype).max) if dtype.kind == "u" else float("inf")


def as_floats(values: np.ndarray) -> np.ndarray:
    """Integer distances as float32, which holds them exactly; float ones as they are."""
    if values.dtype.kind == "f":
        return values
    return np.where(values == unreachable(values.dtype), np.float32("inf"), values.astype(np.float32))


def graph_distances(
    graph: Any,
    *,
    limit_bytes: int = LIMIT_BYTES,
    sources: Any = None,
    seed: int = 0,
    threads: int | None = None,
    cache: bool = True,
    data: str | PathLike | None = None,
) -> Distances:
    """Shortest-path distances of a graph, or of anything weyl.graph reads.

    All pairs where their rows fit into limit_bytes, else from as many random sources as fill a quarter of that.
    `sources` (node rows) asks for those alone. cache=False, or WEYL_CACHE=off, neither reads nor writes the disk.
    """
    made = make_graph(graph, data=data)
    if limit_bytes < 1:
        raise ValueError(f"limit_bytes must be positive, got {limit_bytes}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    dtype = _dtype(made, limit_bytes)
    chosen = _chosen(made, sources, limit_bytes, dtype, seed)
    return Distances(chosen, _kept_rows(made, chosen, dtype, threads, cache), made.components)


def _dtype(graph: Graph, limit_bytes: int) -> np.dtype:
    """The narrowest integers that can hold every number of steps; for lengths float64 where all pairs fit."""
    if graph.weights is None:
        return np.dtype(np.uint8 if _span(graph) < 255 else np.uint16)
    return np.dtype(np.float64 if 8 * len(graph) ** 2 <= limit_bytes else np.float32)


def _span(graph: Graph) -> int:
    """A bound on the diameter: twice the depth of a search from the first node of every component, at most 65534."""
    first = np.unique(graph.components, return_index=True)[1]
    depth = _steps_from(graph, first)
    if depth > LONGEST:
        raise ValueError(
            f"{graph.name}: a path of {depth:,} steps is longer than distances can be, {LONGEST:,}"
        )
    return 2 * depth


def _steps_from(graph: Graph, nodes: np.ndarray) -> int:
    """The number of steps after which a search from all the nodes together has seen the graph."""
    starts, targets = graph.adjacency.indptr, graph.adjacency.indices
    fresh = np.zeros(len(graph), bool)
    seen = fresh.copy()
    seen[nodes] = True
    depth = 0
    while True:
        counts = starts[nodes + 1] - starts[nodes]
        arcs = np.repeat(starts[nodes] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        near = targets[arcs]
        fresh[near[~seen[near]]] = True
        nodes = np.flatnonzero(fresh)
        if not len(nodes):
            return depth
        fresh[nodes], seen[nodes] = False, True
        depth += 1


def _chosen(graph: Graph, sources: Any, limit_bytes: int, dtype: np.dtype, seed: int) -> np.ndarray:
    n = len(graph)
    if sources is not None:
        given = np.asarray(sources)
        chosen = np.unique(given.astype(np.int64))
        if not len(chosen) or chosen[0] < 0 or chosen[-1] >= n or given.dtype.kind not in "iu":
            raise ValueError(f"sources must be node rows from 0 to {n - 1}, at least one")
        return chosen
    if n * n * dtype.itemsize <= limit_bytes:
        return np.arange(n)
    count = min(n, max(1, limit_bytes // SAMPLE_SHARE // (n * dtype.itemsize)))
    return np.sort(np.random.default_rng([seed, n]).choice(n, count, replace=False))


def _kept_rows(
    graph: Graph, sources: np.ndarray, dtype: np.dtype, threads: int | None, use_disk: bool
) -> np.ndarray:
    """Rows from the disk cache, or computed, and kept there where that took long."""
    if not use_disk or graph.given or disk.folder() is None:
        return _rows(graph, sources, dtype, threads)
    key = disk.key(graph, sources, dtype)
    rows = disk.load(key, (len(sources), len(graph)), dtype)
    if rows is None:
        start = time.perf_counter()
        rows = _rows(graph, sources, dtype, threads)
        if time.perf_counter() - start > disk.SLOW_SECONDS:
            disk.store(key, rows)
    return rows


def _rows(graph: Graph, sources: np.ndarray, dtype: np.dtype, threads: int | None) -> np.ndarray:
    if graph.given:
        return _given_rows(graph, sources, dtype)
    rows = np.empty((len(sources), len(graph)), dtype)
    compiled = native.extension()
    order = _neighbouring(graph, sources)
    count = native.thread_count(threads)
    size = max(count * NATIVE_SOURCES, BLOCK_BYTES // rows[0].nbytes) if compiled else SCIPY_SOURCES
    for first in range(0, len(order), size):  # in blocks, so that Ctrl-C is met
        block = order[first : first + size]
        if compiled is None:
            rows[block] = _scipy_rows(graph, sources[block], dtype)
        elif not native.fill_rows(compiled, graph.adjacency, sources, block, rows, count):
            raise ValueError(f"{graph.name}: a path is longer than {LONGEST:,} steps")
    if graph.weights is not None:
        _symmetrise(rows, sources)
    return rows


def _neighbouring(graph: Graph, sources: np.ndarray) -> np.ndarray:
    """The sources in an order in which near ones come together: their searches then walk through the same nodes."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    place = np.empty(len(graph), np.int64)
    place[reverse_cuthill_mckee(graph.adjacency, symmetric_mode=True)] = np.arange(len(graph))
    return np.argsort(place[sources])


def _symmetrise(rows: np.ndarray, sources: np.ndarray) -> None:
    """The smaller of d(i, j) and d(j, i): sums along a path differ in their last digit with the end they start from."""
    size = 1024
    all_nodes = len(sources) == rows.shape[1]
    blocks = [slice(a, a + size) for a in range(0, len(rows), size)]
    columns = [block if all_nodes else sources[block] for block in blocks]
    for a, block in enumerate(blocks):
        for b in range(a, len(blocks)):
            least = np.minimum(rows[block, columns[b]], rows[blocks[b], columns[a]].T)
            rows[block, columns[b]], rows[blocks[b], columns[a]] = least, least.T


def _given_rows(graph: Graph, sources: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The weights themselves, in their places."""
    row = np.full(len(graph), -1)
    row[sources] = np.arange(len(sources))
    rows = np.full((len(sources), len(graph)), np.inf, dtype)
    rows[np.arange(len(sources)), sources] = 0
    for a, b in (graph.edges.T, graph.edges.T[::-1]):
        known = row[a] >= 0
        rows[row[a[known]], b[known]] = graph.weights[known]  # type: ignore[index]
    return rows


def _scipy_rows(graph: Graph, sources: np.ndarray, dtype: np.dtype) -> np.ndarray:
    from scipy.sparse.csgraph import dijkstra

    found = dijkstra(graph.adjacency, directed=False, unweighted=graph.weights is None, indices=sources)
    if dtype.kind == "u":
        beyond = np.isinf(found)
        found[beyond] = 0
        if found.max() > LONGEST:
            raise ValueError(f"{graph.name}: a path is longer than {LONGEST:,} steps")
        found[beyond] = unreachable(dtype)
    return found.astype(dtype)
