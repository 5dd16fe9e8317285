"""Rows of distances: from some source nodes to all, in the embedding and in the graph, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.kernels.dispatch import PairKernel, blocks

PAIRS = {"cpu": 1 << 18, "cuda": 1 << 23}  # of a block: on a CPU its rows nearly stay in the cache of a core


class Rows(NamedTuple):
    """Distances of b sources to n nodes; infinite, in both, where there is no pair."""

    d: Tensor  # (b, n) in the embedding, graph units, float64
    g: Tensor  # (b, n) in the graph
    pairs: Tensor  # (b, n) whether a path leads from the source to another node
    neighbours: Tensor  # (b, k) columns of the graph neighbours; the first `degrees` of a row count
    degrees: Tensor  # (b,)

    @property
    def real(self) -> Tensor:
        """Which of the k neighbours of a row are there: (b, k)."""
        return torch.arange(self.neighbours.shape[1], device=self.d.device) < self.degrees.unsqueeze(1)


@dataclass(frozen=True)
class Alignment:
    """The nodes that graph and embedding share: their indices in the graph, their rows in the embedding."""

    nodes: np.ndarray
    rows: np.ndarray
    edges: np.ndarray  # (m, 2) places among the shared nodes

    @classmethod
    def of(cls, embedding: Embedding, graph: Any) -> Alignment:
        row = np.array([embedding.row(name) if name in embedding else -1 for name in graph.nodes], dtype=int)
        nodes = np.flatnonzero(row >= 0)
        if not len(nodes):
            first = f"{graph.nodes[0]!r} and {embedding.nodes[0]!r}"
            raise ValueError(f"graph and embedding share no node: their first ones are {first}")
        place = np.full(len(row), -1)
        place[nodes] = np.arange(len(nodes))
        edges = place[np.asarray(graph.edges).reshape(-1, 2)]
        return cls(nodes, row[nodes], edges[(edges >= 0).all(1)])

    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Neighbours of node i: indices[starts[i] : starts[i + 1]]."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        starts = np.searchsorted(ends[:, 0], np.arange(len(self.nodes) + 1))
        return starts, ends[:, 1].copy()


def measured_rows(
    embedding: Embedding,
    kernel: PairKernel,
    alignment: Alignment,
    sources: np.ndarray,
    goals: np.ndarray,
    goal_rows: np.ndarray,
) -> Iterator[Rows]:
    """Rows of some sources (places among the shared nodes); goals[goal_rows] are theirs, to all nodes of the graph."""
    records = embedding.records
    device, n = records.device, len(alignment.nodes)
    columns = torch.from_numpy(alignment.rows).to(device)
    starts, indices = alignment.neighbours()
    everyone = n == goals.shape[1]
    for block in blocks(len(sources), max(1, PAIRS.get(device.type, PAIRS["cpu"]) // n)):
        some = sources[block]
        at = torch.from_numpy(some).to(device)
        first, second = columns[at].repeat_interleave(n), columns.repeat(len(some))
        d = kernel.forward(records, first, second).distances.reshape(len(some), n) * embedding.scale
        wanted = goals[goal_rows[block]]
        g, pairs = (x.to(device) for x in _goals(wanted if everyone else wanted[:, alignment.nodes]))
        d.masked_fill_(~pairs, torch.inf)
        degrees = starts[some + 1] - starts[some]
        slots = np.minimum(np.arange(max(1, degrees.max(initial=0))), np.maximum(degrees - 1, 0)[:, None])
        padded = indices.take(starts[some][:, None] + slots, mode="clip") if len(indices) else 0 * slots
        yield Rows(d, g, pairs, torch.from_numpy(padded).to(device), torch.from_numpy(degrees).to(device))


def _goals(rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """Graph distances in float64, infinite where there is no pair, and where there is one."""
    top = np.iinfo(rows.dtype).max if rows.dtype.kind == "u" else np.inf  # what says: no path
    pairs = torch.from_numpy((rows > 0) & (rows < top))
    return torch.from_numpy(rows.astype(np.float64)).masked_fill_(~pairs, torch.inf), pairs
