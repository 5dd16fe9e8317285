"""A line of progress on stderr, only where that is a terminal: share done, loss, rate, time that remains."""

from __future__ import annotations

import logging
import shutil
import sys
from types import TracebackType
from typing import Any

from weyl.cli.problems import one_line
from weyl.training.processes import place

CLEAR = "\r\x1b[K"


class Progress(logging.Handler):
    """Called with the state of a run; silent where nobody watches, and in all but the first of several processes.

    Inside its `with`, warnings of weyl become lines of their own, with the name of the command.
    """

    def __init__(self, what: str):
        super().__init__(logging.WARNING)
        self.what, self.speaks = what, place()[0] == 0
        self.shown = self.speaks and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        logging.getLogger("weyl").addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("weyl").removeHandler(self)
        self.clear()

    def __call__(self, state: Any) -> None:
        if not self.shown:
            return
        rate = state.pairs_seen / state.seconds if state.seconds else 0.0
        left = state.seconds * (1 - state.progress) / state.progress if state.progress else float("inf")
        text = f"trying start {state.start}, " if state.start else ""
        text += f"{state.progress:4.0%}, loss {state.loss:.4g}, {rate / 1e6:.1f} million pairs a second"
        if left < float("inf") and not state.start:
            text += f", {_duration(left)} left"
        self.say(text)

    def say(self, text: str) -> None:
        """What goes on, in place of what went on before."""
        if self.shown:
            width = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be taken back
            print(CLEAR + f"{self.what}: {text}"[:width], end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Takes the line away."""
        if self.shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """A line that stays."""
        if self.speaks:
            self.clear()
            print(one_line(f"{self.what}: {text}"), file=sys.stderr, flush=True)

    def emit(self, record: logging.LogRecord) -> None:
        self.warn(record.getMessage())


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    )
