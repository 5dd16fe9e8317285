"""Which length of the graph one unit of the space stands for: 1, unless the distances would not fit then."""

from __future__ import annotations

import math

import numpy as np
import torch

from weyl.geometry import SymmetricSpace
from weyl.geometry.norms import BoundNorm
from weyl.geometry.product import Power, Product
from weyl.graphs.distances import Distances, as_floats

LONGEST = 64.0  # distance in a space that is not compact up to which unit 1 stays
TYPICAL = (0.25, 64.0)  # mean distances at which unit 1 stays
MEAN = 4.0  # the mean distance where they do not
FILLED = 0.6  # share of a compact space's diameter that the longest distance takes at the start
LOOKED_ROWS = 256


def unit_for(distances: Distances, space: SymmetricSpace, norm: BoundNorm) -> float:
    """Graph units a unit of the space."""
    mean, longest = _mean_and_longest(distances)
    diameter = diameter_of(space, norm)
    if math.isfinite(diameter):
        return longest / (FILLED * diameter)
    if TYPICAL[0] <= mean <= TYPICAL[1]:
        return 1.0 if longest <= LONGEST else longest / LONGEST
    return max(mean / MEAN, longest / LONGEST)


def diameter_of(space: SymmetricSpace, norm: BoundNorm) -> float:
    """The largest distance in a compact space, infinite in all others."""
    ends = _ends(space)
    if any(math.isinf(end) for end in ends):
        return math.inf
    return float(norm(torch.tensor(ends, dtype=torch.float64)))


def _ends(space: SymmetricSpace) -> list[float]:
    """How far every component of v reaches."""
    if isinstance(space, Product):
        return [end for factor in space.factors for end in _ends(factor)]
    if isinstance(space, Power):
        return _ends(space.factor) * space.count
    compact = all(factor.sign > 0 for factor in space.chamber.factors)
    return [space.reach() if compact else math.inf] * space.chamber.length


def _mean_and_longest(distances: Distances) -> tuple[float, float]:
    """Of all rows the longest distance, the mean of some."""
    size = np.bincount(distances.components)[distances.components[distances.sources]]
    joined = np.flatnonzero(size > 1)  # a node without an edge has no distance
    some = as_floats(distances.rows[joined[:: max(1, len(joined) // LOOKED_ROWS)]])
    mean = float(some[np.isfinite(some) & (some > 0)].mean())
    longest = 0.0
    for row in range(0, len(distances.rows), 64):
        block = as_floats(distances.rows[row : row + 64])
        longest = max(longest, float(block[np.isfinite(block)].max(initial=0)))
    return mean, longest
