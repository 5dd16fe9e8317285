"""What looks on while a run trains: the caller's function, Ctrl-C, a log of losses, and checkpoints."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

from weyl import storage

from . import checkpoint
from .trainer import State, Trainer


class Interrupt(AbstractContextManager):
    """The first Ctrl-C is `heard`, for a run to stop at its next look; the second raises KeyboardInterrupt at once."""

    heard = False

    def __enter__(self) -> Interrupt:
        self._before: Any = None
        if threading.current_thread() is not threading.main_thread():
            return self
        if signal.getsignal(signal.SIGINT) not in (
            signal.SIG_IGN,
            None,
        ):  # a shell's & shuts our ears: let it
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *problem: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True

    def look(self, state: State) -> None:
        """What a run calls now and then."""
        state.stop |= self.heard


class Watch:
    """Called by the loop now and then, in the first of several processes.

    A log or a checkpoint that cannot be written any more (a full disk) is warned of once and ends no run: the last
    checkpoint stays as it was, and the next one is tried all the same.
    """

    def __init__(
        self,
        trainer: Trainer,
        interrupt: Interrupt,
        *,
        callback: Callable[[State], Any] | None = None,
        path: str | os.PathLike | None = None,
        every: float = 10.0,
        identity: dict[str, Any] | None = None,
        log: str | os.PathLike | None = None,
    ):
        first = trainer.workers.first
        self.trainer, self.interrupt, self.callback = trainer, interrupt, callback if first else None
        self.path, self.log = (path, log) if first else (None, None)
        self.every, self.identity, self.last = every, identity or {}, time.monotonic()
        self.logged, self.warned, self.stopped = 0, False, False
        if self.path is not None and not Path(self.path).parent.is_dir():
            raise ValueError(f"checkpoint {self.path}: there is no folder {Path(self.path).parent}")
        if self.log is not None:
            self.logged = _begin_log(self.log, trainer.losses)

    def __call__(self, state: State) -> None:
        if self.callback is not None:
            self.callback(state)
        self.write_log()
        if time.monotonic() - self.last >= self.every:
            self.keep()
        self.interrupt.look(state)
        state.stop |= self.stopped

    def of_start(self, number: int) -> Callable[[State], None]:
        """What looks on while a start is tried: no log and no checkpoint; a stop ends the run itself too."""

        def look(state: State) -> None:
            state.start = number
            if self.callback is not None:
                self.callback(state)
            self.interrupt.look(state)
            self.stopped |= state.stop

        return look

    def keep(self) -> None:
        """Writes a checkpoint: the state at the run's last report."""
        if self.path is None:
            return
        plain = dict(self.trainer.kept)
        tensors = plain.pop("tensors")
        try:
            checkpoint.save(self.path, {**plain, "identity": self.identity}, tensors)
        except OSError as problem:
            if not self.warned:
                _warn("no checkpoint could be written, training goes on: %s: %s", self.path, problem.strerror)
            self.warned = True
        self.last = time.monotonic()

    def write_log(self) -> None:
        """Adds the losses that are new, one JSON object a line."""
        if self.log is None or self.logged == len(self.trainer.losses):
            return
        seconds, gap = round(self.trainer.seconds, 3), self.trainer.gap
        about = {"seconds": seconds, "gap": gap, "dtype": self.trainer.dtype}
        lines = [_line(step, loss, about) for step, loss in self.trainer.losses[self.logged :]]
        self.logged = len(self.trainer.losses)
        try:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write("".join(lines))
        except OSError as problem:
            _warn("the log ends here, training goes on: %s: %s", self.log, problem.strerror)
            self.log = None


def resumed(trainer: Trainer, path: str | os.PathLike, identity: dict[str, Any]) -> None:
    """Takes the state that a checkpoint of the same run holds; ValueError where it is of another one."""
    plain, tensors = checkpoint.load(path)
    found = plain.pop("identity")
    if found != identity:
        other = sorted(name for name in {*found, *identity} if found.get(name) != identity.get(name))
        raise ValueError(
            f"{path}: the checkpoint is of a run with another {', '.join(other)}: remove it, or ask for the same"
        )
    for name, x in trainer.state["tensors"].items():
        if name not in tensors or tensors[name].shape != x.shape:
            raise ValueError(
                f"{path}: the checkpoint is of a machine that keeps points in another form (with the compiled "
                "kernel or without, CPU or GPU): go on there, or remove it to start anew"
            )
    trainer.state = {**plain, "tensors": tensors}


def _begin_log(path: str | os.PathLike, losses: list[tuple[int, float]]) -> int:
    """Empties the log of a new run; of a resumed one keeps what came before, and says how many losses that are."""
    last = losses[-1][0] if losses else 0
    steps = {}
    if last and Path(path).is_file():
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            step = _step(line)
            if 0 < step <= last:
                steps[step] = line + "\n"
    storage.write_whole(path, "".join(steps.values()).encode())
    return sum(step <= max(steps, default=0) for step, _ in losses)


def _step(line: str) -> int:
    """The step that a line of the log is of; 0 where it is none, such as one that was cut off."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return 0


def _line(step: int, loss: float, about: dict[str, Any]) -> str:
    return json.dumps({"step": step, "loss": loss, **about}) + "\n"


def _warn(text: str, *words: Any) -> None:
    logging.getLogger("weyl").warning(text, *words)
