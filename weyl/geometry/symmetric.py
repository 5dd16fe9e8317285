"""SymmetricSpace: everything derived, once, from frames.

A symmetric space is G/K. Each point p has a frame, an isometry g_p with g_p·o = p, and in the frame everything
happens at the basepoint o, where the inner product is constant. A space writes the obligations under the banner and
nothing else; all below it is final.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, final

import torch
from torch import Tensor

from .space import Space


class SymmetricSpace(Space):
    """Points are tensors (..., *point_shape); an isometry is whatever the space makes of it."""

    # ── what a symmetric space writes ────────────────────────────────────────────────────────────────────────────
    weight: float | Tensor  # ⟨ξ, η⟩ at o is the sum of weight · ξ · η over the entries

    @abstractmethod
    def frame(self, p: Tensor) -> Any:
        """g_p with g_p·o = p."""

    @abstractmethod
    def inverse(self, g: Any) -> Any: ...

    @abstractmethod
    def move(self, g: Any, q: Tensor) -> Tensor:
        """g·q."""

    @abstractmethod
    def push(self, g: Any, q: Tensor, X: Tensor) -> Tensor:
        """The differential of g at q, applied to X."""

    @abstractmethod
    def lift(self, p: Tensor, xi: Tensor) -> Tensor:
        """The tangent vector g_p·ξ at p, for any ξ of the right shape (its part tangent at o counts)."""

    @abstractmethod
    def pull(self, p: Tensor, X: Tensor) -> Tensor:
        """g_p⁻¹·X, tangent at o."""

    @abstractmethod
    def symmetry(self) -> Any:
        """The geodesic reflection at o, as an isometry."""

    @abstractmethod
    def rotation(self, generator: torch.Generator) -> Any:
        """A random isometry that fixes o."""

    @abstractmethod
    def transvection(self, xi: Tensor) -> Any:
        """The isometry that carries o along the geodesic exp_o(tξ) to t = 1, and tangent vectors in parallel."""

    @abstractmethod
    def log_o(self, q: Tensor) -> Tensor:
        """ξ with transvection(ξ)·o = q."""

    @abstractmethod
    def retract_o(self, xi: Tensor) -> Tensor:
        """exp_o up to terms of third order, always inside."""

    @abstractmethod
    def flat_o(self, v: Tensor) -> Tensor:
        """The tangent vector at o, in one fixed maximal flat, whose exponential lies at vector distance v."""

    def _weight(self, like: Tensor) -> Tensor:
        return torch.as_tensor(self.weight, dtype=like.dtype, device=like.device)

    # ── derived ──────────────────────────────────────────────────────────────────────────────────────────────────
    @final
    def exp_at(self, p, X):
        return self.move(self.frame(p), self.exp_o(self.pull(p, X)))

    @final
    def exp_o(self, xi: Tensor) -> Tensor:
        return self.move(self.transvection(xi), self.origin().to(xi))

    @final
    def log_at(self, p, q):
        return self.lift(p, self._log_in_frame(p, q))

    def _log_in_frame(self, p: Tensor, q: Tensor) -> Tensor:
        xi = self.log_o(self.move(self.inverse(self.frame(p)), q))
        if not bool(xi.detach().isfinite().all()):
            raise ValueError(
                f"{self.name}: q lies on the cut locus of p, where no geodesic is the only shortest one"
            )
        return xi

    @final
    def retract_at(self, p, X):
        return self.move(self.frame(p), self.retract_o(self.pull(p, X)))

    @final
    def inner_at(self, p, X, Y):
        axes = tuple(range(-len(self.point_shape), 0))
        return (self._weight(p) * self.pull(p, X) * self.pull(p, Y)).sum(axes)

    @final
    def transport_at(self, p, q, X):
        g, o = self.frame(p), self.origin().to(p)
        tau = self.transvection(self._log_in_frame(p, q))
        return self.push(g, self.move(tau, o), self.push(tau, o, self.pull(p, X)))

    @final
    def gradient_at(self, p, gradient):
        """The lift is linear in ξ, so the gradient in the frame is its adjoint, divided by the weight of the metric."""
        kept = torch.is_grad_enabled() and (p.requires_grad or gradient.requires_grad)
        with torch.inference_mode(False), torch.enable_grad():
            at, given = torch.broadcast_tensors(p, gradient)
            if not kept:
                at, given = at.detach().clone(), given.detach().clone()
            xi = torch.zeros_like(at).requires_grad_()
            (adjoint,) = torch.autograd.grad(self.lift(at, xi), xi, given, create_graph=kept)
        return self.lift(p, adjoint / self._weight(p))

    @final
    def project_tangent(self, p, X):
        return self.lift(p, self.pull(p, self.structured(X)))

    @final
    def reflect_at(self, p, q):
        g = self.frame(p)
        return self.act_at((g, self.symmetry(), self.inverse(g)), q)

    @final
    def act_at(self, g, p):
        """g is a tuple of the space's own isometries, applied from the last to the first."""
        for step in reversed(g):
            p = self.move(step, p)
        return p

    @final
    def random_motion(self, generator, spread):
        o = self.origin()
        X = self.random_tangents(o, generator) * (spread / max(self.dim, 1) ** 0.5)
        return self.frame(self.exp_o(X)), self.rotation(generator)

    @final
    def random_tangents(self, p, generator):
        """The adjoint-symmetric Gaussian: noise in the frame, projected on the tangent space by lift and pull."""
        noise = torch.randn(p.shape, dtype=torch.float64, generator=generator)
        return self.lift(p, self.pull(self.origin().expand_as(p), noise) / self._weight(p) ** 0.5)
