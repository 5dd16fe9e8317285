"""Everything that decides how an embedding is trained; kept in its file, so that a run can be repeated or resumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from .objectives import OBJECTIVES

EFFORTS = ("quick", "normal", "best")
RECIPES = ("default", "paper")


@dataclass(frozen=True)
class Config:
    """One run. Distances are in units of the space, a step is one batch of pairs."""

    space: str = "upper(4)"
    metric: str = "f1"
    recipe: str = "default"
    effort: str = "normal"
    seed: int = 0
    dtype: str = (
        "float32"  # of the pair kernels, float64 where float32 is too short; points always move in float64
    )

    objective: str = "relative"  # mean |d/g - 1|, which is the average distortion itself
    total: bool = False  # follow the sum over a batch, as the paper does, not its mean
    ranking: float = 0.0  # weight of the pairs on the wrong side of the border between neighbours and others
    pairs: str = (
        "all"  # all: each once an epoch; near: half of a batch from near pairs; sampled: with replacement
    )
    batch: int = 8192  # pairs a step
    steps: int = 20_000
    optimizer: str = "adam"  # or sgd
    rate: float = 0.07  # of the largest step, in units of the space
    betas: tuple[float, float] = (0.7, 0.99)  # of Adam
    clip: float = 10.0  # longest gradient of all nodes together, for sgd
    schedule: str = "cosine"  # to zero at the end; or plateau: divided by 5 where nothing is gained
    warmup: int = 200  # steps until the rate is reached, for cosine
    patience: int = 50  # epochs without gain before a plateau lowers the rate
    stop_after: int = 150  # epochs without gain before a plateau ends the run
    burn_in: int = 0  # epochs at a tenth of the rate, for plateau
    movement: str = (
        "retraction"  # or geodesic, exact; or projection: p + X, back into the space, as the paper does
    )
    spread: float = 0.3  # of the random start
    starts: int = 1  # tried in rounds of short trainings (rounds.py); the best goes on
    unit: float = (
        0.0  # graph units a unit of the space; 0: 1, or where that does not fit what the graph asks for
    )
    learn_unit: bool = False
    learned_rate: float = 0.01  # of weights, curvature and the logarithm of the unit, where they are learned

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("batch", "steps", "starts", "patience", "stop_after"):
            _check(name, getattr(self, name), _whole(getattr(self, name), 1), "a whole number, at least 1")
        for name in ("seed", "warmup", "burn_in"):
            _check(name, getattr(self, name), _whole(getattr(self, name), 0), "a whole number, at least 0")
        for name in ("rate", "clip", "spread", "learned_rate"):
            value = getattr(self, name)
            _check(name, value, _real(value) and value > 0, "a positive number")
        for name in ("ranking", "unit"):
            value = getattr(self, name)
            _check(name, value, _real(value) and value >= 0, "a number, at least 0")
        for name in ("total", "learn_unit"):
            _check(name, getattr(self, name), isinstance(getattr(self, name), bool), "true or false")
        object.__setattr__(self, "betas", tuple(self.betas) if isinstance(self.betas, list) else self.betas)
        sound = isinstance(self.betas, tuple) and len(self.betas) == 2
        sound = sound and all(_real(x) and 0 <= x < 1 for x in self.betas)
        _check("betas", self.betas, sound, "two numbers from 0 up to 1")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def with_(self, changed: Mapping[str, Any]) -> Config:
        """The same run with some fields changed; ValueError names a field that does not exist."""
        known = [field.name for field in fields(self)]
        for name in changed:
            if name not in known:
                near = get_close_matches(str(name), known) or known
                raise ValueError(f"config: no field {name!r}; did you mean {', '.join(near)}?")
        return replace(self, **changed)


CHOICES = {
    "recipe": RECIPES,
    "effort": EFFORTS,
    "dtype": ("float32", "float64"),
    "objective": tuple(OBJECTIVES),
    "pairs": ("all", "sampled", "near"),
    "optimizer": ("adam", "sgd"),
    "schedule": ("cosine", "plateau"),
    "movement": ("retraction", "geodesic", "projection"),
}


def _check(name: str, value: Any, sound: bool, expected: str) -> None:
    if not sound:
        raise ValueError(f"{name}: expected {expected}, got {value!r}")


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
