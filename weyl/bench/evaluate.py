"""The whole of `weyl evaluate` timed: distances of all pairs, distortion, average precision and rank correlation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from weyl.embedding import Embedding
from weyl.evaluation.scores import evaluate
from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.graphs.distances import Distances, graph_distances
from weyl.graphs.graph import Graph
from weyl.graphs.graph import graph as make_graph
from weyl.training.starts import random_start

from .competitor import Competitor
from .geoopt_pairs import competitor
from .machine import described
from .timing import interleaved

THEIR_BATCH = 8192
THEIR_SOURCES = (
    20  # whose rows the other library is timed on: its time a row does not depend on how many there are
)


def run(
    graph: str,
    space: str,
    metric: str,
    against: bool,
    *,
    repeats: int = 3,
    seed: int = 0,
    data: str | None = None,
    show: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """A row for ours, and one for geoopt's distances with average precision node by node, as it is usually done."""
    made, source = make_space(space), make_graph(graph, data=data)
    if not isinstance(made, SymmetricSpace):
        raise ValueError(f"bench evaluate: {made} has no frames, which the pair kernels need")
    show("graph distances")
    begun = time.perf_counter()
    distances = graph_distances(source, cache=False)
    seconds = time.perf_counter() - begun
    points = random_start(made, distances.n, 1.0, seed)
    embedding = Embedding(made, metric, points, source.nodes)
    ways: list[Callable[[], Any]] = [lambda: evaluate(embedding, source, distances)]
    if against:
        rival = competitor(made, metric, points)
        ways.append(lambda: _row_by_row(rival, source, distances))
    show("evaluation")
    timings = interleaved(ways, repeats)
    about: dict[str, Any] = {"graph": source.name, "nodes": distances.n, "space": made.name, "metric": metric}
    about |= {"threads": torch.get_num_threads(), **described(torch.device("cpu"))}
    about |= {"graph_distances_seconds": seconds}
    looked = [distances.n, min(THEIR_SOURCES, distances.n)]
    rows = []
    for library, timing, sources in zip(("weyl", "geoopt"), timings, looked, strict=False):
        whole = timing.median * distances.n / sources
        rows.append(
            {**about, "library": library, "seconds": whole, "sources_timed": sources, "spread": timing.spread}
        )
        rows[-1]["pairs_per_second"] = distances.n * (distances.n - 1) / 2 / whole
        rows[-1]["ratio"] = whole / rows[0]["seconds"]
    return rows


@torch.no_grad()
def _row_by_row(rival: Competitor, source: Graph, distances: Distances) -> float:
    """Mean average precision and distortion of the first sources: sort each row, walk through the neighbours."""
    everyone, adjacency, total, precision = torch.arange(distances.n), source.adjacency, 0.0, 0.0
    for row in range(min(THEIR_SOURCES, distances.n)):
        others, source_row = everyone[everyone != row], torch.tensor([row])
        d = torch.cat([rival.distance(rival.points[source_row].expand(len(some), -1, -1), rival.points[some])
                       for some in others.split(THEIR_BATCH)]).flatten().numpy()  # fmt: skip
        goals = distances.at(np.full(len(others), row), others.numpy())
        total += float(np.abs(d / goals - 1)[np.isfinite(goals)].mean())
        ranked = others.numpy()[np.argsort(d)]
        neighbours = set(adjacency.indices[adjacency.indptr[row] : adjacency.indptr[row + 1]].tolist())
        hits = [place for place, node in enumerate(ranked.tolist()) if node in neighbours]
        precision += float(np.mean([(k + 1) / (place + 1) for k, place in enumerate(hits)])) if hits else 0.0
    return total + precision
