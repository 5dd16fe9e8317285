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
        self.sums: list[Tensor] = []  # of every source
        self.counts: list[Tensor] = []

    def add(self, rows: Rows) -> None:
        ratio = rows.d / rows.g  # NaN where there is no pair
        none, counts = ~rows.pairs, rows.pairs.sum(1)
        sums = (ratio - 1).abs_().masked_fill_(none, 0).sum(1)
        self.total += float(sums.sum())
        self.pairs += int(counts.sum())
        self.largest = max(self.largest, float(ratio.masked_fill_(none, 0).amax()))
        self.smallest = min(self.smallest, float(ratio.masked_fill_(none, torch.inf).amin()))
        self.sums.append(sums.cpu())
        self.counts.append(counts.cpu())

    @property
    def average(self) -> float:
        return self.total / max(self.pairs, 1)

    def shares(self) -> Tensor:
        """One number a source whose mean is the average and whose spread, to first order, is that of its sample."""
        sums, counts = torch.cat(self.sums), torch.cat(self.counts).to(torch.float64)
        return self.average + (sums - self.average * counts) / counts.mean().clamp(min=1e-300)

    @property
    def worst(self) -> float:
        return self.largest / self.smallest if self.smallest > 0 else math.inf
