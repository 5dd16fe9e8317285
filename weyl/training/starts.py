"""Where points start: drawn around the basepoint, or where an earlier embedding left them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.geometry import SymmetricSpace
from weyl.graphs.distances import Distances, as_floats
from weyl.graphs.graph import Graph

NEXT_START = 1_000_003  # added to the seed for every further start
BESIDE = 0.1  # of the spread: how far from its nearest known node a new one starts
UNKNOWN = "start: the embedding lies in {old}, which cannot start one in {new}: ask for the same space"


def random_start(space: SymmetricSpace, n: int, spread: float, seed: int, number: int = 0) -> Tensor:
    """Points (n, *point_shape) around the basepoint, the `number`-th draw of a seed."""
    points = space.random_points(n, spread=spread, seed=seed + NEXT_START * number, dtype=torch.float64)
    return torch.view_as_real(points) if points.is_complex() else points


def warm_start(
    embedding: Embedding, graph: Graph, distances: Distances, space: SymmetricSpace, spread: float, seed: int
) -> Tensor:
    """The points of nodes that the embedding knows; others beside the known node that is nearest in the graph."""
    if embedding.space.name != space.name and embedding.space.point_shape != space.point_shape:
        raise ValueError(UNKNOWN.format(old=embedding.space.name, new=space.name))
    row = np.array([embedding.row(name) if name in embedding else -1 for name in graph.nodes])
    if not (row >= 0).any():
        raise ValueError(
            f"start: the embedding has no node of {graph.name}: its first is {embedding.nodes[0]!r}, "
            f"the graph's {graph.nodes[0]!r}"
        )
    fresh = np.flatnonzero(row < 0)
    row[fresh] = row[_nearest_known(distances, row >= 0, fresh)]
    points = embedding.points.cpu().to(torch.float64)[row]
    if reason := space.why_not(points):
        raise ValueError(f"start: {reason}")
    if len(fresh):
        near = points[fresh]
        X = space.random_tangents(near, torch.Generator().manual_seed(seed))
        X = X * (BESIDE * spread / max(space.dim, 1) ** 0.5)
        points[fresh] = space.retract_at(near, X)
    return points


def _nearest_known(distances: Distances, known: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """For each fresh node a known one: the nearest where its row is known, else any."""
    places = np.flatnonzero(known)
    found = np.full(len(fresh), places[0])
    row_of = np.full(distances.n, -1)
    row_of[distances.sources] = np.arange(len(distances.sources))
    for i, node in enumerate(fresh):
        if row_of[node] >= 0:
            found[i] = places[as_floats(distances.rows[row_of[node], places]).argmin()]
    return found
