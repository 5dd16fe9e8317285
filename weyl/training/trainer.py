"""The training loop, from top to bottom: a batch of pairs, their gradients in frames, a step, now and then a look."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry.fixed import fixed_metric, fixed_space
from weyl.geometry.norms import BoundNorm
from weyl.graphs.distances import Distances
from weyl.graphs.pairs import PairSchedule
from weyl.kernels.dispatch import Descent, PairKernel
from weyl.kernels.moving import MovingPoints
from weyl.kernels.native import Steps
from weyl.kernels.threads import one_torch_thread

from .config import Config
from .learned import Learned
from .objectives import OBJECTIVES, with_ranking
from .optimizers import Adam, GradientDescent
from .schedules import schedule
from .workers import Workers

WIDEST_GAP = 16.0  # between components of v: up to it distances in float32 were right to 1e-4, typically 1e-7
LOOK = 0.2  # seconds between two looks at the callback
REPORT = 200  # steps a mean loss is taken over; setbacks and checkpoints go back to its end
PAIRS_A_REPORT = 1 << 24  # fewer steps where batches are large: they take long
STEPS_A_CALL = 64  # of compiled steps, at most
WORK_A_CALL = 1 << 24  # pairs times rank^3 (a vector: its length) in one call of compiled steps
LEAST_SLOWNESS = 1e-3  # the rate is halved after a loss that is no number, at most down to this share


@dataclass
class State:
    """What a callback sees; it may set `stop`."""

    step: int
    steps: int
    loss: float  # mean of the objective over the last steps
    seconds: float
    progress: float  # the share of the run that is done
    pairs_seen: int
    gap: float
    dtype: str
    start: int = 0  # counted from 1 while starts are tried, 0 in the run itself
    stop: bool = False


@dataclass
class Trained:
    """What a run found; points in units of the space, what was learned as numbers in space and norm."""

    points: Tensor
    space: SymmetricSpace
    norm: BoundNorm
    unit: float
    loss: float
    steps: int
    epochs: float
    pairs_seen: int
    seconds: float
    dtype: str
    complete: bool
    setbacks: int
    losses: list[tuple[int, float]] = field(default_factory=list)  # (step, mean loss since the last)


class Diverged(ValueError):
    """The loss is no number, at the smallest rate that was tried."""


class Trainer:
    """One run from a start to its end; `state` holds all that is needed to go on to the same bits."""

    def __init__(
        self,
        distances: Distances,
        config: Config,
        start: Tensor,
        *,
        space: SymmetricSpace,
        norm: BoundNorm,
        unit: float = 1.0,
        edge: float = 1.0,
        threads: int | None = None,
        device: torch.device | str = "cpu",
        workers: Workers | None = None,
    ):
        self.config, self.device = config, torch.device(device)
        self.workers = workers or Workers(device)
        self.pairs = PairSchedule(distances, config.batch, seed=config.seed, kind=config.pairs)
        threads = threads or torch.get_num_threads()
        self.kernel = PairKernel(space, norm, getattr(torch, config.dtype), device, threads)
        exact, projected = config.movement == "geodesic", config.movement == "projection"
        self.moving = MovingPoints(
            self.kernel.layout, start.to(self.device), exact=exact, projected=projected, threads=threads
        )
        shape = (distances.n, sum(self.moving.widths))
        self.optimizer: Adam | GradientDescent = (
            Adam(shape, config.betas, self.device)
            if config.optimizer == "adam"
            else GradientDescent(config.clip)
        )
        plain = OBJECTIVES[config.objective]
        self.objective = with_ranking(plain, config.ranking, edge) if config.ranking else plain
        self.schedule = schedule(config, self.pairs.steps_per_epoch)
        self.report_every = max(10, min(REPORT, PAIRS_A_REPORT // self.pairs.batch_size))
        self.learned = Learned(self.kernel, unit, config.learn_unit)
        self.step, self.pairs_seen, self.seconds, self.gap = 0, 0, 0.0, 0.0
        self.slowness, self.setbacks = 1.0, 0
        self.losses: list[tuple[int, float]] = []
        self._sums = [0.0, 0.0]  # loss and pairs since the last report
        self._epoch = [0.0, 0.0]
        self._good: dict[str, Any] | None = None  # the state at the last report, or at the start
        self._best: dict[str, Tensor] | None = None  # what the best epoch of a plateau left
        self._began = time.monotonic()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────────────────────
    def run(
        self,
        *,
        steps: int | None = None,
        time_limit: float | None = None,
        look: Callable[[State], None] | None = None,
    ) -> Trained:
        """Trains to the end of the schedule, or of the time; `look` is called now and then and may stop the run.

        `steps` stops it too, at that step; a run that was stopped goes on when it is called again.
        """
        self._good = self._good or self.state
        now = time.monotonic()
        self._began, next_look, stop = now - self.seconds, now + LOOK, False
        with one_torch_thread(), torch.no_grad():
            while not (stop or self.step == steps or self._ended(time_limit)):
                progress = self.progress(time_limit)
                if look is not None and (now := time.monotonic()) >= next_look:
                    next_look, state = now + LOOK, self._state(progress)
                    look(state)
                    stop = state.stop
                stop = self._train(self._rates(progress, steps), stop)
                if self.step % self.report_every == 0 or self._ended(time_limit):
                    self._report()
        complete = self._ended(time_limit)
        if not self._sound(self._loss()):  # stopped before a report could tell
            self.state = self._good
        if look is not None:
            look(self._state(self.progress(time_limit)))
        return self._trained(complete)

    def _ended(self, time_limit: float | None) -> bool:
        return self.schedule.finished or self.progress(time_limit) >= 1

    def progress(self, time_limit: float | None = None) -> float:
        """The share of the run that is done: of its steps or, where that is more, of its time."""
        done = self.step / self.config.steps
        return done if time_limit is None else max(done, self.seconds / time_limit)

    def _train(self, rates: list[float], stop: bool) -> bool:
        """The next steps, at these rates; whether any process wants to stop."""
        if not self.in_one_call:
            (rate,) = rates
            return self._train_batch(rate, stop)
        self._train_batches(rates)
        return stop

    def _train_batch(self, rate: float, stop: bool) -> bool:
        """One step; whether any process wants to stop."""
        first, second, goals = self._batch()
        found = self._descend(first, second, goals.to(self.kernel.dtype))
        here = (
            len(goals),
            found.gap > WIDEST_GAP,
            stop,
            self.workers.first * (time.monotonic() - self._began),
        )
        loss, unit_slope = (
            found.totals.new_tensor(x, dtype=torch.float64) for x in (found.loss, found.unit_slope)
        )
        (totals, extras, loss, unit_slope), agreed = self.workers.sum(
            [found.totals, found.extras, loss, unit_slope], here
        )
        count, wide, wants_stop, self.seconds = agreed
        self.learned.slope(extras, unit_slope, totals, self.moving, count)
        gradient = self.moving.coordinates(totals)
        gradient = gradient if self.config.total else gradient / count
        self.moving.advance(self.optimizer.step(gradient, rate))
        self.learned.step(self.moving, self._learned_rate(rate))
        self._count(float(loss), int(count), found.gap, bool(wide))
        return bool(wants_stop)

    def _descend(self, first: Tensor, second: Tensor, g: Tensor) -> Descent:
        """What a batch costs, in graph units: what is minimised does not depend on the unit. And its slopes."""
        records, unit = self.moving.records(self.kernel.dtype), self.learned.unit
        if self.kernel.backend == "native":
            return self.kernel.descend(records, first, second, g, self.objective.layout(unit))
        d = torch.empty_like(g)

        def slope(distances: Tensor, block: slice) -> Tensor:
            d[block] = distances if unit == 1 else distances * unit
            found = self.objective.slope(d[block], g[block])
            return found if unit == 1 else found * unit

        totals, extras, gap = self.kernel.gradient(records, first, second, slope)
        loss = self.objective.loss(d, g).sum(dtype=torch.float64)
        unit_slope = (d * self.objective.slope(d, g)).sum(dtype=torch.float64)
        return Descent(totals, extras, float(loss), float(unit_slope), gap)

    def _train_batches(self, rates: list[float]) -> None:
        """Steps in one call of compiled code: to rounding what _train_batch does, one after the other."""
        schedule, optimizer = self.pairs, self.optimizer
        assert isinstance(optimizer, Adam)
        ahead, numbering = schedule.ahead(self.step, len(rates)), schedule.numbering
        steps = Steps(
            numbering.blocks, ahead.orders, numbering.row_of, schedule.distances.rows, schedule.pairs, schedule.stride,
            ahead.which, ahead.begins, ahead.counts, np.array(rates),
        )  # fmt: skip
        widest = WIDEST_GAP if self.kernel.dtype == torch.float32 else math.inf
        losses, gap = self.kernel.take_steps(
            self.moving, self.objective.layout(self.learned.unit), steps, optimizer.mean, optimizer.square,
            optimizer.betas, optimizer.count, widest,
        )  # fmt: skip
        optimizer.count += len(losses)
        self.seconds = time.monotonic() - self._began
        for loss, count in zip(losses.tolist(), ahead.counts.tolist(), strict=False):
            self._count(loss, count, gap, gap > widest)

    def _count(self, loss: float, count: int, gap: float, wide: bool) -> None:
        """Notes a step that was taken; where float32 was too short for its gap, the next ones are in float64."""
        if wide and self.kernel.dtype == torch.float32:
            self.kernel = self.kernel.to(torch.float64)
        for sums in (self._sums, self._epoch):
            sums[0], sums[1] = sums[0] + loss, sums[1] + count
        self.step += 1
        self.pairs_seen += count
        self.gap = gap
        if self.step % self.pairs.steps_per_epoch == 0:
            self._end_of_epoch()

    @property
    def in_one_call(self) -> bool:
        """Whether compiled code takes several steps without Python between them: the common case."""
        return (
            self.kernel.backend == "native"
            and self.moving.all_frames
            and isinstance(self.optimizer, Adam)
            and self.config.pairs == "all"
            and not (self.config.total or self.learned.parameters or self.workers.count > 1)
            and self.pairs.distances.rows.flags.c_contiguous
        )

    def _rates(self, progress: float, steps: int | None) -> list[float]:
        """Of the next steps, as many as one call takes before anything has to be done between two."""
        if not self.in_one_call:
            return [self.slowness * self.schedule(self.step, progress)]
        work = sum(rows * columns**2 for rows, columns in (part.shape for part in self.kernel.layout.parts))
        epoch = self.pairs.steps_per_epoch
        most = min(
            max(1, WORK_A_CALL // (self.pairs.batch_size * work)),
            epoch - self.step % epoch if self.schedule.by_epoch else STEPS_A_CALL,
            self.report_every - self.step % self.report_every,
            max(1, self.config.steps - self.step),
            steps - self.step if steps is not None else self.config.steps,
        )
        ahead = (max(progress, (self.step + i) / self.config.steps) for i in range(most))
        return [self.slowness * self.schedule(self.step + i, done) for i, done in enumerate(ahead)]

    def _batch(self) -> tuple[Tensor, Tensor, Tensor]:
        first, second, goals = (torch.from_numpy(x) for x in self.pairs.batch(self.step))
        return tuple(self.workers.share(x).to(self.device) for x in (first, second, goals))  # type: ignore[return-value]

    def _learned_rate(self, rate: float) -> float:
        return self.config.learned_rate * rate / self.config.rate

    # ── epochs, reports, setbacks ────────────────────────────────────────────────────────────────────────────────
    def _end_of_epoch(self) -> None:
        loss = self._epoch[0] / max(self._epoch[1], 1.0)
        self._epoch = [0.0, 0.0]
        if self.schedule.epoch(loss):
            self._best = {name: x.clone() for name, x in self.found.items()}

    def _report(self) -> None:
        """Notes the mean loss; where it is no number goes back to the last report, half as fast."""
        loss = self._loss()
        if self._sound(loss):
            self.losses.append((self.step, loss))
            self._sums = [0.0, 0.0]
            self._good = self.state
            return
        slowness, setbacks, seconds = self.slowness / 2, self.setbacks + 1, self.seconds
        if slowness < LEAST_SLOWNESS:
            raise Diverged(
                f"training diverged at step {self.step}, at a rate of {self.config.rate * self.slowness:g} too: "
                "try a smaller rate in a --config file, or --dtype float64"
            )
        assert self._good is not None
        self.state = self._good
        self.slowness, self.setbacks, self.seconds = slowness, setbacks, seconds
        self.kernel = self.kernel.to(torch.float64)
        self._good = self.state

    def _sound(self, loss: float) -> bool:
        measured = math.isfinite(loss) or not self.step
        return measured and all(bool(x.isfinite().all()) for x in self.found.values())

    def _loss(self) -> float:
        """The mean loss since the last report, or until it."""
        if self._sums[1] > 0:
            return self._sums[0] / self._sums[1]
        return self.losses[-1][1] if self.losses else math.nan

    # ── what a run says of itself ────────────────────────────────────────────────────────────────────────────────
    @property
    def dtype(self) -> str:
        return str(self.kernel.dtype).removeprefix("torch.")

    def _state(self, progress: float) -> State:
        return State(
            self.step,
            self.config.steps,
            self._loss(),
            self.seconds,
            progress,
            self.pairs_seen,
            self.gap,
            self.dtype,
        )

    def _trained(self, complete: bool) -> Trained:
        last = {name: x.clone() for name, x in self.found.items()}
        self._put(self._best or last)
        space = fixed_space(self.kernel.space)
        trained = Trained(
            points=self.moving.points(),
            space=space,
            norm=space.norm(fixed_metric(self.kernel.norm)),
            unit=self.learned.unit,
            loss=self._loss(),
            steps=self.step,
            epochs=self.step / self.pairs.steps_per_epoch,
            pairs_seen=self.pairs_seen,
            seconds=self.seconds,
            dtype=self.dtype,
            complete=complete,
            setbacks=self.setbacks,
            losses=list(self.losses),
        )
        self._put(last)
        return trained

    # ── what is trained, and what a checkpoint keeps ─────────────────────────────────────────────────────────────
    @property
    def found(self) -> dict[str, Tensor]:
        """Points and learned numbers, as they are now."""
        points = {f"points.{i}": x for i, x in enumerate(self.moving.state)}
        return points | {f"learned.{i}": x for i, x in enumerate(self.learned.values)}

    def _put(self, found: dict[str, Tensor]) -> None:
        self.moving.state = [found[f"points.{i}"] for i in range(len(self.moving.state))]
        self.learned.values = [found[f"learned.{i}"] for i in range(len(self.learned.values))]

    def _more(self) -> tuple[dict[str, Tensor], ...]:
        return self.optimizer.state, self.learned.moments, self._best or {}

    def begin_at(self, found: dict[str, Tensor]) -> None:
        """Makes what another run of the same task found the start of this one."""
        self._put(found)

    @property
    def kept(self) -> dict[str, Any]:
        """The state at the last report, or at the start: sound, and where a setback goes back to."""
        return self._good or self.state

    @property
    def state(self) -> dict[str, Any]:
        """Everything that changes while training: plain numbers, and under "tensors" copies of all tensors."""
        sums = {"sums": self._sums, "epoch": self._epoch}
        tensors = self.found | {name: torch.tensor(x, dtype=torch.float64) for name, x in sums.items()}
        for prefix, more in zip(PREFIXES, self._more(), strict=True):
            tensors |= {prefix + name: x for name, x in more.items()}
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "dtype": self.dtype,
            "losses": list(self.losses),
            "schedule": self.schedule.state,
            "tensors": {name: x.clone() for name, x in tensors.items()},
        }

    @state.setter
    def state(self, kept: dict[str, Any]) -> None:
        tensors = kept["tensors"]
        optimizer, moments, best = (
            {name.removeprefix(prefix): x.clone() for name, x in tensors.items() if name.startswith(prefix)}
            for prefix in PREFIXES
        )
        for name in PLAIN:
            setattr(self, name, kept[name])
        self.losses = [(int(step), loss) for step, loss in kept["losses"]]
        self.schedule.state = kept["schedule"]
        self._put(tensors)
        self.optimizer.state, self.learned.moments, self._best = optimizer, moments, best or None
        self._sums, self._epoch = (tensors[name].tolist() for name in ("sums", "epoch"))
        if kept["dtype"] != self.dtype:
            self.kernel = self.kernel.to(getattr(torch, kept["dtype"]))


PLAIN = ("step", "pairs_seen", "seconds", "gap", "slowness", "setbacks")
PREFIXES = ("optimizer.", "moments.", "best.")
