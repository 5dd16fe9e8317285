"""What is minimised: a loss of every pair, of how far its distance d in the space is from g in the graph.

The formulas here are the judge of the compiled ones (native/pair_objective.hpp), and what other devices run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from weyl.kernels.layout import LOSSES, LossLayout


@dataclass(frozen=True)
class Objective:
    """The loss of every pair and its derivative in d."""

    name: str
    loss: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]
    weight: float = 0.0  # of the ranking, per unit of length
    border: float = 0.0

    def layout(self, unit: float) -> LossLayout:
        """For compiled code, where one unit of the space stands for `unit` of the graph."""
        return LossLayout(LOSSES[self.name], unit, self.weight, self.border)


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


def with_ranking(objective: Objective, weight: float, edge: float) -> Objective:
    """The objective and `weight` times a hinge: neighbours nearer than 3/2 of an edge's length, all others farther.

    What makes mean average precision, for graphs whose edges have one length.
    """
    border = 1.5 * edge

    def over(d: Tensor, g: Tensor) -> Tensor:
        side = torch.where(g < border, 1.0, -1.0).to(d)
        return side * (
            (d - border) * side > 0
        )  # ±1 where a pair lies on the wrong side, the sign that of d's slope

    return Objective(
        objective.name,
        lambda d, g: objective.loss(d, g) + (weight / edge) * over(d, g) * (d - border),
        lambda d, g: objective.slope(d, g) + (weight / edge) * over(d, g),
        weight / edge,
        border,
    )
