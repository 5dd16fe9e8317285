"""Ways are timed in turns, and what is said of the times is what they are."""

import pytest

from weyl.bench import timing
from weyl.bench.timing import Timing, interleaved, medians


def test_all_ways_have_their_turn_in_every_round():
    calls = []
    found = interleaved([lambda: calls.append("a"), lambda: calls.append("b")], repeats=4)
    assert "".join(calls) == "abababab"
    assert [len(timing.seconds) for timing in found] == [4, 4]


def test_slow_ways_have_three_rounds(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: float(next(clock)))
    (found,) = interleaved([lambda: None], repeats=50, limit=0.0)
    assert found.seconds == (1.0, 1.0, 1.0)


def test_median_and_spread_of_known_times():
    found = Timing((4.0, 1.0, 2.0, 3.0, 100.0))
    assert found.median == 3.0
    assert found.spread == pytest.approx((4.0 - 2.0) / 3.0)


def test_medians_call_once_more_than_they_time():
    calls = []
    assert len(medians([lambda: calls.append(0)], repeats=5)) == 1
    assert len(calls) == 6
