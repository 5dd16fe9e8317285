"""Numbers that users give, checked: one line says what was expected."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import torch
from torch import Tensor


def whole(value: Any, what: str, least: int = 1) -> int:
    """A whole number, numpy's too."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{what} must be a whole number, at least {least}, got {value!r}")
    return number


def numbers(value: Any, what: str) -> Tensor:
    """Finite numbers, in float64; a tensor keeps its gradient."""
    try:
        given = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{what}: expected a number or a tensor of numbers, got {value!r}") from None
    if not bool(given.detach().isfinite().all()):
        raise ValueError(
            f"{what} must be finite, got {value!r}" if not given.ndim else f"{what} must be finite"
        )
    return given


def finite(value: Any, what: str, least: float = -math.inf) -> float:
    """One finite number."""
    given = numbers(value, what)
    if given.ndim or given < least:
        raise ValueError(f"{what} must be one number, at least {least:g}, got {value!r}")
    return float(given)


def generator(seed: Any, where: str) -> torch.Generator:
    """A generator of its own, so that torch's is left alone; of a fresh seed where none is given."""
    made = torch.Generator()
    if seed is None:
        made.seed()
        return made
    try:
        return made.manual_seed(whole(seed, "seed", -(2**63)))
    except (ValueError, RuntimeError, OverflowError):
        raise ValueError(f"{where}: seed must be a whole number of at most 64 bits, got {seed!r}") from None
