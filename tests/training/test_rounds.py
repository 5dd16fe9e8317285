"""Several starts in rounds: which come through, what is left when a run is stopped, when starts fail."""

import math

import pytest
import torch

from weyl.training.config import Config
from weyl.training.rounds import ROUNDS, best_start
from weyl.training.trainer import Diverged

CONFIG = Config(steps=1000, rate=0.03, starts=12, batch=400)


class Runner:
    """Stands for a trainer: its loss is what `worth` says of its start and of where it has come from."""

    def __init__(self, config, number, worth, seen):
        self.config, self.number, self.worth, self.seen, self.before = config, number, worth, seen, None

    def begin_at(self, found):
        self.before = found

    def run(self, *, time_limit, look):
        rounds = 0 if self.before is None else int(self.before["rounds"])
        self.seen.append((rounds, self.number, self.config, time_limit))
        loss = self.worth(rounds, self.number)
        if loss is None:
            raise Diverged("no number")
        self.found = {"rounds": torch.tensor(rounds + 1), "number": torch.tensor(self.number)}
        return type("Trained", (), {"loss": loss})


def race(worth, config=CONFIG, stop_after=None, time_limit=None):
    """What is found, and all runs that it took."""
    seen = []
    found = best_start(
        config,
        lambda short, number: Runner(short, number, worth, seen),
        lambda number: None,
        lambda: stop_after is not None and len(seen) >= stop_after,
        time_limit,
    )
    return {name: int(x) for name, x in found.items()}, seen


def test_the_best_of_every_round_come_through():
    """A start that was among the best may still win at the end; one that was not has no second chance."""
    first = [5, 3, 9, 1, 7, 2, 8, 6, 4, 11, 10, 12]
    found, seen = race(lambda rounds, number: first[number] if rounds == 0 else 100 - first[number])
    assert [number for rounds, number, *_ in seen if rounds == 0] == list(range(12))
    assert [number for rounds, number, *_ in seen if rounds == 1] == [3, 5, 1], "the three best, best first"
    assert found == {"number": 1, "rounds": 2}


def test_short_runs_have_their_share_of_steps_pairs_and_rate():
    _, seen = race(lambda rounds, number: number)
    for rounds, number, config, limit in seen:
        each = ROUNDS[rounds]
        assert (config.steps, config.batch, config.starts) == (
            int(1000 * each.steps),
            int(400 * each.batch),
            1,
        )
        assert config.rate == pytest.approx(0.03 * each.rates[number % len(each.rates)])
        assert config.warmup <= config.steps // 10 and config.seed == CONFIG.seed and limit is None


def test_a_time_limit_is_dealt_by_the_pairs():
    """What rounds may take together leaves the rest to the run itself."""
    _, seen = race(lambda rounds, number: number, time_limit=10.0)
    limits = [limit for *_, limit in seen]
    work = [ROUNDS[rounds].work for rounds, *_ in seen]
    assert sum(limits) == pytest.approx(10.0 * sum(work) / (1 + sum(work)))
    assert all(
        limit / one == pytest.approx(limits[0] / work[0]) for limit, one in zip(limits, work, strict=True)
    )


@pytest.mark.parametrize("starts", [1, 2, 3, 4, 5])
def test_few_starts(starts):
    """One is not tried; a round that one alone would enter comes once, for it."""
    found, seen = race(lambda rounds, number: 9 - number, CONFIG.with_({"starts": starts}))
    if starts == 1:
        assert not found and not seen
        return
    assert found["number"] == starts - 1
    assert len([1 for rounds, *_ in seen if rounds == 0]) == starts
    assert len([1 for rounds, *_ in seen if rounds == 1]) == math.ceil(starts / 4)


def test_starts_that_fail_are_left_out():
    found, seen = race(lambda rounds, number: None if number != 4 else 1.0)
    assert found["number"] == 4 and len(seen) == 12
    found, _ = race(lambda rounds, number: math.nan if number < 11 else 5.0)
    assert found["number"] == 11
    assert race(lambda rounds, number: None) == ({}, race(lambda rounds, number: None)[1]), (
        "then the run finds out"
    )
    found, _ = race(lambda rounds, number: number if rounds == 0 else None)
    assert found == {"number": 0, "rounds": 1}, "as it was before"


def test_where_all_is_stopped_the_best_so_far_is_taken():
    def worth(rounds, number):
        return [5, 3, 9, 1][number % 4]

    for count in range(1, 5):
        found, seen = race(worth, stop_after=count)
        assert len(seen) == count and found["number"] == min(range(count), key=lambda i: worth(0, i))
    found, seen = race(lambda rounds, number: 5 if rounds == 0 else 50, stop_after=13)
    assert len(seen) == 13 and found == {"number": 0, "rounds": 1}, "a worse end of a round is not"
