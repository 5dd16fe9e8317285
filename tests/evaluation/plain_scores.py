"""Scores by definition: Python loops over dense matrices, one node at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import spearmanr

from weyl.embedding import Embedding

INF = math.inf


def embedded(embedding: Embedding, names: list) -> np.ndarray:
    """All distances of some nodes as geometry computes them, in graph units."""
    points = embedding.points[[embedding.nodes.index(name) for name in names]].double()
    d = embedding.space.distance(points[:, None], points[None], embedding.metric)
    return d.numpy() * embedding.scale


def shortest_paths(count: int, edges, weights=None) -> np.ndarray:
    """Floyd and Warshall."""
    g = np.full((count, count), INF)
    np.fill_diagonal(g, 0)
    for index, (i, j) in enumerate(edges):
        g[i, j] = g[j, i] = 1 if weights is None else weights[index]
    for k in range(count):
        g = np.minimum(g, g[:, k : k + 1] + g[k : k + 1])
    return g


def adjacency(count: int, edges) -> list[set]:
    neighbours = [set() for _ in range(count)]
    for i, j in edges:
        neighbours[i].add(j)
        neighbours[j].add(i)
    return neighbours


def candidates(g: np.ndarray, u: int) -> list[int]:
    """The nodes that a path joins to u."""
    return [v for v in range(len(g)) if v != u and g[u, v] < INF]


def ratios(d: np.ndarray, g: np.ndarray) -> list[float]:
    return [d[u, v] / g[u, v] for u in range(len(g)) for v in candidates(g, u)]


def average_precision(ranking: list[int], neighbours: set) -> float:
    """Mean over neighbours of the share of neighbours among those ranked up to it."""
    found, shares = 0, []
    for place, node in enumerate(ranking, start=1):
        if node in neighbours:
            found += 1
            shares.append(found / place)
    return sum(shares) / len(shares)


def worst_ranking(d: np.ndarray, g: np.ndarray, u: int, neighbours: set) -> list[int]:
    """Nearest first; among equals those first that are no neighbours."""
    return sorted(candidates(g, u), key=lambda v: (d[u, v], v in neighbours))


def sort_ranking(d: np.ndarray, g: np.ndarray, u: int) -> list[int]:
    """Nearest first; among equals the earlier node."""
    return sorted(candidates(g, u), key=lambda v: (d[u, v], v))


def plain_scores(d: np.ndarray, g: np.ndarray, neighbours: list[set]) -> dict[str, float]:
    """All scores of one embedding, from distances in it and in the graph."""
    found = ratios(d, g)
    with_neighbours = [u for u in range(len(g)) if neighbours[u]]
    worst = {u: worst_ranking(d, g, u, neighbours[u]) for u in with_neighbours}
    tied = [
        any(d[u, w] == d[u, v] for w in candidates(g, u) if w not in neighbours[u])
        for u in with_neighbours
        for v in neighbours[u]
    ]
    hits = [len(set(worst[u][:10]) & neighbours[u]) / min(10, len(neighbours[u])) for u in with_neighbours]
    correlations = []
    for u in range(len(g)):
        there = candidates(g, u)
        if len({d[u, v] for v in there}) > 1 and len({g[u, v] for v in there}) > 1:
            correlations.append(spearmanr(d[u, there], g[u, there]).statistic)
    return {
        "average_distortion": np.mean([abs(ratio - 1) for ratio in found]),
        "worst_distortion": max(found) / min(found) if min(found) > 0 else INF,
        "mean_average_precision": np.mean([average_precision(worst[u], neighbours[u]) for u in worst]),
        "mean_average_precision_by_sort_order": np.mean(
            [average_precision(sort_ranking(d, g, u), neighbours[u]) for u in with_neighbours]
        ),
        "tie_share": np.mean(tied),
        "precision_at_10": np.mean(hits),
        "rank_correlation": np.mean(correlations) if correlations else None,
        "pairs": len(found) // 2,
    }
