"""Distortion: how far distances in the embedding are from distances in the graph."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .rows import Rows


class Distortion:
    """Sums over blocks of rows: average |d - g| / g, and worst max d/g · max g/d, which no scale changes."""

    def __init__(self) -> None:
        self.total, self.pairs = 0.0, 0
        self.largest, self.smallest = 0.0, math.inf  # of d / g
        self.means: list[Tensor] = []  # of every source that has a pair

    def add(self, rows: Rows) -> None:
        ratio = rows.d / rows.g  # NaN where there is no pair
        none, counts = ~rows.pairs, rows.pairs.sum(1)
        sums = (ratio - 1).abs_().masked_fill_(none, 0).sum(1)
        self.total += float(sums.sum())
        self.pairs += int(counts.sum())
        self.largest = max(self.largest, float(ratio.masked_fill_(none, 0).amax()))
        self.smallest = min(self.smallest, float(ratio.masked_fill_(none, torch.inf).amin()))
        self.means.append((sums / counts)[counts > 0].cpu())

    @property
    def average(self) -> float:
        return self.total / self.pairs if self.pairs else 0.0

    @property
    def worst(self) -> float:
        if not self.pairs:
            return 1.0
        return self.largest / self.smallest if self.smallest > 0 else math.inf
