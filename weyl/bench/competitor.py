"""Another library's distances as its users call them: rows of a table of points, a batch at a time, autograd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .timing import once

BATCHES = tuple(4**k for k in range(3, 11))  # 64 to a million
TRIES = 3  # of every batch size; the quickest counts


@dataclass(frozen=True)
class Competitor:
    """`distance(p, q)` of rows of `points`, a leaf that collects gradients."""

    name: str
    points: Tensor
    distance: Callable[[Tensor, Tensor], Tensor]
    manifold: Any = None  # of geoopt's kind, for its optimisers

    def run(self, first: Tensor, second: Tensor, batch: int, gradients: bool) -> None:
        """Distances of pairs of nodes, and where asked the gradient of their sum, accumulated in `points.grad`."""
        self.points.grad = None
        with torch.set_grad_enabled(gradients):
            for start in range(0, len(first), batch):
                i, j = first[start : start + batch], second[start : start + batch]
                distances = self.distance(self.points[i], self.points[j])
                if gradients:
                    distances.sum().backward()

    def best_batch(
        self, first: Tensor, second: Tensor, gradients: bool, limit: float
    ) -> tuple[int, dict[int, float]]:
        """The batch size with the least time a pair, and the seconds a pair of all tried, calls below `limit`."""
        tried: dict[int, float] = {}
        seconds = 0.0
        sizes = [size for size in BATCHES if size < len(first)] + [len(first)]
        for size in sizes:
            if tried and seconds * size > limit:
                break

            def call(size: int = size) -> None:
                self.run(first[:size], second[:size], size, gradients)

            try:
                seconds = tried[size] = min(once(call, self.points.device) for _ in range(TRIES)) / size
            except RuntimeError as problem:  # too large for its libraries, or for memory
                if not tried:
                    raise ValueError(f"{self.name} fails on {size} pairs: {problem}") from problem
                break
        return min(tried, key=tried.__getitem__), tried
