"""Space: the public face of every space. Points come in, whatever their dtype; mathematics happens in float64.

float32 is a storage format here: the geometry computes in float64 (and beyond, see twofold.py) and rounds once at the
end; speed in float32 is the business of the kernels. Inside, points and tangent vectors are real tensors whose last
axes are `point_shape`; complex tensors are accepted and come back as such.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .arguments import finite, generator, numbers, whole
from .chamber import Chamber
from .norms import BoundNorm, bind

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
LOOSE = {torch.float64: 1e-7, torch.float32: 1e-3}  # how far from symmetric, relatively, an argument may be
# The estimated error from which distances turn to Twofold.
TOLERANCE = {torch.float64: 1e-14, torch.float32: 1e-8}


class Visit:
    """The arguments of one call as float64 storage, and the way back to the form they came in."""

    def __init__(self, dtype: torch.dtype, tensors: list[Tensor]):
        self.dtype, self.tensors = dtype, tensors
        self.tolerance = TOLERANCE[_real(dtype)]

    def value(self, value: Tensor) -> Tensor:
        return value.to(_real(self.dtype))

    def point(self, point: Tensor) -> Tensor:
        point = self.value(point)
        return torch.view_as_complex(point.contiguous()) if self.dtype.is_complex else point


@dataclass(frozen=True)
class Isometry:
    """What `act` applies: an isometry, with the name of the space that made it."""

    space: str
    motion: Any


def _real(dtype: torch.dtype) -> torch.dtype:
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


class Space(ABC):
    """A space of points with vector-valued distances; see `SymmetricSpace` for how one is made."""

    name: str  # the expression that makes it
    point_shape: tuple[int, ...]  # of one point, real numbers
    dim: int
    complex_points: bool = False  # whether the last axis of 2 may come as complex numbers
    notes: tuple[str, ...] = ()  # what a reader should know: reducible, flat, a double cover

    @property
    @abstractmethod
    def chamber(self) -> Chamber: ...

    @property
    def rank(self) -> int:
        """The dimension of a maximal flat."""
        return self.chamber.rank

    def parameters(self) -> list[nn.Parameter]:
        """What is learned with the points: a curvature."""
        return []

    # ── what a kind of space writes, on float64 storage ──────────────────────────────────────────────────────────
    @abstractmethod
    def origin(self) -> Tensor: ...
    @abstractmethod
    def vector_at(self, p: Tensor, q: Tensor, tolerance: float) -> Tensor: ...
    @abstractmethod
    def exp_at(self, p: Tensor, X: Tensor) -> Tensor: ...
    @abstractmethod
    def log_at(self, p: Tensor, q: Tensor) -> Tensor: ...
    @abstractmethod
    def retract_at(self, p: Tensor, X: Tensor) -> Tensor: ...
    @abstractmethod
    def transport_at(self, p: Tensor, q: Tensor, X: Tensor) -> Tensor: ...
    @abstractmethod
    def inner_at(self, p: Tensor, X: Tensor, Y: Tensor) -> Tensor: ...
    @abstractmethod
    def gradient_at(self, p: Tensor, gradient: Tensor) -> Tensor: ...
    @abstractmethod
    def project_tangent(self, p: Tensor, X: Tensor) -> Tensor: ...
    @abstractmethod
    def reflect_at(self, p: Tensor, q: Tensor) -> Tensor: ...
    @abstractmethod
    def random_tangents(self, p: Tensor, generator: torch.Generator) -> Tensor: ...
    @abstractmethod
    def random_motion(self, generator: torch.Generator, spread: float) -> Any: ...
    @abstractmethod
    def act_at(self, g: Any, p: Tensor) -> Tensor: ...
    @abstractmethod
    def structured(self, x: Tensor) -> Tensor:
        """The nearest storage that a point or a tangent vector can have (symmetric, say); linear."""

    @abstractmethod
    def inside(self, p: Tensor) -> Tensor:
        """Which finite, structured points belong to the space: (...) of bool."""

    @abstractmethod
    def defect(self, p: Tensor) -> str:
        """What is wrong with one point that is not inside, after its name: "has length 2, expected 1"."""

    @abstractmethod
    def nearest(self, p: Tensor, margin: float, target: float) -> Tensor:
        """Points at a relative margin from the boundary stay, others come inside to the target margin."""

    def reach(self, dtype: torch.dtype = torch.float64) -> float:
        """How far from o points can be stored in a dtype, in every component of v: the end of a compact space too."""
        return math.inf

    # ── distances ────────────────────────────────────────────────────────────────────────────────────────────────
    def vector_distance(self, p: Tensor, q: Tensor, tolerance: float | None = None) -> Tensor:
        """The vector-valued distance v(p, q) in the Weyl chamber: (..., chamber.length), differentiable.

        Pairs whose estimated error exceeds the tolerance (default: the last digits of the dtype) are computed again in
        twice the precision; a larger tolerance is faster.
        """
        visit = self._visit(p, q)
        return visit.value(self._vector(visit, tolerance))

    def distance(
        self, p: Tensor, q: Tensor, metric: str | BoundNorm = "f1", tolerance: float | None = None
    ) -> Tensor:
        """F(v(p, q)) for a metric: riemannian, f1, finf, fmin, lp(3), weighted(2, 1); (...)."""
        visit = self._visit(p, q)
        return visit.value(self.norm(metric)(self._vector(visit, tolerance)))

    def _vector(self, visit: Visit, tolerance: float | None) -> Tensor:
        a, b = visit.tensors
        v = self.vector_at(a, b, visit.tolerance if tolerance is None else tolerance)
        self._refuse_overflow(v, "these points lie too far apart to be measured in float64")
        return v

    def norm(self, metric: str | BoundNorm = "f1") -> BoundNorm:
        """The norm on the chamber that a metric names; ValueError with the reason where it is none."""
        try:
            return bind(metric, self.chamber)
        except ValueError as error:
            raise type(error)(f"{self.name}: {error}") from None

    # ── the geometry ─────────────────────────────────────────────────────────────────────────────────────────────
    def exp(self, p: Tensor, X: Tensor) -> Tensor:
        """The point reached from p after unit time along the geodesic with velocity X."""
        visit = self._visit(p, tangents=(X,))
        return self._arrival(visit, self.exp_at(*visit.tensors))

    def log(self, p: Tensor, q: Tensor) -> Tensor:
        """The velocity at p of the shortest geodesic that reaches q after unit time."""
        visit = self._visit(p, q)
        return visit.point(self.log_at(*visit.tensors))

    def geodesic(self, p: Tensor, q: Tensor, t: float | Tensor) -> Tensor:
        """The point at time t of the geodesic from p (t = 0) to q (t = 1); t broadcasts with the batch."""
        visit = self._visit(p, q)
        a, b = visit.tensors
        batch = a.shape[: a.ndim - len(self.point_shape)]
        time = numbers(t, f"{self.name}: t").to(a)
        try:
            np.broadcast_shapes(time.shape, batch)
        except ValueError:
            shapes = f"{tuple(time.shape)} for points {tuple(batch)}"
            raise ValueError(f"{self.name}: t must broadcast with the batch, got shapes {shapes}") from None
        time = time.reshape(*time.shape, *[1] * len(self.point_shape))
        return self._arrival(visit, self.exp_at(a, time * self.log_at(a, b)))

    def retract(self, p: Tensor, X: Tensor) -> Tensor:
        """A cheap second-order substitute for exp that never leaves the space."""
        visit = self._visit(p, tangents=(X,))
        return self._arrival(visit, self.retract_at(*visit.tensors))

    def transport(self, p: Tensor, q: Tensor, X: Tensor) -> Tensor:
        """X at p carried in parallel along the shortest geodesic to q."""
        visit = self._visit(p, q, tangents=(X,))
        return visit.point(self.transport_at(*visit.tensors))

    def inner(self, p: Tensor, X: Tensor, Y: Tensor) -> Tensor:
        """The Riemannian inner product ⟨X, Y⟩ at p: (...)."""
        visit = self._visit(p, tangents=(X, Y))
        return visit.value(self.inner_at(*visit.tensors))

    def riemannian_gradient(self, p: Tensor, euclidean_gradient: Tensor) -> Tensor:
        """The tangent vector G with ⟨G, X⟩ = Σ euclidean_gradient · X for all X (what backward() leaves in .grad)."""
        visit = self._visit(p, loose=(euclidean_gradient,))
        return visit.point(self.gradient_at(*visit.tensors))

    def reflect(self, p: Tensor, q: Tensor) -> Tensor:
        """The geodesic reflection of q at p, an isometry that fixes p."""
        visit = self._visit(p, q)
        return self._arrival(visit, self.reflect_at(*visit.tensors))

    def act(self, g: Isometry, p: Tensor) -> Tensor:
        """The isometry g (from `random_isometry`) applied to p."""
        if not isinstance(g, Isometry) or g.space != self.name:
            found = f"one of {g.space}" if isinstance(g, Isometry) else type(g).__name__
            raise ValueError(f"{self.name}: act takes an isometry of {self.name}, got {found}")
        visit = self._visit(p)
        return self._arrival(visit, self.act_at(g.motion, *visit.tensors))

    def mean(self, points: Tensor, weights: Any = None, steps: int = 200) -> Tensor:
        """The Fréchet mean over the first axis: the point whose weighted squared distances sum to the least."""
        visit = self._visit(points)
        (x,) = visit.tensors
        if x.ndim == len(self.point_shape) or not len(x):
            raise ValueError(
                f"{self.name}: mean needs points along a first axis, got shape {tuple(points.shape)}"
            )
        share = torch.ones(len(x)) if weights is None else numbers(weights, f"{self.name}: mean: weights")
        share = share.to(x)
        if share.shape != x.shape[:1] or not bool((share >= 0).all()) or not float(share.sum()) > 0:
            raise ValueError(f"{self.name}: mean: expected {len(x)} weights, none negative and not all zero")
        share = (share / share.sum()).reshape(-1, *[1] * (x.ndim - 1))
        at, rate, last = x[0], 1.0, float("inf")
        for _ in range(steps):
            step = (share * self.log_at(at.expand_as(x), x)).sum(0)
            size = float(self.inner_at(at, step, step).detach().amax().sqrt())
            rate = rate / 2 if size > last else min(1.0, 1.2 * rate)
            at, last = self.exp_at(at, rate * step), size
            if size < 1e-13:
                break
        if not last < 1e-7:
            raise ValueError(
                f"{self.name}: the mean was not found in {steps} steps (the points may lie too far apart)"
            )
        return visit.point(at)

    # ── points ───────────────────────────────────────────────────────────────────────────────────────────────────
    def basepoint(self, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Tensor:
        """The point o whose frame is the identity."""
        dtype, device = self._options(dtype, device)
        return Visit(dtype, []).point(self.origin().to(device))

    def random_points(
        self,
        count: int | tuple[int, ...] = 1,
        spread: float = 1.0,
        seed: int | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """`count` points, Gaussian in normal coordinates at o, root mean square distance `spread`.

        The dtype is torch's default where none is given, complex where wanted; the draw depends on the seed alone.
        """
        dtype, device = self._options(dtype, device)
        sizes = count if isinstance(count, tuple) else (count,)
        shape = [whole(n, f"{self.name}: the count of random_points", 0) for n in sizes]
        length = self._spread(spread) / max(self.dim, 1) ** 0.5
        o = self.origin().expand(*shape, *self.point_shape)
        drawn = self.exp_at(o, length * self.random_tangents(o, generator(seed, self.name))).detach()
        eps, visit = torch.finfo(_real(dtype)).eps, Visit(dtype, [])
        points = visit.point(self.nearest(drawn, 4 * eps, 8 * eps)) if drawn.isfinite().all() else drawn
        if (reason := self.why_not(points)) is not None:
            raise ValueError(f"{reason}: a spread of {spread:g} is more than {dtype} can store")
        return points.to(device)

    def random_tangent(self, p: Tensor, seed: int | None = None) -> Tensor:
        """A tangent vector at each p, Gaussian of mean square length dim."""
        visit = self._visit(p)
        (at,) = visit.tensors
        drawn = self.random_tangents(at.cpu(), generator(seed, self.name)).to(at.device)
        return visit.point(drawn)

    def random_isometry(self, seed: int | None = None, spread: float = 1.0) -> Isometry:
        """An isometry for `act`: a random rotation about o, then one that moves o about `spread` far."""
        return Isometry(self.name, self.random_motion(generator(seed, self.name), self._spread(spread)))

    def _spread(self, spread: object) -> float:
        return finite(spread, f"{self.name}: spread", 0)

    def project(self, p: Tensor, margin: float = 0.0) -> Tensor:
        """The storage made a point: structured, inside, at a relative margin from the boundary where there is one."""
        if not isinstance(margin, int | float) or not 0 <= margin < 1:
            raise ValueError(f"{self.name}: project: margin must be a number in [0, 1), got {margin!r}")
        visit = self._visit(loose=(p,))
        (x,) = visit.tensors
        eps = torch.finfo(_real(visit.dtype)).eps
        return visit.point(self.nearest(self.structured(x), max(margin, 4 * eps), max(margin, eps**0.25)))

    def why_not(self, p: Any) -> str | None:
        """None where p is a point (or a batch of points) of the space, else the reason in one line."""
        try:
            self._visit(p)
        except (TypeError, ValueError) as error:
            return str(error)
        return None

    # ── at the door ──────────────────────────────────────────────────────────────────────────────────────────────
    def _visit(self, *points: Any, tangents: tuple = (), loose: tuple = ()) -> Visit:
        """Arguments checked and made float64 storage: points and tangents structured, loose ones as they are."""
        given = [*points, *tangents, *loose]
        for tensor in given:
            if not isinstance(tensor, Tensor):
                kind = type(tensor).__name__
                raise TypeError(f"{self.name}: expected a torch tensor, got {kind}; try torch.as_tensor(...)")
        if len({tensor.dtype for tensor in given}) > 1 or len({tensor.device for tensor in given}) > 1:
            kinds = ", ".join(f"{tensor.dtype} on {tensor.device}" for tensor in given)
            raise ValueError(f"{self.name}: arguments of one dtype and device expected, got {kinds}")
        dtype = given[0].dtype
        if dtype not in DTYPES:
            raise ValueError(f"{self.name}: expected float32 or float64 (or complex of these), got {dtype}")
        entered, tight = [self._enter(tensor) for tensor in given], len(points) + len(tangents)
        slack = 8 * torch.finfo(_real(dtype)).eps
        scale = self.unit_scale
        for index, x in enumerate(entered):
            point, free = index < len(points), index >= tight
            self._check(x.detach(), None if free else LOOSE[_real(dtype)], slack * scale, point)
            scale = max(scale, float(x.detach().abs().amax())) if point and x.numel() else scale
        entered = [x if index >= tight else self.structured(x) for index, x in enumerate(entered)]
        try:
            shapes = np.broadcast_shapes(*(x.shape for x in entered))  # torch's loads half a second of sympy
        except ValueError:
            batches = " and ".join(str(tuple(x.shape[: x.ndim - len(self.point_shape)])) for x in entered)
            raise ValueError(f"{self.name}: batches of shapes {batches} do not broadcast") from None
        return Visit(dtype, [x.expand(shapes) for x in entered])

    def _enter(self, x: Tensor) -> Tensor:
        if x.is_complex():
            if not self.complex_points:
                raise ValueError(
                    f"{self.name}: points are real tensors (..., {self._shape()}), got {x.dtype}"
                )
            x = torch.view_as_real(x.resolve_conj())
        if tuple(x.shape[x.ndim - len(self.point_shape) :]) != self.point_shape:
            raise ValueError(f"{self.name}: expected a shape ending in {self._shape()}, got {tuple(x.shape)}")
        return x.to(torch.float64)

    @torch.no_grad()
    def _check(self, x: Tensor, tolerance: float | None, slack: float, point: bool) -> None:
        """Refuses the first element that is not finite, not structured up to tolerance and slack, or not inside."""
        x = x.reshape(-1, *self.point_shape)
        flat = x.flatten(1)
        faults: list[tuple[str, Tensor]] = [("has NaN or infinite entries", ~flat.isfinite().all(-1))]
        if tolerance is not None:
            allowed = tolerance * flat.abs().amax(-1) + slack
            off = (self.structured(x).flatten(1) - flat).abs().amax(-1) > allowed
            faults.append((f"is not {self.structure_name}", off))
        for reason, mask in faults:
            if bool(mask.any()):
                raise ValueError(f"{self.name}: {self._which(mask, point)} {reason}")
        if point and bool((mask := ~self.inside(self.structured(x))).any()):
            first = self.structured(x)[mask][0]
            raise ValueError(f"{self.name}: {self._which(mask, point)} {self.defect(first)}")

    def _arrival(self, visit: Visit, point: Tensor) -> Tensor:
        """A point that was reached, in the form of the arguments."""
        reached = visit.point(point)
        self._refuse_overflow(reached, f"the point that is reached lies farther than {visit.dtype} can store")
        return reached

    def _refuse_overflow(self, x: Tensor, reason: str) -> None:
        if not bool(x.detach().isfinite().all()):
            raise ValueError(f"{self.name}: {reason}")

    @staticmethod
    def _which(mask: Tensor, point: bool) -> str:
        what = "point" if point else "vector"
        return f"the {what}" if len(mask) == 1 else f"{what} {int(mask.nonzero()[0])} of {len(mask)}"

    structure_name: str = "of the right structure"
    unit_scale: float = 0.0  # the least size against which rounding is measured: 1 for balls, whose o is zero

    def _options(self, dtype: Any = None, device: Any = None) -> tuple[torch.dtype, Any]:
        dtype = dtype or torch.get_default_dtype()
        if dtype not in DTYPES:
            raise ValueError(
                f"{self.name}: expected torch.float32 or torch.float64 (or complex), got {dtype!r}"
            )
        if dtype.is_complex and not self.complex_points:
            raise ValueError(f"{self.name}: points are real, {dtype} was asked for")
        return dtype, device

    def _shape(self) -> str:
        shape = ", ".join(map(str, self.point_shape))
        if not self.complex_points:
            return shape
        return f"{shape} (or complex, {', '.join(map(str, self.point_shape[:-1]))})"

    def __repr__(self) -> str:
        return self.name
