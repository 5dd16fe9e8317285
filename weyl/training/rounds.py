"""Which of several starts goes on: they are trained for a while, in rounds that fewer and fewer reach."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from .config import Config
from .trainer import Diverged, State, Trainer


@dataclass(frozen=True)
class Round:
    """Short trainings, each down to a rate of zero: what a start is worth shows when it has cooled."""

    entrants: float  # of all starts
    steps: float  # of the run's
    batch: float  # of the run's: at first, when slopes are large, a part of the pairs shows the way as well
    rates: tuple[
        float, ...
    ]  # of the run's, dealt in turn: some graphs are found from hotter starts, some from cooler

    @property
    def work(self) -> float:
        """Pairs of one training, as a share of the run's."""
        return self.steps * self.batch


ROUNDS = (Round(1.0, 0.15, 0.25, (2.5, 1.25)), Round(0.25, 0.15, 1.0, (1.5,)))


class Entrant(NamedTuple):
    """Where a start has come to."""

    loss: float
    number: int
    found: dict[str, Tensor]  # points and what is learned; nothing before the first round


def best_start(
    config: Config,
    make: Callable[[Config, int], Trainer],
    look: Callable[[int], Callable[[State], None]],
    stopped: Callable[[], bool],
    time_limit: float | None = None,
) -> dict[str, Tensor]:
    """What the best of `config.starts` starts found in its last round; nothing where none was tried.

    `make(config, number)` gives the trainer of a start, `look(number)` what looks on while it runs; where `stopped` the
    best so far is taken. Of a time limit, rounds take the share that they have in all pairs.
    """
    field = [Entrant(math.inf, number, {}) for number in range(config.starts)]
    entrants = [max(1, math.ceil(each.entrants * config.starts)) for each in ROUNDS]
    work = 1 + sum(count * each.work for count, each in zip(entrants, ROUNDS, strict=True))
    for count, each in zip(entrants, ROUNDS, strict=True):
        if len(field) == 1:
            break
        limit = None if time_limit is None else time_limit * each.work / work
        arrived: list[Entrant] = []
        for entrant in field[:count]:
            trainer = make(_short(config, each, entrant.number), entrant.number)
            if entrant.found:
                trainer.begin_at(entrant.found)
            try:
                loss = trainer.run(time_limit=limit, look=look(entrant.number)).loss
                arrived.append(Entrant(loss, entrant.number, trainer.found))
            except Diverged:
                continue
            if stopped():
                return min([*arrived, *field], key=_loss).found
        field = sorted(arrived, key=_loss) or field
    return field[0].found


def _short(config: Config, each: Round, number: int) -> Config:
    steps = max(1, int(each.steps * config.steps))
    return config.with_(
        {
            "steps": steps,
            "starts": 1,
            "warmup": min(config.warmup, steps // 10),
            "batch": max(1, int(each.batch * config.batch)),
            "rate": each.rates[number % len(each.rates)] * config.rate,
        }
    )


def _loss(entrant: Entrant) -> float:
    return math.inf if math.isnan(entrant.loss) else entrant.loss
