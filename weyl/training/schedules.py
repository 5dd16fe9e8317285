"""How large the next step is: a function of how far the run has come."""

from __future__ import annotations

import math
from typing import Any

from .config import Config


class Cosine:
    """From the full rate to zero along half a cosine, after a linear warm-up."""

    def __init__(self, config: Config):
        self.rate, self.warmup = config.rate, max(config.warmup, 1)

    def __call__(self, step: int, progress: float) -> float:
        """The rate of a step, counted from 0; progress is the share of the run that is done, in [0, 1]."""
        return self.rate * min(1.0, (step + 1) / self.warmup) * (1 + math.cos(math.pi * progress)) / 2

    def epoch(self, loss: float) -> bool:
        """Told the mean loss of an epoch; whether it was the best so far, which is kept."""
        return False

    finished, by_epoch = False, False

    @property
    def state(self) -> dict[str, float]:
        return {}

    @state.setter
    def state(self, kept: dict[str, float]) -> None:
        pass


class Plateau:
    """The paper's: a tenth of the rate for some epochs, then the rate, divided by 5 whenever nothing is gained."""

    by_epoch = True  # what comes next may change with every one

    def __init__(self, config: Config, steps_per_epoch: int):
        self.config, self.rate = config, config.rate
        self.burn_in = config.burn_in * steps_per_epoch
        self.best, self.since_best, self.since_drop = math.inf, 0, 0

    def __call__(self, step: int, progress: float) -> float:
        return self.rate / 10 if step < self.burn_in else self.rate

    def epoch(self, loss: float) -> bool:
        if loss < self.best:
            self.best, self.since_best, self.since_drop = loss, 0, 0
            return True
        self.since_best, self.since_drop = self.since_best + 1, self.since_drop + 1
        if self.since_drop > self.config.patience:
            self.rate, self.since_drop = self.rate / 5, 0
        return False

    @property
    def finished(self) -> bool:
        return self.since_best >= self.config.stop_after

    @property
    def state(self) -> dict[str, Any]:
        best = None if math.isinf(self.best) else self.best
        return {"rate": self.rate, "best": best, "since_best": self.since_best, "since_drop": self.since_drop}

    @state.setter
    def state(self, kept: dict[str, Any]) -> None:
        self.rate, self.since_best, self.since_drop = kept["rate"], kept["since_best"], kept["since_drop"]
        self.best = math.inf if kept["best"] is None else kept["best"]


def schedule(config: Config, steps_per_epoch: int) -> Cosine | Plateau:
    """The schedule that a configuration names."""
    return Plateau(config, steps_per_epoch) if config.schedule == "plateau" else Cosine(config)
