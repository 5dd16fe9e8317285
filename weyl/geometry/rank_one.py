"""Spaces of constant curvature in closed form: Euclidean, hyperbolic (half space within) and the sphere."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .chamber import Chamber, type_bc
from .curved import ARCSINE, SERIES_BELOW, polynomial
from .spectral import exponential
from .symmetric import SymmetricSpace


def _length(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1, keepdim=True)


def _square(x: Tensor) -> Tensor:
    return x.square().sum(-1, keepdim=True)


def _orthogonal(size: int, generator: torch.Generator) -> Tensor:
    noise = torch.randn(size, size, dtype=torch.float64, generator=generator)
    return exponential(noise - noise.mT)


class VectorSpace(SymmetricSpace):
    """What the three share: points are vectors, the metric at o is the dot product, nothing constrains the storage."""

    def __init__(self, name: str, dim: int, length: int, curvature: float):
        self.name, self.dim, self.point_shape, self.weight = name, dim, (length,), 1.0
        self._chamber = type_bc(1, short=dim - 1, curvature=curvature)

    @property
    def chamber(self) -> Chamber:
        return self._chamber

    def origin(self):
        return torch.zeros(self.point_shape, dtype=torch.float64)

    def structured(self, x):
        return x

    def inside(self, p):
        return (self.nearest(p, 0, 0) - p).abs().amax(-1) <= 1e-4

    def defect(self, p):
        return f"has length {float(_length(p)):.6g}, expected 1"

    def nearest(self, p, margin, target):
        return p


class Rigid(NamedTuple):
    """x → rotation x + offset."""

    rotation: Tensor
    offset: Tensor


def _turn(rotation: Tensor, x: Tensor) -> Tensor:
    return (rotation.to(x.device) @ x.unsqueeze(-1)).squeeze(-1)


class Euclidean(VectorSpace):
    """R^n with v = |p - q|: one component, since rotations are among the isometries."""

    def __init__(self, n: int):
        super().__init__(f"euclidean({n})", n, n, 0.0)

    def vector_at(self, p, q, tolerance):
        return _length(p - q)

    def frame(self, p):
        return Rigid(torch.eye(self.dim, dtype=p.dtype, device=p.device), p)

    def inverse(self, g):
        return Rigid(g.rotation.mT, -_turn(g.rotation.mT, g.offset))

    def move(self, g, q):
        return _turn(g.rotation, q) + g.offset.to(q.device)

    def push(self, g, q, X):
        return _turn(g.rotation, X)

    def lift(self, p, xi):
        return xi + torch.zeros_like(p)

    def pull(self, p, X):
        return X + torch.zeros_like(p)

    def symmetry(self):
        return Rigid(-torch.eye(self.dim, dtype=torch.float64), self.origin())

    def rotation(self, generator):
        return Rigid(_orthogonal(self.dim, generator), self.origin())

    def transvection(self, xi):
        return self.frame(xi)

    def log_o(self, q):
        return q

    def retract_o(self, xi):
        return xi

    def flat_o(self, v):
        return torch.cat([v, v.new_zeros(*v.shape[:-1], self.dim - 1)], -1)


class Moebius(NamedTuple):
    """x → offset + scale · rotation · J(x - center) on the half space; J the inversion x/|x|², or the identity."""

    center: Tensor
    inverted: bool
    rotation: Tensor
    log_scale: Tensor
    offset: Tensor


class Hyperbolic(VectorSpace):
    """Hyperbolic space as half space, stored as (x, log y): sinh(v/2) = |p - q| / (2√(y₁y₂)), curvature -1.

    Stored like this, distances of hundreds keep their digits in float32. An isometry is a tuple of Moebius maps,
    applied from the last to the first; a tangent vector at o = (0, log 1) is (dx, d log y).
    """

    def __init__(self, n: int):
        super().__init__(f"hyperbolic({n})", n, n, -1.0)

    def vector_at(self, p, q, tolerance):
        (x1, l1), (x2, l2) = self._parts(p), self._parts(q)
        return 2 * torch.asinh(
            _length(torch.cat([(x1 - x2) * torch.exp(-(l1 + l2) / 2) / 2, torch.sinh((l1 - l2) / 2)], -1))
        )

    @staticmethod
    def _parts(p: Tensor) -> tuple[Tensor, Tensor]:
        return p[..., :-1], p[..., -1:]

    def _map(self, like: Tensor, **given: Any) -> Moebius:
        zero = torch.zeros(self.dim - 1, dtype=torch.float64, device=like.device)
        one = torch.eye(self.dim - 1, dtype=torch.float64, device=like.device)
        return Moebius(zero, False, one, zero.sum()[None], zero)._replace(**given)

    def frame(self, p):
        x, log_y = self._parts(p)
        return (self._map(p, log_scale=log_y, offset=x),)

    def inverse(self, g):
        turned = []
        for m in reversed(g):
            log_scale = m.log_scale if m.inverted else -m.log_scale
            turned.append(Moebius(m.offset, m.inverted, m.rotation.mT, log_scale, m.center))
        return tuple(turned)

    def move(self, g, q):
        for m in reversed(g):
            x, log_y = self._parts(q)
            x = x - m.center.to(q.device)
            if m.inverted:
                radius = 2 * log_y + torch.log1p(_square(x * torch.exp(-log_y)))
                x, log_y = x * torch.exp(-radius), log_y - radius
            scale = m.log_scale.to(q.device)
            q = torch.cat(
                [_turn(m.rotation, x) * torch.exp(scale) + m.offset.to(q.device), log_y + scale], -1
            )
        return q

    def push(self, g, q, X):
        for index in reversed(range(len(g))):
            m = g[index]
            at = self.move(g[index + 1 :], q)
            (x, log_y), (dx, d_log) = self._parts(at), self._parts(X)
            x = x - m.center.to(q.device)
            if m.inverted:
                radius = 2 * log_y + torch.log1p(_square(x * torch.exp(-log_y)))
                turn = 2 * (
                    (x * dx).sum(-1, keepdim=True) * torch.exp(-radius)
                    + torch.exp(2 * log_y - radius) * d_log
                )
                dx, d_log = (dx - x * turn) * torch.exp(-radius), d_log - turn
            X = torch.cat(
                [_turn(m.rotation, dx) * torch.exp(m.log_scale.to(q.device)), d_log + 0 * log_y], -1
            )
        return X

    def lift(self, p, xi):
        return torch.cat([xi[..., :-1] * p[..., -1:].exp(), xi[..., -1:] + 0 * p[..., -1:]], -1)

    def pull(self, p, X):
        return torch.cat([X[..., :-1] * (-p[..., -1:]).exp(), X[..., -1:] + 0 * p[..., -1:]], -1)

    def symmetry(self):
        o = self.origin()
        return (self._map(o, inverted=True, rotation=-torch.eye(self.dim - 1, dtype=torch.float64)),)

    def rotation(self, generator):
        """A transvection, then the frame of where it led back to o, then a turn about the vertical axis."""
        tau = self.transvection(torch.randn(self.dim, dtype=torch.float64, generator=generator))
        back = self.inverse(self.frame(self.move(tau, self.origin())))
        turn = self._map(self.origin(), rotation=_orthogonal(self.dim - 1, generator))
        return (turn, *back, *tau)

    def _half_way(self, xi: Tensor) -> Tensor:
        """exp_o(ξ/2): y = 1/(cosh r - c sinh r), x = y sinh(r) u, for ξ = 2r (u, c)."""
        length = _square(xi).clamp(min=1e-300).sqrt()
        near = length < 1
        r = length / 2
        (u, w) = self._parts(xi)
        series = torch.where(near, r, 1)
        ratio = torch.where(near, polynomial_sinh(series.square()), torch.sinh(r) / r) / 2
        c = w / length
        more, less = 1 + c.abs(), _square(u / length) / (1 + c.abs())
        plus, minus = torch.where(c > 0, more, less), torch.where(c > 0, less, more)
        far = (torch.exp(r) * minus + torch.exp(-r) * plus) / 2
        inverse_y = torch.where(near, torch.cosh(series) - w * torch.where(near, ratio, 0), far)
        return torch.cat([u * ratio / inverse_y, -inverse_y.log()], -1)

    def transvection(self, xi):
        """The reflection at o, then the one half way."""
        frame = self.frame(self._half_way(xi))
        return (*frame, *self.symmetry(), *self.inverse(frame), *self.symmetry())

    def log_o(self, q):
        x, log_y = self._parts(q)
        s = (_square(x * torch.exp(-log_y / 2)) + 4 * torch.sinh(log_y / 2).square()) / 4  # sinh²(d/2)
        small = s < SERIES_BELOW
        safe = torch.where(small, 1, s).sqrt()
        arc = torch.where(small, polynomial(ARCSINE, -torch.where(small, s, 0)), torch.asinh(safe) / safe)
        factor = arc / (1 + s).sqrt()  # d / sinh d
        return factor * torch.cat(
            [x * torch.exp(-log_y), _square(x * torch.exp(-log_y / 2)) / 2 + torch.sinh(log_y)], -1
        )

    def retract_o(self, xi):
        """The exact exponential is as cheap as any retraction here."""
        return self.exp_o(xi)

    def flat_o(self, v):
        return torch.cat([v.new_zeros(*v.shape[:-1], self.dim - 1), v], -1)


def polynomial_sinh(t: Tensor) -> Tensor:
    """sinh(√t)/√t for t below 1, to rounding."""
    coefficients, factorial = [], 1.0
    for m in range(12):
        coefficients.append(1 / factorial)
        factorial *= (2 * m + 2) * (2 * m + 3)
    return polynomial(coefficients, t)


class Sphere(VectorSpace):
    """Unit vectors of R^(n+1), curvature 1, v = 2 atan2(|p - q|, |p + q|): the double cover of ball(1, n, k=1)."""

    def __init__(self, n: int):
        super().__init__(f"sphere({n})", n, n + 1, 1.0)

    def reach(self, dtype=torch.float64):
        return math.pi

    def origin(self):
        return torch.eye(self.dim + 1, dtype=torch.float64)[0]

    def vector_at(self, p, q, tolerance):
        return 2 * torch.atan2(_length(p - q), _length(p + q))

    def frame(self, p):
        """The rotation of e₀ to p where p₀ ≥ 0, a reflection elsewhere (each far from its singular point)."""
        e = self.origin().to(p)
        first = p[..., :1]
        upper = first >= 0
        one = torch.eye(self.dim + 1, dtype=p.dtype, device=p.device)
        u = p + e
        turn = (
            one
            - _outer(u, u) / torch.where(upper, 1 + first, 1).unsqueeze(-1)
            + 2 * _outer(p, e.expand_as(p))
        )
        w = p - e
        mirror = one - _outer(w, w) / torch.where(upper, 1, 1 - first).unsqueeze(-1)
        return torch.where(upper.unsqueeze(-1), turn, mirror)

    def inverse(self, g):
        return g.mT

    def move(self, g, q):
        return _turn(g, q)

    def push(self, g, q, X):
        return _turn(g, X)

    def lift(self, p, xi):
        return _turn(self.frame(p), self._tangent(xi))

    def pull(self, p, X):
        return self._tangent(_turn(self.frame(p).mT, X))

    @staticmethod
    def _tangent(xi: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(xi[..., :1]), xi[..., 1:]], -1)

    def symmetry(self):
        return torch.diag(2 * self.origin() - 1)

    def rotation(self, generator):
        return torch.block_diag(torch.ones(1, 1, dtype=torch.float64), _orthogonal(self.dim, generator))

    def transvection(self, xi):
        xi = self._tangent(xi)
        e = self.origin().to(xi).expand_as(xi)
        return exponential(_outer(xi, e) - _outer(e, xi))

    def log_o(self, q):
        sine = _length(q[..., 1:])
        t = sine.square()
        small = (t < SERIES_BELOW) & (q[..., :1] > 0)
        angle = torch.atan2(sine, q[..., :1])
        ratio = torch.where(
            small, polynomial(ARCSINE, torch.where(small, t, 0)), angle / torch.where(small, 1, sine)
        )
        return ratio * self._tangent(q)

    def retract_o(self, xi):
        xi = self._tangent(xi)
        return (self.origin().to(xi) + xi) / (1 + _square(xi)).sqrt()

    def flat_o(self, v):
        return torch.cat([torch.zeros_like(v), v, v.new_zeros(*v.shape[:-1], self.dim - 1)], -1)

    def nearest(self, p, margin, target):
        length = _length(p)
        unit = torch.where(length > 0, p / torch.where(length > 0, length, 1), self.origin().to(p))
        return torch.where((length - 1).abs() < 1e-15, p, unit)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)
