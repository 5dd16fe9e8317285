"""The few numbers that are trained beside the points: weights of a norm, curvature of balls, the unit of distances."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from weyl.geometry.matrix_ball import MatrixBall
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.layout import Part
from weyl.kernels.moving import MovingPoints

from .optimizers import Adam


class Learned:
    """Raw parameters and their Adam; without any, nothing here costs anything."""

    def __init__(self, kernel: PairKernel, unit: float, learn_unit: bool):
        self.kernel, self.log_unit = kernel, torch.tensor(math.log(unit), dtype=torch.float64)
        self.learn_unit = learn_unit
        leaves = [*kernel.norm.parameters(), *kernel.space.parameters()]
        self.parameters: list[Tensor] = [*leaves, *([self.log_unit] if learn_unit else [])]
        self.optimizers = [Adam(tuple(x.shape), (0.9, 0.99)) for x in self.parameters]
        self.curved = [part for part in kernel.layout.curvatures if isinstance(part.space, MatrixBall)]

    @property
    def unit(self) -> float:
        """Graph units a unit of the space."""
        return math.exp(float(self.log_unit))

    def step(
        self,
        extras: Tensor,
        unit_slope: Tensor,
        totals: Tensor,
        moving: MovingPoints,
        count: float,
        rate: float,
    ) -> None:
        """One step on the means over `count` pairs of the sums `extras` (kernel), `unit_slope` and `totals` (nodes)."""
        if not self.parameters:
            return
        for x in self.parameters:
            x.grad = None
        with torch.enable_grad():
            if self.kernel.extras:
                torch.autograd.backward(self.kernel.learned(), list(self._split(extras.cpu() / count)))
        held = [(part, self._held(part, totals, moving, count)) for part in self.curved]
        if self.learn_unit:
            self.log_unit.grad = unit_slope.cpu() / count
        with torch.no_grad():
            for x, optimizer in zip(self.parameters, self.optimizers, strict=True):
                if x.grad is not None:
                    x += optimizer.step(x.grad.to(torch.float64), rate)
            for part, xi in held:
                moving.put(part, part.space.exp_o(xi))

    def _split(self, extras: Tensor) -> list[Tensor]:
        pieces, at = [], 0
        for x in self.kernel.learned():
            pieces.append(extras[at : at + x.numel()].reshape(x.shape))
            at += x.numel()
        return pieces

    def _held(self, part: Part, totals: Tensor, moving: MovingPoints, count: float) -> Tensor:
        """Points of a ball as normal coordinates, which stay where they are when its curvature changes.

        Adds to the curvature's gradient what moving the points along brings.
        """
        space, points = part.space, moving.part_points(part)
        xi = space.log_o(points)
        mine = totals[:, part.gradient : part.gradient + part.gradient_size].to(torch.float64) / count
        pulled = part.tangent(mine) * torch.as_tensor(space.weight, dtype=torch.float64)
        with torch.enable_grad():
            moved = space.exp_o(xi)
            velocity = space.pull(
                points, moved - points
            )  # zero, but its derivative in k is the frame's velocity
            (velocity * pulled).sum().backward()
        return xi

    # ── what a checkpoint keeps ──────────────────────────────────────────────────────────────────────────────────
    @property
    def state(self) -> dict[str, Tensor]:
        found = {}
        for i, (x, optimizer) in enumerate(zip(self.parameters, self.optimizers, strict=True)):
            found[f"{i}.value"] = x.detach()
            found |= {f"{i}.{name}": value for name, value in optimizer.state.items()}
        return found

    @state.setter
    def state(self, kept: dict[str, Tensor]) -> None:
        for i, (x, optimizer) in enumerate(zip(self.parameters, self.optimizers, strict=True)):
            with torch.no_grad():
                x.copy_(kept[f"{i}.value"])
            optimizer.state = {name: kept[f"{i}.{name}"] for name in ("mean", "square", "count")}
