"""Everything that decides how an embedding is trained; kept in its file, so that a run can be repeated or resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
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
    dtype: str = "float32"  # of the pair kernels; points always move in float64

    objective: str = "relative"  # mean |d/g - 1|, which is the average distortion itself
    ranking: float = 0.0  # weight of the pairs that should lie beyond a node's neighbours
    pairs: str = (
        "all"  # all: each once an epoch; near: half of a batch from near pairs; sampled: with replacement
    )
    batch: int = 8192  # pairs a step
    steps: int = 8000
    optimizer: str = "adam"  # or sgd
    rate: float = 0.1  # of the largest step, in units of the space
    betas: tuple[float, float] = (0.9, 0.99)  # of Adam
    clip: float = 10.0  # longest gradient of a node, for sgd
    schedule: str = "cosine"  # to zero at the end; or plateau: divided by 5 where nothing is gained
    warmup: int = 200  # steps until the rate is reached
    patience: int = 50  # epochs without gain before a plateau lowers the rate
    stop_after: int = 150  # epochs without gain before a plateau ends the run
    burn_in: int = 0  # epochs at a tenth of the rate
    geodesics: bool = False  # follow exact geodesics instead of the retraction
    spread: float = 0.3  # of the random start
    starts: int = 1  # tried for a twentieth of the steps each; the best goes on
    learn_scale: bool = False

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("batch", "steps", "starts", "patience", "stop_after"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: expected a whole number, at least 1, got {value!r}")
        for name in ("rate", "clip", "spread"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: expected a positive number, got {getattr(self, name)!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed: expected a whole number, at least 0, got {self.seed!r}")
        object.__setattr__(self, "betas", tuple(self.betas))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def with_(self, **changed: Any) -> Config:
        """The same run with some fields changed; ValueError names a field that does not exist."""
        known = [field.name for field in fields(self)]
        for name in changed:
            if name not in known:
                raise ValueError(f"config: no field {name!r}; there are {', '.join(known)}")
        return replace(self, **changed)


CHOICES = {
    "recipe": RECIPES,
    "effort": EFFORTS,
    "dtype": ("float32", "float64"),
    "objective": tuple(OBJECTIVES),
    "pairs": ("all", "sampled", "near"),
    "optimizer": ("adam", "sgd"),
    "schedule": ("cosine", "plateau"),
}
