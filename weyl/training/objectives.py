"""What is minimised: the mean over pairs of how far the distance d in the space is from the distance g in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Objective:
    """The loss of every pair and its derivative in d."""

    name: str
    loss: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]


OBJECTIVES = {
    each.name: each
    for each in (
        Objective("relative", lambda d, g: (d / g - 1).abs(), lambda d, g: torch.sign(d - g) / g),
        Objective(
            "paper", lambda d, g: ((d / g).square() - 1).abs(), lambda d, g: torch.sign(d - g) * 2 * d / g**2
        ),
        Objective("relative-squared", lambda d, g: (d / g - 1).square(), lambda d, g: 2 * (d / g - 1) / g),
        Objective("stress", lambda d, g: (d - g).square(), lambda d, g: 2 * (d - g)),
    )
}
