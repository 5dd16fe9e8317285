"""Which of several processes this is, as torchrun says in the environment; imports nothing heavy."""

from __future__ import annotations

import os

NAMES = (
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)  # some alone say nothing: schedulers set them too


def place() -> tuple[int, int]:
    """The number of this process and how many there are: 0 and 1 where nobody started several to work together."""
    if any(name not in os.environ for name in NAMES):
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
