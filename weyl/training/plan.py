"""How a graph is trained where nobody says: batch, steps and starts, from its size and the effort that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .config import Config

STEPS = {"quick": 1500, "normal": 20_000, "best": 80_000}
EPOCHS = {"quick": 20, "normal": 400, "best": 2000}  # or more steps, until every pair was seen so often
STARTS = {"quick": 1, "normal": 12, "best": 32}
FEWEST_STEPS = 4000  # for which several starts are tried: below it a trial is too short to tell
RATE_ALONE = {"quick": 0.1, "normal": 0.07, "best": 0.07}  # from a random start; few steps have to be long
RATE_AFTER = 0.04  # from where the best of several starts has come to
PAIRS = {"quick": 60e6, "normal": 400e6, "best": 6e9}  # seen in a run, at most: large graphs take fewer steps
BATCH = 8192
PAIRS_PER_NODE = 8  # in a batch: then moving the nodes costs little beside their pairs
PAPER_EPOCHS = {"quick": 100, "normal": 3000, "best": 3000}


def plan(config: Config, nodes: int, pairs: int, given: Mapping[str, Any]) -> Config:
    """The configuration with everything set that depends on the graph; what is `given` stays."""
    if config.recipe == "paper":
        return config.with_(_paper(config, pairs) | dict(given))
    batch = int(given.get("batch", max(BATCH, PAIRS_PER_NODE * nodes)))
    wanted = max(STEPS[config.effort], EPOCHS[config.effort] * -(-pairs // batch))
    steps = int(min(wanted, max(200, PAIRS[config.effort] // batch)))
    steps = int(given.get("steps", steps))
    starts = int(given.get("starts", STARTS[config.effort] if steps >= FEWEST_STEPS else 1))
    rate = RATE_ALONE[config.effort] if starts == 1 else RATE_AFTER
    found: dict[str, Any] = {"batch": batch, "steps": steps, "starts": starts, "rate": rate}
    found["warmup"] = min(config.warmup, steps // 10)
    return config.with_(found | dict(given))


def _paper(config: Config, pairs: int) -> dict[str, Any]:
    """The recipe that the paper describes, with one setting out of its search."""
    batch = 2048
    return {
        "objective": "paper",
        "total": True,
        "optimizer": "sgd",
        "movement": "projection",
        "schedule": "plateau",
        "rate": 0.01,
        "clip": 50.0,
        "burn_in": 10,
        "patience": 50,
        "stop_after": 150,
        "batch": batch,
        "steps": PAPER_EPOCHS[config.effort] * -(-pairs // batch),
        "spread": 0.001,
        "unit": 1.0,
    }
