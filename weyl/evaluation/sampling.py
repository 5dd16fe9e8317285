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


def interval(values: Tensor, population: int) -> tuple[float, float]:
    """The 95 % interval of the mean over a population of which `values` are a simple random sample."""
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    error = math.sqrt(float(values.var()) / n * max(0.0, 1 - n / population))
    mean = float(values.mean())
    return mean - SURE * error, mean + SURE * error
