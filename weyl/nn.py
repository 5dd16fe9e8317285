"""Torch modules for losses of one's own: points that any torch optimiser may move, and distances between them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.arguments import whole
from weyl.geometry.norms import BoundNorm


class Points(nn.Module):
    """n points of a space, kept in normal coordinates at the basepoint: p = exp_o(ξ), ξ free.

    No step of any optimiser leaves the space, and a curvature that is learned ("k='learn'") may change sign. Calling
    the module gives the points, (n, *point_shape); `points(indices)` some of them.
    """

    def __init__(
        self,
        space: str | SymmetricSpace,
        n: int,
        spread: float = 0.01,
        seed: int | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ):
        super().__init__()
        made = make_space(space)
        if not isinstance(made, SymmetricSpace):
            raise ValueError(
                f"Points: {made} has no frames; use geoopt.ManifoldParameter with weyl.geoopt_manifold"
            )
        whole(n, "Points: the number of points", 0)
        self.space = made
        dtype = dtype or torch.get_default_dtype()
        start = made.random_points(n, spread=spread, seed=seed, dtype=torch.float64)
        self.coordinates = nn.Parameter(made.log_o(start.detach()).detach().to(dtype=dtype, device=device))
        self.learned = nn.ParameterList(made.parameters())

    def forward(self, indices: Tensor | None = None) -> Tensor:
        chosen = self.coordinates if indices is None else self.coordinates[indices]
        xi = chosen.to(torch.float64)
        o = self.space.origin().to(xi).expand_as(xi)
        return self.space.exp_at(o, self.space.project_tangent(o, xi)).to(chosen.dtype)

    @torch.no_grad()
    def set(self, points: Tensor) -> None:
        """Makes these the points, of any precision, real or complex."""
        if points.is_complex() and self.space.complex_points:
            points = torch.view_as_real(points.resolve_conj())
        points = points.to(self.coordinates.device, torch.float64)
        if points.shape != self.coordinates.shape:
            expected, found = tuple(self.coordinates.shape), tuple(points.shape)
            raise ValueError(f"Points: set takes a tensor of shape {expected}, got {found}")
        o = self.space.origin().to(points)
        self.coordinates.copy_(self.space.log(o.expand_as(points), points))


class PairDistance(nn.Module):
    """The distance between points (or rows of points) in a metric; learned weights are parameters of the module.

    The tolerance is meant for training: errors below it are not worth a second computation (see vector_distance).
    """

    def __init__(self, space: str | SymmetricSpace, metric: str | BoundNorm = "f1", tolerance: float = 1e-8):
        super().__init__()
        self.space, self.tolerance = make_space(space), tolerance
        self.norm = self.space.norm(metric)
        self.learned = nn.ParameterList(self.norm.parameters())

    def forward(self, p: Tensor, q: Tensor) -> Tensor:
        return self.space.distance(p, q, self.norm, self.tolerance)
