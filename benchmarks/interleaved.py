"""Times several ways of doing the same in turns, so that a busy moment of the machine hits all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any


def medians(ways: Sequence[Callable[[], Any]], repeats: int = 7) -> list[float]:
    """Median seconds of each way; one untimed call of each comes first."""
    for way in ways:
        way()
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, times in zip(ways, seconds, strict=True):
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in seconds]
