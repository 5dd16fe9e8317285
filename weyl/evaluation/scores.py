"""evaluate: one pass over the rows of distances, all scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.threads import one_torch_thread
from weyl.scores import Scores

from .average_precision import average_precisions, neighbour_ranks
from .distortion import Distortion
from .ranking import precisions_at, rank_correlations, sorting_order
from .rows import Alignment, Rows, measured_rows
from .sampling import chosen_sources, interval

if TYPE_CHECKING:
    from weyl.graphs import Distances


def evaluate(
    embedding: Embedding, graph: Any, distances: Distances | None = None, *, seed: int = 0
) -> Scores:
    """How well an embedding keeps a graph, over the nodes they share; in float64, where the points lie.

    Exact up to 10,000 nodes; beyond, and where `distances` are those of some sources only, from sampled sources with
    95 % intervals. `graph` is whatever `weyl.graph` takes; `distances` spare computing them again.
    """
    from weyl.graphs import graph as make_graph
    from weyl.graphs import graph_distances

    made = make_graph(graph)
    if distances is not None and distances.n != len(made):
        raise ValueError(
            f"evaluate: distances of {distances.n:,} nodes do not belong to a graph of {len(made):,}"
        )
    shared = Alignment.of(embedding, made)
    candidates = shared.nodes if distances is None else np.intersect1d(shared.nodes, distances.sources)
    sources = chosen_sources(candidates, len(shared.nodes), seed)
    if not len(sources):
        raise ValueError("evaluate: no source of the distances is a node of the embedding")
    if distances is None:
        every = len(sources) == len(made.nodes)
        distances = graph_distances(made) if every else graph_distances(made, sources=sources)
    kernel = PairKernel(
        embedding.space, embedding.norm, torch.float64, embedding.points.device, torch.get_num_threads()
    )
    tally, places = Tally(), np.searchsorted(shared.nodes, sources)
    goal_rows = np.searchsorted(distances.sources, sources)
    with one_torch_thread():
        for rows in measured_rows(embedding, kernel, shared, places, distances.rows, goal_rows):
            tally.add(rows)
    if not tally.distortion.pairs:
        raise ValueError("evaluate: no path joins two of the nodes that graph and embedding share")
    return tally.scores(len(shared.nodes), len(shared.edges), len(sources), _says_all(made))


def _says_all(graph: Any) -> bool:
    """Whether a weighted graph has an edge for every pair with a path: then no order of the nodes is wrong."""
    size = np.bincount(graph.components)
    return graph.weights is not None and len(graph.edges) == int((size * (size - 1) // 2).sum())


class Tally:
    """What the blocks of rows have shown so far: distortion, and one value a source of every mean."""

    def __init__(self) -> None:
        self.distortion = Distortion()
        self.precisions: list[Tensor] = []
        self.precisions_by_order: list[Tensor] = []
        self.hits: list[Tensor] = []
        self.correlations: list[Tensor] = []
        self.neighbours = self.tied = 0

    def add(self, rows: Rows) -> None:
        self.distortion.add(rows)
        order = sorting_order(rows.d)
        found = neighbour_ranks(rows, order)
        self.precisions.append(average_precisions(found.against, found).cpu())
        self.precisions_by_order.append(average_precisions(found.by_order, found).cpu())
        self.hits.append(precisions_at(10, found).cpu())
        self.correlations.append(rank_correlations(rows, order).cpu())
        self.neighbours += int(found.real.sum())
        self.tied += int(found.tied.sum())

    def scores(self, nodes: int, edges: int, sources: int, says_all: bool) -> Scores:
        """All scores; those of neighbours are None where the graph has no edge, or nothing but edges."""
        ranked, sampled = self.neighbours > 0 and not says_all, sources < nodes
        precisions = torch.cat(self.precisions)
        intervals = {
            "average_distortion": interval(self.distortion.shares(), sources / nodes),
            "worst_distortion": (self.distortion.worst, math.inf),
            **({"mean_average_precision": interval(precisions, sources / nodes, 1)} if ranked else {}),
        }
        return Scores(
            average_distortion=self.distortion.average,
            worst_distortion=self.distortion.worst,
            mean_average_precision=float(precisions.mean()) if ranked else None,
            sampled=sampled,
            nodes=nodes,
            edges=edges,
            pairs=self.distortion.pairs if sampled else self.distortion.pairs // 2,
            sources=sources,
            mean_average_precision_by_sort_order=_mean(self.precisions_by_order) if ranked else None,
            tie_share=self.tied / self.neighbours if ranked else None,
            precision_at_10=_mean(self.hits) if ranked else None,
            rank_correlation=_mean(self.correlations),
            intervals=intervals if sampled else {},
        )


def _mean(pieces: list[Tensor]) -> float | None:
    values = torch.cat(pieces)
    return float(values.mean()) if len(values) else None


def summary(embedding: Embedding, scores: Scores) -> dict[str, Any]:
    """What `embed --json` and `evaluate --json` print: the embedding, its training, its scores, as plain values."""
    training: Callable[[str], Any] = embedding.training.get
    return {
        "graph": embedding.graph,
        "space": embedding.space.name,
        "metric": embedding.metric,
        "parameters": embedding.space.dim,
        **scores.to_json(),
        "scale": embedding.scale,
        "seconds": training("seconds"),
        "epochs": training("epochs"),
        "pairs_seen": training("pairs_seen"),
        "seed": embedding.seed,
        "device": embedding.points.device.type,
        "dtype": str(embedding.points.dtype).removeprefix("torch."),
        "version": embedding.versions.get("weyl"),
    }
