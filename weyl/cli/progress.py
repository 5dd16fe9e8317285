"""A line of progress on stderr, only where that is a terminal: share done, loss, rate, time that remains."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Called with the state of a run; silent where nobody watches."""

    def __init__(self, what: str):
        self.what, self.shown = what, sys.stderr.isatty()

    def __call__(self, state: Any) -> None:
        if not self.shown:
            return
        rate = state.pairs_seen / state.seconds if state.seconds else 0.0
        left = state.seconds * (1 - state.progress) / state.progress if state.progress else float("inf")
        text = f"{self.what}: {state.progress:4.0%}, loss {state.loss:.4g}, {rate / 1e6:.1f} million pairs a second"
        if left < float("inf"):
            text += f", {_duration(left)} left"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """What goes on where there is no share to show."""
        if self.shown:
            print(f"\r\x1b[K{self.what}: {text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    )
