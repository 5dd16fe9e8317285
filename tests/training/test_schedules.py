"""Schedules: how the rate rises and falls."""

import json
import math
from itertools import pairwise

import pytest

from weyl.training.config import Config
from weyl.training.schedules import schedule


def cosine(**fields):
    return schedule(Config(rate=0.4, warmup=10, steps=1000, **fields), steps_per_epoch=7)


def plateau(**fields):
    config = Config(schedule="plateau", rate=1.0, **{"patience": 3, "stop_after": 10, **fields})
    return schedule(config, steps_per_epoch=5)


def test_cosine_ends_at_zero():
    rates = [cosine()(step, step / 1000) for step in range(1001)]
    assert rates[1000] == pytest.approx(0, abs=1e-16) and max(rates) <= 0.4
    assert all(b < a for a, b in pairwise(rates[9:])), "after the warm-up it falls"


def test_cosine_is_half_way_down_at_half_time():
    assert cosine()(500, 0.5) == pytest.approx(0.2)


def test_warm_up_is_linear_and_never_zero():
    rates = [cosine()(step, 0) for step in range(20)]
    assert rates[:10] == pytest.approx([0.04 * (k + 1) for k in range(10)])
    assert rates[10:] == pytest.approx([0.4] * 10)


def test_no_warm_up():
    assert schedule(Config(rate=0.4, warmup=0), 1)(0, 0) == pytest.approx(0.4)


def test_cosine_never_ends_by_itself_and_keeps_no_best():
    found = cosine()
    assert not any(found.epoch(loss) for loss in (1.0, 0.5, 2.0)) and not found.finished


def test_plateau_burns_in_at_a_tenth():
    found = plateau(burn_in=2)
    assert [found(step, 0) for step in (0, 9, 10, 100)] == pytest.approx([0.1, 0.1, 1, 1])


def test_plateau_divides_by_five_when_nothing_was_gained_for_too_long():
    found = plateau()
    assert found.epoch(1.0)
    rates = []
    for _ in range(9):
        found.epoch(1.0)  # no gain: not below the best
        rates.append(found(0, 0))
    assert rates == pytest.approx([1, 1, 1, 0.2, 0.2, 0.2, 0.2, 0.04, 0.04])


def test_a_gain_starts_the_patience_again():
    found = plateau()
    gains = [found.epoch(loss) for loss in (1.0, 1, 1, 1, 0.9, 1, 1, 1)]
    assert gains == [True, False, False, False, True, False, False, False] and found(0, 0) == 1
    found.epoch(1.0)
    assert found(0, 0) == pytest.approx(0.2)


def test_plateau_stops_after_long_without_gain():
    found = plateau(patience=100)
    found.epoch(1.0)
    for _ in range(9):
        found.epoch(2.0)
        assert not found.finished
    found.epoch(2.0)
    assert found.finished


def test_a_loss_that_is_no_number_is_no_gain():
    found = plateau()
    assert found.epoch(1.0) and not found.epoch(math.nan) and found.epoch(0.5)


@pytest.mark.parametrize("epochs", range(13))
def test_plateau_goes_on_from_its_state(epochs):
    losses = [1.0, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    whole, first, second = plateau(), plateau(), plateau()
    for loss in losses[:epochs]:
        whole.epoch(loss)
        first.epoch(loss)
    second.state = json.loads(json.dumps(first.state))
    for loss in losses[epochs:]:
        assert whole.epoch(loss) == second.epoch(loss)
        assert (whole(0, 0), whole.finished) == (second(0, 0), second.finished)
