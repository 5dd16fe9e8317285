"""What looks on while a run trains: the caller's function, Ctrl-C, a log of losses, and checkpoints."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from . import checkpoint
from .trainer import State, Trainer


class Watch(AbstractContextManager):
    """Called by the loop now and then. The first Ctrl-C stops the run at its next look, the second at once."""

    def __init__(
        self,
        trainer: Trainer,
        callback: Callable[[State], Any] | None,
        path: str | os.PathLike | None,
        every: float,
        identity: dict[str, Any],
        log: str | os.PathLike | None,
        append: bool,
    ):
        self.trainer, self.callback, self.path, self.every = trainer, callback, path, every
        self.identity, self.log, self.interrupted = identity, log, False
        self.last, self.logged = time.monotonic(), len(trainer.losses)
        self._before: Any = None
        if log is not None and not append:
            open(log, "w").close()

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *problem: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def __call__(self, state: State) -> None:
        if self.callback is not None:
            self.callback(state)
        self.write_log()
        if self.path is not None and time.monotonic() - self.last >= self.every:
            self.keep()
        state.stop |= self.interrupted

    def keep(self) -> None:
        """Writes a checkpoint."""
        if self.path is None or not self.trainer.workers.first:
            return
        plain = self.trainer.state
        tensors = plain.pop("tensors")
        checkpoint.save(self.path, {**plain, "identity": self.identity}, tensors)
        self.last = time.monotonic()

    def write_log(self) -> None:
        """Adds the losses that are new, one JSON object a line."""
        new, self.logged = self.trainer.losses[self.logged :], len(self.trainer.losses)
        if self.log is None or not new or not self.trainer.workers.first:
            return
        about = {
            "seconds": round(self.trainer.seconds, 3),
            "gap": self.trainer.gap,
            "dtype": self.trainer.dtype,
        }
        with open(self.log, "a", encoding="utf-8") as file:
            for step, loss in new:
                file.write(json.dumps({"step": step, "loss": loss, **about}) + "\n")


def resumed(trainer: Trainer, path: str | os.PathLike, identity: dict[str, Any]) -> None:
    """Takes the state that a checkpoint of the same run holds; ValueError where it is of another one."""
    plain, tensors = checkpoint.load(path)
    found = plain.pop("identity")
    if found != identity:
        other = sorted(name for name in {*found, *identity} if found.get(name) != identity.get(name))
        raise ValueError(
            f"{path}: the checkpoint is of a run with another {', '.join(other)}: remove it, or ask for the same"
        )
    trainer.state = {**plain, "tensors": tensors}
