"""The training loop, from top to bottom: a batch of pairs, their gradients in frames, a step, now and then a look."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from weyl.graphs.distances import Distances
from weyl.graphs.pairs import PairSchedule
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.moving import MovingPoints

from .config import Config
from .objectives import OBJECTIVES
from .optimizers import Adam, GradientDescent
from .schedules import schedule
from .workers import Workers

WIDEST_GAP = 10.0  # between components of v: beyond it float32 loses the digits that training needs
LOOK = 0.2  # seconds between two looks at the clock, the keyboard and the callback
REPORT = 200  # steps a mean loss is taken over


@dataclass
class State:
    """What a callback sees; it may set `stop`."""

    step: int
    steps: int
    loss: float  # mean of the objective over the last steps
    seconds: float
    pairs_seen: int
    gap: float
    dtype: str
    stop: bool = False


@dataclass
class Trained:
    """What a run found, in units of the space."""

    points: Tensor
    loss: float
    steps: int
    epochs: float
    pairs_seen: int
    seconds: float
    dtype: str
    complete: bool
    losses: list[tuple[int, float]] = field(default_factory=list)  # (step, mean loss since the last)


class Diverged(RuntimeError):
    """The loss is no longer finite, at the smallest rate that was tried."""


class Trainer:
    """One run from a start to its end; `state` holds all that a checkpoint needs to go on to the same bits."""

    def __init__(
        self,
        distances: Distances,
        config: Config,
        start: Tensor,
        *,
        kernel: PairKernel | None = None,
        unit: float = 1.0,
        threads: int | None = None,
        device: torch.device | str = "cpu",
        workers: Workers | None = None,
    ):
        self.config, self.unit, self.threads, self.device = config, unit, threads, torch.device(device)
        self.workers = workers or Workers()
        self.pairs = PairSchedule(distances, config.batch, seed=config.seed, kind=config.pairs)
        self.kernel = kernel or PairKernel(
            config.space, config.metric, getattr(torch, config.dtype), device, threads
        )
        self.moving = MovingPoints(
            self.kernel.layout, start.to(self.device), exact=config.geodesics, threads=threads
        )
        shape = (distances.n, sum(self.moving.widths))
        self.optimizer: Adam | GradientDescent = (
            Adam(shape, config.betas, self.device)
            if config.optimizer == "adam"
            else GradientDescent(config.clip)
        )
        self.objective = OBJECTIVES[config.objective]
        self.schedule = schedule(config, self.pairs.steps_per_epoch)
        self.step, self.pairs_seen, self.seconds, self.gap = 0, 0, 0.0, 0.0
        self.losses: list[tuple[int, float]] = []
        self._sum, self._count = torch.zeros((), dtype=torch.float64, device=self.device), 0

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────────────────────
    def run(
        self,
        *,
        steps: int | None = None,
        time_limit: float | None = None,
        look: Callable[[State], None] | None = None,
    ) -> Trained:
        """Trains to the end of the schedule, or of the time; `look` is called now and then and may stop the run."""
        total, until = self.config.steps, self.config.steps if steps is None else steps
        began, before = time.monotonic(), self.seconds
        next_look, stopped = began + LOOK, False
        while self.step < until and not stopped:
            now = time.monotonic()
            self.seconds = before + now - began
            progress = self.step / total
            if time_limit is not None:
                progress = max(progress, self.seconds / time_limit)
                if progress >= 1:
                    break
            self._train_batch(self.schedule(self.step, progress))
            self.step += 1
            if self.step % self.pairs.steps_per_epoch == 0 and not self._end_of_epoch():
                break
            if self.step % REPORT == 0:
                self._report()
            if look is not None and now >= next_look:
                next_look = now + LOOK
                state = self._state()
                look(state)
                stopped = state.stop
        self.seconds = before + time.monotonic() - began
        self._report()
        return self._trained(complete=not stopped)

    def _train_batch(self, rate: float) -> None:
        first, second, goals = self._batch()
        found: list[Tensor] = []

        def slope(d: Tensor, block: slice) -> Tensor:
            g = goals[block]
            found.append(self.objective.loss(d, g).sum(dtype=torch.float64))
            return self.objective.slope(d, g)

        records = self.moving.records(self.kernel.dtype)
        totals, _, gap = self.kernel.gradient(records, first, second, slope)
        count = len(first)
        totals, loss, count = self.workers.sum(totals, torch.stack(found).sum(), count)
        gradient = self.moving.coordinates(totals).div_(count)
        self.moving.advance(self.optimizer.step(gradient, rate))
        self._sum, self._count = self._sum + loss, self._count + count
        self.pairs_seen += count
        self.gap = gap
        if gap > WIDEST_GAP and self.kernel.dtype == torch.float32:
            self._go_to_float64()

    def _batch(self) -> tuple[Tensor, Tensor, Tensor]:
        first, second, goals = (torch.from_numpy(x) for x in self.pairs.batch(self.step))
        first, second, goals = (self.workers.share(x).to(self.device) for x in (first, second, goals))
        return first, second, (goals / self.unit).to(self.kernel.dtype)

    def _go_to_float64(self) -> None:
        self.kernel = self.kernel.to(torch.float64)

    # ── what a run says of itself ────────────────────────────────────────────────────────────────────────────────
    def _end_of_epoch(self) -> bool:
        return self.schedule.epoch(self._mean())

    def _mean(self) -> float:
        return float(self._sum) / max(self._count, 1)

    def _report(self) -> None:
        if self._count:
            self.losses.append((self.step, self._mean()))
            self._sum, self._count = torch.zeros_like(self._sum), 0

    def _state(self) -> State:
        loss = self._mean() if self._count else self.losses[-1][1] if self.losses else float("nan")
        dtype = str(self.kernel.dtype).removeprefix("torch.")
        return State(self.step, self.config.steps, loss, self.seconds, self.pairs_seen, self.gap, dtype)

    def _trained(self, complete: bool) -> Trained:
        return Trained(
            points=self.moving.points(),
            loss=self.losses[-1][1] if self.losses else float("nan"),
            steps=self.step,
            epochs=self.step / self.pairs.steps_per_epoch,
            pairs_seen=self.pairs_seen,
            seconds=self.seconds,
            dtype=str(self.kernel.dtype).removeprefix("torch."),
            complete=complete,
            losses=self.losses,
        )

    @property
    def state(self) -> dict[str, Any]:
        """Everything that changes while training, as tensors and plain numbers."""
        raise NotImplementedError
