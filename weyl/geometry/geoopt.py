"""geoopt, both ways: our spaces as geoopt manifolds (for ManifoldParameter and its optimisers), and theirs as ours."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from .chamber import Chamber, Factor
from .families import space as make_space
from .norms import BoundNorm
from .space import Space

try:
    import geoopt as _geoopt
except ImportError as error:  # pragma: no cover - the message is the point
    raise ImportError("geoopt is not installed; pip install 'weyl[geoopt]' brings it") from error


class GeooptManifold(_geoopt.Manifold):
    """A space of ours for geoopt; the tensors of its parameters have real entries (..., *point_shape)."""

    reversible = True

    def __init__(self, space: str | Space, metric: str | BoundNorm = "f1"):
        super().__init__()
        self.space = make_space(space)
        self.metric = self.space.norm(metric)
        self.name, self.ndim = self.space.name, len(self.space.point_shape)
        for index, parameter in enumerate([*self.space.parameters(), *self.metric.parameters()]):
            self.register_parameter(f"learned_{index}", parameter)

    def _check_point_on_manifold(
        self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        reason = self.space.why_not(x)
        return reason is None, reason

    def _check_vector_on_tangent(
        self, x: Tensor, u: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        if not u.numel():
            return True, None
        tangent = bool((self.proju(x, u) - u).abs().max() <= atol + rtol * u.abs().max())
        return tangent, None if tangent else "the vector is not tangent"

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        return self.space.retract(x, self.proju(x, u))

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        return self.space.exp(x, self.proju(x, u))

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        return self.space.log(x, y)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return self.space.transport(x, y, self.proju(x, v))

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        value = self.space.inner(x, u, u if v is None else v)
        return value.reshape(*value.shape, *[1] * self.ndim) if keepdim else value

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        value = self.space.distance(x, y, self.metric)
        return value.reshape(*value.shape, *[1] * self.ndim) if keepdim else value

    def egrad2rgrad(self, x: Tensor, u: Tensor) -> Tensor:
        return self.space.riemannian_gradient(x, u)

    def projx(self, x: Tensor) -> Tensor:
        return self.space.project(x)

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        visit = self.space._visit(x, loose=(u,))
        at, vector = visit.tensors
        return visit.point(self.space.project_tangent(at, vector))

    def random(self, *size: int, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        """Points of shape size, whose last axes must be the point shape."""
        batch = size[: len(size) - self.ndim]
        if tuple(size[len(batch) :]) != self.space.point_shape:
            raise ValueError(f"{self.name}: expected a size ending in {self.space.point_shape}, got {size}")
        return self.space.random_points(tuple(batch), dtype=dtype, device=device, **options)

    random_naive = random

    def origin(self, *size: Any, dtype: Any = None, device: Any = None, seed: int | None = 42) -> Tensor:
        flat = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        return self.space.basepoint(dtype=dtype, device=device).expand(*flat).clone()


class FromGeoopt(Space):
    """A geoopt manifold as a space of ours: one component of distance, and what geoopt offers of the geometry.

    Complex manifolds have a point shape that ends in 2 here, like our own complex spaces. A retraction of first order,
    as of geoopt's balls, stays one: check_space names it.
    """

    def __init__(self, manifold: Any, point_shape: tuple[int, ...], dim: int, complex_points: bool = False):
        if not isinstance(manifold, _geoopt.Manifold):
            raise TypeError(f"from_geoopt: expected a geoopt.Manifold, got {type(manifold).__name__}")
        self.manifold, self.dim, self.complex_points = copy.deepcopy(manifold).double(), dim, complex_points
        self.point_shape = (*point_shape, 2) if complex_points else tuple(point_shape)
        self.name = f"geoopt {manifold.name} {tuple(point_shape)}"

    def _theirs(self, x: Tensor) -> Tensor:
        return torch.complex(*x.unbind(-1)) if self.complex_points else x

    def _ours(self, x: Tensor) -> Tensor:
        return torch.view_as_real(x.resolve_conj()) if self.complex_points else x

    def _scalar(self, value: Tensor, *points: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(*(p.shape for p in points))
        return (value.real if value.is_complex() else value).reshape(
            shape[: len(shape) - len(self.point_shape)]
        )

    @property
    def chamber(self) -> Chamber:
        return Chamber((Factor("BC", 1, 1, 0),))

    def origin(self):
        shape = self.point_shape[:-1] if self.complex_points else self.point_shape
        dtype = torch.complex128 if self.complex_points else torch.float64
        return self._ours(self.manifold.origin(*shape, dtype=dtype).detach().as_subclass(Tensor))

    def vector_at(self, p, q, tolerance):
        p, q = torch.broadcast_tensors(p, q)
        if not p.numel():
            return p.new_zeros(*p.shape[: p.ndim - len(self.point_shape)], 1)
        return self._scalar(self._call(self.manifold.dist, self._theirs(p), self._theirs(q)), p).unsqueeze(-1)

    def exp_at(self, p, X):
        return self._each(self.manifold.expmap, p, X)

    def log_at(self, p, q):
        return self._each(self.manifold.logmap, p, q)

    def retract_at(self, p, X):
        return self._each(self.manifold.retr, p, X)

    def transport_at(self, p, q, X):
        return self._each(self.manifold.transp, p, q, X)

    def gradient_at(self, p, gradient):
        return self._each(self.manifold.egrad2rgrad, p, gradient)

    def project_tangent(self, p, X):
        return self._each(self.manifold.proju, p, X)

    def _each(self, operation: Any, *arguments: Tensor) -> Tensor:
        arguments = torch.broadcast_tensors(*arguments)
        if not arguments[0].numel():
            return arguments[0]
        return self._ours(self._call(operation, *(self._theirs(x) for x in arguments)))

    def _call(self, operation: Any, *arguments: Tensor, **options: Any) -> Tensor:
        try:
            return operation(*arguments, **options)
        except NotImplementedError:
            raise ValueError(f"{self.name}: geoopt offers no {operation.__name__} here") from None

    def inner_at(self, p, X, Y):
        p, X, Y = torch.broadcast_tensors(p, X, Y)
        if not p.numel():
            return p.sum(tuple(range(-len(self.point_shape), 0)))
        # keepdim, because without it geoopt's balls broadcast a batch against itself
        return self._scalar(
            self._call(self.manifold.inner, *(self._theirs(x) for x in (p, X, Y)), keepdim=True), p
        )

    def reflect_at(self, p, q):
        return self.exp_at(p, -self.log_at(p, q))

    def random_tangents(self, p, generator):
        X = self.project_tangent(p, torch.randn(p.shape, dtype=torch.float64, generator=generator))
        length = self.inner_at(p, X, X).sqrt()
        return (
            X / length.clamp(min=1e-12).reshape(*length.shape, *[1] * len(self.point_shape)) * self.dim**0.5
        )

    def random_motion(self, generator, spread):
        raise ValueError(f"{self.name}: geoopt knows no isometries")

    def act_at(self, g, p):
        raise ValueError(f"{self.name}: geoopt knows no isometries")

    def structured(self, x):
        return x

    def inside(self, p):
        """geoopt judges a batch as a whole, so a batch that fails is looked through one by one."""
        shape = p.shape[: p.ndim - len(self.point_shape)]
        if not p.numel() or self._on_manifold(p):
            return torch.ones(shape, dtype=torch.bool, device=p.device)
        each = [self._on_manifold(x) for x in p.reshape(-1, *self.point_shape)]
        return torch.tensor(each, device=p.device).reshape(shape)

    def _on_manifold(self, p: Tensor) -> bool:
        return bool(self.manifold.check_point_on_manifold(self._theirs(p)))

    def defect(self, p):
        return f"is not on the manifold: {self.manifold.check_point_on_manifold(self._theirs(p), explain=True)[1]}"

    def nearest(self, p, margin, target):
        return self._each(self.manifold.projx, p)


def geoopt_manifold(space: str | Space, metric: str | BoundNorm = "f1") -> GeooptManifold:
    """Our space with a metric as a geoopt manifold: geoopt.ManifoldParameter(points, manifold=...)."""
    return GeooptManifold(space, metric)


def from_geoopt(
    manifold: Any, point_shape: tuple[int, ...], dim: int, complex_points: bool = False
) -> FromGeoopt:
    """A geoopt manifold as a space of ours, for points of a shape and a dimension (geoopt tells neither)."""
    return FromGeoopt(manifold, point_shape, dim, complex_points)
