"""Ways of doing the same, timed in turns, so that a busy moment of the machine hits all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

FEWEST = 3  # rounds, whatever the time they take


@dataclass(frozen=True)
class Timing:
    """Repeated measurements of one way."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """The middle half of the measurements: its width as a share of the median."""
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median


def once(way: Callable[[], Any], device: torch.device | str = "cpu") -> float:
    """Seconds of one call; on a GPU by events of its own clock."""
    if torch.device(device).type != "cuda":
        begun = time.perf_counter()
        way()
        return time.perf_counter() - begun
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize(device)
    start.record()
    way()
    end.record()
    torch.cuda.synchronize(device)
    return start.elapsed_time(end) / 1000


def interleaved(
    ways: Sequence[Callable[[], Any]],
    repeats: int = 7,
    limit: float = math.inf,
    device: torch.device | str = "cpu",
) -> list[Timing]:
    """Rounds of all ways in turns: `repeats`, or fewer (not below three) once `limit` seconds are used up."""
    rounds: list[list[float]] = []
    begun = time.perf_counter()
    while len(rounds) < FEWEST or (len(rounds) < repeats and time.perf_counter() - begun < limit):
        rounds.append([once(way, device) for way in ways])
    return [Timing(seconds) for seconds in zip(*rounds, strict=True)]


def medians(ways: Sequence[Callable[[], Any]], repeats: int = 7) -> list[float]:
    """Median seconds of each way; one untimed call of each comes first."""
    for way in ways:
        way()
    return [timing.median for timing in interleaved(ways, repeats)]
