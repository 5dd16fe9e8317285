"""The paper's training with another library's distances: Riemannian gradient descent by geoopt's optimiser."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.graphs.distances import Distances
from weyl.graphs.pairs import PairSchedule

from . import geoopt_pairs, sympa_pairs

BATCH = 2048
CLIP = 50.0  # of the gradient's norm
BURN_IN = 10  # epochs at a tenth of the rate
LOOK = 1.0  # seconds of training between two looks at the distortion
LOOKED_PAIRS = 1 << 15  # pairs of a block of a look


class Rival:
    """Sum of |(d/g)² - 1| over batches, in float64."""

    def __init__(
        self,
        library: str,
        path: str | None,
        distances: Distances,
        space: SymmetricSpace,
        metric: str,
        points: Tensor,
        rate: float,
        seed: int,
    ):
        geoopt = geoopt_pairs.library()
        made = (
            geoopt_pairs.competitor(space, metric, points)
            if path is None
            else sympa_pairs.competitor(path, space, metric, points)
        )
        self.points = geoopt.ManifoldParameter(made.points.detach().clone(), manifold=made.manifold)
        self.distance = made.distance
        self.optimizer = geoopt.optim.RiemannianSGD([self.points], lr=rate)
        self.schedule = PairSchedule(distances, BATCH, seed=seed, dtype=np.float64)
        self.distances, self.rate, self.batch, self.pairs_seen = distances, rate, self.schedule.batch_size, 0

    def run(self, limit: float) -> Iterator[tuple[float, float]]:
        """Seconds of training and the average distortion, now and then and at the end; a NaN ends the run."""
        seconds, looked, step = 0.0, 0.0, 0
        while seconds < limit:
            begun = time.perf_counter()
            sound = self._step(step)
            seconds, step = seconds + time.perf_counter() - begun, step + 1
            if not sound or seconds - looked >= max(LOOK, 0.02 * limit) or seconds >= limit:
                looked = seconds
                yield seconds, self.distortion() if sound else math.nan
            if not sound:
                return

    def _step(self, step: int) -> bool:
        early = step < BURN_IN * self.schedule.steps_per_epoch
        self.optimizer.param_groups[0]["lr"] = self.rate / 10 if early else self.rate
        first, second, goals = map(torch.from_numpy, self.schedule.batch(step))
        self.optimizer.zero_grad()
        loss = (
            ((self.distance(self.points[first], self.points[second]).flatten() / goals).square() - 1)
            .abs()
            .sum()
        )
        if not bool(loss.isfinite()):
            return False
        loss.backward()
        torch.nn.utils.clip_grad_norm_([self.points], CLIP)
        self.optimizer.step()
        self.pairs_seen += len(first)
        return True

    @torch.no_grad()
    def distortion(self) -> float:
        """Over all pairs."""
        total, schedule = 0.0, PairSchedule(self.distances, LOOKED_PAIRS, dtype=np.float64)
        for step in range(schedule.steps_per_epoch):
            first, second, goals = map(torch.from_numpy, schedule.batch(step))
            total += float(
                (self.distance(self.points[first], self.points[second]).flatten() / goals - 1).abs().sum()
            )
        return total / schedule.pairs
