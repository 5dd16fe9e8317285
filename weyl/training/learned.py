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
        self.kernel, self.given_unit, self.learn_unit = kernel, unit, learn_unit
        self.log_unit = torch.tensor(math.log(unit), dtype=torch.float64)
        leaves = {id(x): x for x in (*kernel.norm.parameters(), *kernel.space.parameters())}
        self.parameters: list[Tensor] = [*leaves.values(), *([self.log_unit] if learn_unit else [])]
        self.optimizers = [Adam(tuple(x.shape), (0.9, 0.99)) for x in self.parameters]
        self.curved = [part for part in kernel.layout.curvatures if isinstance(part.space, MatrixBall)]

    @property
    def unit(self) -> float:
        """Graph units a unit of the space."""
        return math.exp(float(self.log_unit)) if self.learn_unit else self.given_unit

    def slope(
        self, extras: Tensor, unit_slope: Tensor, totals: Tensor, moving: MovingPoints, count: float
    ) -> None:
        """Leaves in .grad the slopes of the mean loss over `count` pairs, at fixed normal coordinates of the points.

        From the sums `extras` (kernel), `unit_slope` and `totals` (nodes) at the points that `moving` holds.
        """
        if not self.parameters:
            return
        for x in self.parameters:
            x.grad = None
        if self.kernel.extras:
            with torch.enable_grad():
                torch.autograd.backward(self.kernel.learned(), list(self._split(extras.cpu() / count)))
        for part in self.curved:
            self._add_motion(part, totals, moving, count)
        if self.learn_unit:
            self.log_unit.grad = unit_slope.cpu() / count

    @torch.no_grad()
    def step(self, moving: MovingPoints, rate: float) -> None:
        """One step along `slope`; points of a ball keep their normal coordinates while its curvature changes."""
        held = [(part, part.space.log_o(moving.part_points(part))) for part in self.curved]
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

    def _add_motion(self, part: Part, totals: Tensor, moving: MovingPoints, count: float) -> None:
        """Adds to the slope of a ball's curvature what it brings that the points move along, at fixed coordinates."""
        space, points = part.space, moving.part_points(part)
        mine = totals[:, part.gradient : part.gradient + part.gradient_size].to(torch.float64) / count
        pulled = part.tangent(mine) * torch.as_tensor(space.weight, dtype=torch.float64)
        xi = space.log_o(points)
        with torch.enable_grad():
            moved = space.exp_o(xi)
            # zero, but its derivative in k is the velocity of the points, in their frames
            velocity = space.pull(points, moved - points)
            (velocity * pulled).sum().backward()

    # ── what a checkpoint keeps ──────────────────────────────────────────────────────────────────────────────────
    @property
    def values(self) -> list[Tensor]:
        """The raw parameters, as they are now."""
        return [x.detach() for x in self.parameters]

    @values.setter
    def values(self, kept: list[Tensor]) -> None:
        for x, value in zip(self.values, kept, strict=True):
            x.copy_(value)

    @property
    def moments(self) -> dict[str, Tensor]:
        """The state of their optimisers."""
        states = (optimizer.state.items() for optimizer in self.optimizers)
        return {f"{i}.{name}": x for i, state in enumerate(states) for name, x in state}

    @moments.setter
    def moments(self, kept: dict[str, Tensor]) -> None:
        for i, optimizer in enumerate(self.optimizers):
            optimizer.state = {name: kept[f"{i}.{name}"] for name in optimizer.state}
