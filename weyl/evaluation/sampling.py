"""Which sources are measured where all would take too long, and how sure a mean over them is."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

EXACT_PAIRS = 100_000_000  # sources × nodes up to which all are measured: half a minute on two cores
SAMPLED_PAIRS = 40_000_000  # measured where there are more
FEWEST_SOURCES = 200
SURE = 1.959964  # standard errors of 95 %


def chosen_sources(candidates: np.ndarray, nodes: int, seed: int) -> np.ndarray:
    """All candidates, or where their distances to all nodes are too many, some of them in their order."""
    if len(candidates) * nodes <= EXACT_PAIRS:
        return candidates
    count = min(len(candidates), max(FEWEST_SOURCES, SAMPLED_PAIRS // nodes))
    drawn = np.random.default_rng(seed).choice(len(candidates), count, replace=False)
    return candidates[np.sort(drawn)]


def interval(values: Tensor, share: float, most: float = math.inf) -> tuple[float, float]:
    """The 95 % interval, within [0, most], of the mean over all sources; `values` are a random share of theirs.

    Corrected for skewness, as average precisions have it: P. Hall, J. R. Stat. Soc. B 54 (1992) 221-228.
    """
    n = len(values)
    if n < 2:
        return 0.0, most
    mean, deviation = float(values.mean()), float(values.std())
    if share >= 1 or deviation <= 1e-12 * abs(mean):
        return mean, mean
    count = n / (1 - share)
    skewness = float(((values - mean) / deviation).pow(3).mean())
    low, high = (mean - deviation * _unskewed(end, skewness, count) for end in (SURE, -SURE))
    return max(0.0, low), min(most, high)


def _unskewed(end: float, skewness: float, count: float) -> float:
    """The standardised mean that Hall's transformation takes to `end`."""
    if abs(skewness) < 1e-6:
        return end / math.sqrt(count)
    return 3 / skewness * (math.cbrt(1 + skewness * (end / math.sqrt(count) - skewness / (6 * count))) - 1)
