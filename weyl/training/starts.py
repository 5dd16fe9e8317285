"""Where points start: drawn around the basepoint, or where an earlier embedding left them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.geometry import Space, SymmetricSpace
from weyl.geometry.matrix_ball import MatrixBall
from weyl.geometry.product import Power, Product
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
    _same_space(space, embedding.space)
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


def _same_space(new: Space, old: Space) -> None:
    """Refuses another space; a curvature that is to be learned begins where the old space has it."""
    pairs = list(zip(_factors(new), _factors(old), strict=False))
    same = new.point_shape == old.point_shape and all(_fits(a, b) for a, b in pairs)
    if not same:
        raise ValueError(UNKNOWN.format(old=old.name, new=new.name))
    for a, b in pairs:
        if isinstance(a, MatrixBall) and isinstance(b, MatrixBall) and a.parameters():
            with torch.no_grad():
                a.curvature.copy_(b.k)


def _fits(new: Space, old: Space) -> bool:
    if not (isinstance(new, MatrixBall) and isinstance(old, MatrixBall) and new.parameters()):
        return new.name == old.name
    return (new.point_shape, new.field, new.kind) == (old.point_shape, old.field, old.kind)


def _factors(space: Space) -> list[Space]:
    if isinstance(space, Product):
        return [leaf for factor in space.factors for leaf in _factors(factor)]
    return _factors(space.factor) if isinstance(space, Power) else [space]


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
