"""The laws of a symmetric space, as a public check: `check_space(space)` names what held, `LawBroken` what did not.

A law is a function of a Sample; its name is the law's. Each would fail for a wrong metric, gradient, root or chamber.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .space import Space
from .symmetric import SymmetricSpace

METRICS = ("riemannian", "f1", "finf", "fmin", "lp(3)", "weighted")
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-3}


class LawBroken(AssertionError):
    """A law of symmetric spaces that a space does not keep; the message names the law and the defect."""


@dataclass
class Sample:
    """Random, coinciding, degenerate and far points of one space, in one dtype."""

    space: Space
    dtype: torch.dtype
    seed: int

    @cached_property
    def spread(self) -> float:
        """1, or less on small compact spaces, which are probed well inside their injectivity radius."""
        return min(1.0, self.space.reach(self.dtype) / 8)

    @cached_property
    def tolerance(self) -> float:
        return TOLERANCE[self.dtype]

    @cached_property
    def points(self) -> Tensor:
        return self.space.random_points((3, 6), spread=self.spread, seed=self.seed, dtype=self.dtype)

    @cached_property
    def tangents(self) -> Tensor:
        """Two tangent vectors of length about `spread` at each of the first points."""
        p = self.points[0]
        both = torch.stack([self.space.random_tangent(p, seed=self.seed + i) for i in (1, 2)])
        return both * (self.spread / max(self.space.dim, 1) ** 0.5)

    @cached_property
    def directions(self) -> list[Tensor]:
        """Chamber vectors: generic, all equal, with zeros, zero; far where the space has no end."""
        chamber = self.space.chamber
        drawn = torch.rand(
            chamber.length, generator=torch.Generator().manual_seed(self.seed), dtype=torch.float64
        )
        equal, first = torch.ones_like(drawn), torch.eye(chamber.length, dtype=torch.float64)[0]
        far = min(20.0, 0.4 * self.space.reach(self.dtype)) / self.spread
        candidates = [self.spread * x for x in (drawn, equal, first, 0 * drawn, far * (drawn + equal) / 2)]
        return [self._unimodular(chamber.fold(v)) for v in candidates]

    def _unimodular(self, v: Tensor) -> Tensor:
        pieces = self.space.chamber.split(v)
        kept = [
            x - x.mean() if f.type == "A" and f.rank < f.length else x
            for f, x in zip(self.space.chamber.factors, pieces, strict=True)
        ]
        return torch.cat(kept)

    @cached_property
    def special_points(self) -> Tensor:
        """Points on one flat through o, at the special directions."""
        assert isinstance(self.space, SymmetricSpace)
        o = self.space.origin()
        return torch.stack([self.space.exp(o, self.space.flat_o(v)) for v in self.directions]).detach()

    @cached_property
    def norms(self) -> list[str]:
        """The metrics that are norms here."""
        kept = []
        for metric in METRICS:
            try:
                kept.append(self.space.norm(metric).text)
            except ValueError:
                continue
        return kept

    def expect(self, what: str, defect: Tensor | float | bool, tolerance: float | None = None) -> None:
        worst = float(torch.as_tensor(defect).detach().double().abs().max())
        if not worst <= (self.tolerance if tolerance is None else tolerance):
            raise LawBroken(f"{what} (defect {worst:.3g}, allowed {tolerance or self.tolerance:.1g})")


def points_are_valid(s: Sample) -> None:
    reason = s.space.why_not(s.points) or s.space.why_not(s.space.basepoint(dtype=s.dtype))
    s.expect(f"random points and the basepoint belong to the space: {reason}", reason is not None, 0)


def bad_points_are_rejected(s: Sample) -> None:
    p = s.points[0]
    bad: dict[str, object] = {
        "NaN": p * float("nan"),
        "infinity": p + float("inf"),
        "a wrong shape": p[..., :-1],
    }
    bad |= {"half precision": p.to(torch.float16), "text": "a point"}
    for what, value in bad.items():
        s.expect(f"why_not names a reason for {what}", s.space.why_not(value) is None, 0)


def projection_lands_inside_and_stays(s: Sample) -> None:
    generator = torch.Generator().manual_seed(s.seed)
    noise = 3 * torch.randn(s.points[0].shape, generator=generator, dtype=s.dtype)
    once = s.space.project(noise)
    s.expect(f"projected noise is inside: {s.space.why_not(once)}", s.space.why_not(once) is not None, 0)
    s.expect(
        "project is idempotent", s.space.project(once) - once, 1e-12 if s.dtype == torch.float64 else 1e-5
    )
    s.expect(
        "project keeps points",
        s.space.project(s.points) - s.points,
        1e-12 if s.dtype == torch.float64 else 1e-5,
    )


def distance_to_itself_is_zero(s: Sample) -> None:
    s.expect("v(p, p) = 0", s.space.vector_distance(s.points, s.points), 1e-12)


def vector_distance_lies_in_the_chamber(s: Sample) -> None:
    v = s.space.vector_distance(s.points[0], s.points[1])
    s.expect("v(p, q) is in the chamber", ~s.space.chamber.contains(v, s.tolerance), 0)


def reversed_vector_distance_is_opposite(s: Sample) -> None:
    p, q, _ = s.points
    forth, back = s.space.vector_distance(p, q), s.space.vector_distance(q, p)
    s.expect("v(q, p) is the opposite of v(p, q)", s.space.chamber.opposite(forth) - back)


def isometries_keep_vector_distance(s: Sample) -> None:
    p, q, _ = s.points
    g = s.space.random_isometry(seed=s.seed, spread=s.spread)
    moved = s.space.vector_distance(s.space.act(g, p), s.space.act(g, q))
    s.expect("v(gp, gq) = v(p, q)", moved - s.space.vector_distance(p, q))


def triangle_inequality(s: Sample) -> None:
    p, q, r = s.points
    for metric in s.norms:
        legs = s.space.distance(p, q, metric) + s.space.distance(q, r, metric)
        s.expect(f"the triangle inequality of {metric}", (s.space.distance(p, r, metric) - legs).clamp(min=0))


def gradient_is_the_differential(s: Sample) -> None:
    p, q, X = s.points[0].double(), s.points[1].double(), s.tangents[0].double()
    h = 1e-5
    for metric in s.norms:
        at = p.clone().requires_grad_()
        s.space.distance(at, q, metric).sum().backward()
        assert at.grad is not None
        slope = s.space.inner(p, s.space.riemannian_gradient(p, at.grad), X)
        ends = [s.space.distance(s.space.exp(p, t * X), q, metric) for t in (h, -h)]
        s.expect(f"⟨grad, X⟩ is the derivative of {metric}", slope - (ends[0] - ends[1]) / (2 * h), 1e-6)


def metric_is_the_distance_of_small_steps(s: Sample) -> None:
    p, X = s.points[0].double(), s.tangents[0].double()
    h = 1e-4
    near = s.space.distance(p, s.space.exp(p, h * X), "riemannian") / h
    s.expect("d(p, exp_p(hX)) / h → |X|", near.square() - s.space.inner(p, X, X), 1e-6)


def exp_and_log_are_inverse(s: Sample) -> None:
    p, q, _ = s.points
    X = s.tangents[0]
    s.expect("log(exp(X)) = X", s.space.log(p, s.space.exp(p, X)) - X)
    s.expect("exp(log(q)) = q", s.space.distance(s.space.exp(p, s.space.log(p, q)), q), 10 * s.tolerance)


def geodesics_have_constant_speed(s: Sample) -> None:
    p, q, _ = s.points
    whole = s.space.distance(p, q, "riemannian")
    for t in (0.25, 0.5, 0.8):
        part = s.space.distance(p, s.space.geodesic(p, q, t), "riemannian")
        s.expect("geodesics have constant speed", part - t * whole)


def transport_keeps_inner_products(s: Sample) -> None:
    p, q, _ = s.points
    X, Y = s.tangents
    carried = s.space.inner(q, s.space.transport(p, q, X), s.space.transport(p, q, Y))
    s.expect("transport is isometric", carried - s.space.inner(p, X, Y))
    s.expect("transport carries the velocity", s.space.transport(p, q, s.space.log(p, q)) + s.space.log(q, p))


def reflection_is_an_isometry_through_p(s: Sample) -> None:
    p, q, r = s.points
    s.expect("s_p(p) = p", s.space.distance(s.space.reflect(p, p), p), 10 * s.tolerance)
    moved = s.space.vector_distance(s.space.reflect(p, q), s.space.reflect(p, r))
    chamber = s.space.chamber
    kept = s.space.vector_distance(q, r)
    s.expect("v(s_p q, s_p r) is v(q, r) up to opposition", torch.minimum((moved - kept).abs().amax(-1),
             (moved - chamber.opposite(kept)).abs().amax(-1)))  # fmt: skip
    s.expect("log_p(s_p q) = -log_p(q)", s.space.log(p, s.space.reflect(p, q)) + s.space.log(p, q))


def retraction_is_of_second_order(s: Sample) -> None:
    p, X = s.points[0].double(), s.tangents[0].double()
    errors = [s.space.distance(s.space.retract(p, h * X), s.space.exp(p, h * X)) for h in (0.1, 0.05)]
    s.expect(
        "halving a step divides the error of retract by about eight",
        (errors[1] - errors[0] / 6).clamp(min=0),
        1e-9,
    )
    far = s.space.retract(p, 30 * X)
    s.expect(f"retract never leaves the space: {s.space.why_not(far)}", s.space.why_not(far) is not None, 0)


def gradient_of_squared_distance_is_minus_log(s: Sample) -> None:
    p, q, _ = s.points
    at = p.clone().requires_grad_()
    (s.space.distance(at, q, "riemannian").square() / 2).sum().backward()
    assert at.grad is not None
    s.expect("grad ½d² = -log", s.space.riemannian_gradient(p, at.grad) + s.space.log(p, q))


def mean_is_where_the_logs_cancel(s: Sample) -> None:
    points = s.points[0]
    center = s.space.mean(points).double()
    pull = s.space.log(center.expand_as(points), points.double()).mean(0)
    s.expect("the logs at the mean sum to zero", s.space.inner(center, pull, pull).sqrt())


def batch_equals_loop(s: Sample) -> None:
    p, q, _ = s.points
    X = s.tangents[0]
    calls: list[tuple[Callable, tuple[Tensor, ...]]] = [
        (s.space.vector_distance, (p, q)),
        (s.space.exp, (p, X)),
        (s.space.log, (p, q)),
        (s.space.transport, (p, q, X)),
    ]
    small = 1e-12 if s.dtype == torch.float64 else 1e-5
    for call, arguments in calls:
        batch = call(*arguments)
        loop = torch.stack([call(*one) for one in zip(*arguments, strict=True)])
        s.expect(f"{call.__name__} of a batch is the loop", (batch - loop) / (1 + loop.abs()), small)
        s.expect(f"{call.__name__} of nothing is nothing", call(*(x[:0] for x in arguments)).shape[0], 0)
    table = s.space.distance(p[:, None], q[None, :])
    s.expect("leading dimensions broadcast", table.diagonal() - s.space.distance(p, q), small)


def dtype_is_kept(s: Sample) -> None:
    p, q, _ = s.points
    X = s.tangents[0]
    space = s.space
    results = [
        space.distance(p, q),
        space.vector_distance(p, q),
        space.exp(p, X),
        space.log(p, q),
        space.inner(p, X, X),
    ]
    results += [space.transport(p, q, X), space.retract(p, X), space.project(p), space.geodesic(p, q, 0.5)]
    s.expect("results keep the dtype", any(x.dtype != s.dtype or x.device != p.device for x in results), 0)
    if space.complex_points:
        z = torch.view_as_complex(p.contiguous())
        moved = space.exp(z, torch.view_as_complex(X.contiguous()))
        s.expect("complex points come back complex", not moved.is_complex(), 0)
        s.expect("and are the same points", torch.view_as_real(moved) - space.exp(p, X), 0)


def tangent_space_has_the_dimension(s: Sample) -> None:
    basis, _ = tangent_basis(s.space)
    s.expect("dim is the dimension of the tangent space", basis.shape[0] - s.space.dim, 0)
    curved = [factor for factor in s.space.chamber.factors if factor.sign]
    if len(curved) == len(s.space.chamber.factors):
        roots = sum(multiplicity for factor in curved for _, multiplicity in factor.roots())
        s.expect("dim = rank + multiplicities of the roots", s.space.rank + roots - s.space.dim, 0)


def flat_has_its_vector_distances(s: Sample) -> None:
    o = s.space.basepoint(dtype=torch.float64)
    v = torch.stack(s.directions)
    s.expect(
        "v(o, exp_o(flat v)) = v", (s.space.vector_distance(o, s.special_points) - v) / (1 + v.abs().amax())
    )


def jacobi_fields_grow_by_the_roots(s: Sample) -> None:
    """The differential of exp_o at the flat vector v stretches by sinh α(v)/α(v) for each root, by multiplicity."""
    assert isinstance(s.space, SymmetricSpace)
    space, v = s.space, s.directions[0]
    basis, weight = tangent_basis(space)
    H, o = space.flat_o(v), space.origin()

    def end(coordinates: Tensor) -> Tensor:
        return space.exp(o, H + (coordinates @ basis).reshape(space.point_shape))

    jacobian = torch.autograd.functional.jacobian(end, torch.zeros(len(basis), dtype=torch.float64))
    moved = jacobian.reshape(-1, len(basis)).mT.reshape(len(basis), *space.point_shape)
    framed = space.pull(end(torch.zeros(len(basis), dtype=torch.float64)), moved).reshape(len(basis), -1)
    measured = torch.linalg.svdvals(framed * weight.sqrt()).sort().values
    expected = [1.0] * len(basis)
    used = 0
    for factor, part in zip(space.chamber.factors, space.chamber.split(v), strict=True):
        for root, multiplicity in factor.roots():
            a = sum(c * float(part[i]) for i, c in root.items())
            stretch = 1.0 if abs(a) < 1e-12 else (math.sin(a) if factor.sign > 0 else math.sinh(a)) / a
            expected[used : used + multiplicity] = [stretch] * multiplicity
            used += multiplicity
    s.expect(
        "Jacobi fields grow by the roots",
        measured - torch.tensor(expected, dtype=torch.float64).sort().values,
        1e-8,
    )


def values_and_gradients_are_finite(s: Sample) -> None:
    assert isinstance(s.space, SymmetricSpace)
    special = s.special_points.to(s.dtype)
    o = s.space.basepoint(dtype=s.dtype)
    nearly = s.space.exp(s.points[0], 1e-8 * s.tangents[0])
    pairs = [
        (o.expand_as(special), special),
        (special, special),
        (s.points[0], s.points[0]),
        (s.points[0], nearly),
    ]
    pairs.append((special, s.points[1][: len(special)]))
    for a, b in pairs:
        for metric in s.norms:
            p, q = (x.detach().clone().requires_grad_() for x in (a, b))
            value = s.space.distance(p, q, metric)
            value.sum().backward()
            for x in (value, p.grad, q.grad):
                assert x is not None
                s.expect(f"{metric} and its gradients are finite at special points", ~x.isfinite(), 0)


def tangent_basis(space: Space) -> tuple[Tensor, Tensor]:
    """An orthonormal basis of the tangent space at o (dim, entries), and the weights of the entries."""
    assert isinstance(space, SymmetricSpace)
    o = space.origin()
    eye = torch.eye(o.numel(), dtype=torch.float64).reshape(-1, *o.shape)
    projector = space.pull(o.expand_as(eye), eye).reshape(len(eye), -1)
    values, vectors = torch.linalg.eigh((projector + projector.mT) / 2)
    weight = torch.as_tensor(space.weight, dtype=torch.float64).expand(o.shape).flatten()
    return vectors[:, values > 0.5].mT / weight.sqrt(), weight


LAWS: tuple[Callable[[Sample], None], ...] = (
    points_are_valid, bad_points_are_rejected, projection_lands_inside_and_stays, distance_to_itself_is_zero,
    vector_distance_lies_in_the_chamber, reversed_vector_distance_is_opposite, triangle_inequality,
    gradient_is_the_differential, metric_is_the_distance_of_small_steps, exp_and_log_are_inverse,
    geodesics_have_constant_speed, transport_keeps_inner_products, retraction_is_of_second_order,
    gradient_of_squared_distance_is_minus_log, mean_is_where_the_logs_cancel, batch_equals_loop, dtype_is_kept,
)  # fmt: skip
LAWS_OF_FRAMES: tuple[Callable[[Sample], None], ...] = (
    isometries_keep_vector_distance, reflection_is_an_isometry_through_p, tangent_space_has_the_dimension,
    flat_has_its_vector_distances, jacobi_fields_grow_by_the_roots, values_and_gradients_are_finite,
)  # fmt: skip


def check_space(space: Space, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[str]:
    """The names of the laws that held, in order; raises LawBroken at the first that does not."""
    if not isinstance(space, Space):
        raise TypeError(
            f"check_space: expected a space such as weyl.space('upper(4)'), got {type(space).__name__}"
        )
    sample, held = Sample(space, dtype, seed), []
    for law in LAWS + (LAWS_OF_FRAMES if isinstance(space, SymmetricSpace) else ()):
        try:
            law(sample)
        except LawBroken as broken:
            raise LawBroken(f"{space.name}: {law.__name__}: {broken}") from None
        except Exception as error:
            raise LawBroken(f"{space.name}: {law.__name__}: {type(error).__name__}: {error}") from error
        held.append(law.__name__)
    return held
