"""Riemannian optimisers in moving frames: gradient coordinates (n, width) in, steps in the same frames out.

A frame travels with its node, so moments need no transport. State is plain tensors, which a checkpoint keeps.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Adam:
    """Adam, coordinate by coordinate: step = -rate · m / (√v + ε), means of past gradients and of their squares."""

    def __init__(
        self, shape: tuple[int, ...], betas: tuple[float, float], device: torch.device | str = "cpu"
    ):
        self.betas, self.count = betas, 0
        self.mean = torch.zeros(shape, dtype=torch.float64, device=device)
        self.square = torch.zeros(shape, dtype=torch.float64, device=device)

    def step(self, gradient: Tensor, rate: float) -> Tensor:
        first, second = self.betas
        self.count += 1
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        root = (self.square / (1 - second**self.count)).sqrt_().add_(1e-12)
        return self.mean.div(root).mul_(-rate / (1 - first**self.count))

    @property
    def state(self) -> dict[str, Tensor]:
        return {"mean": self.mean, "square": self.square, "count": torch.tensor(self.count)}

    @state.setter
    def state(self, kept: dict[str, Tensor]) -> None:
        self.mean.copy_(kept["mean"])
        self.square.copy_(kept["square"])
        self.count = int(kept["count"])


class GradientDescent:
    """Riemannian stochastic gradient descent, the gradient of all nodes together shortened to at most `clip`."""

    def __init__(self, clip: float):
        self.clip = clip

    def step(self, gradient: Tensor, rate: float) -> Tensor:
        length = gradient.norm().clamp(min=self.clip)
        return gradient * (-rate * self.clip / length)

    @property
    def state(self) -> dict[str, Tensor]:
        return {}

    @state.setter
    def state(self, kept: dict[str, Tensor]) -> None:
        pass
