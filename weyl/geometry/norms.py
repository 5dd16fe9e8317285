"""Finsler norms: Weyl-invariant norms of the vector-valued distance. Each is a norm on its chamber, or is refused.

To add one: a class with a name, a value and, where it is no norm on some chamber, the reason.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from weyl.expression import Expression, build

from .chamber import Chamber


class Norm(ABC):
    """A norm F(v); for type A it acts on |v|, so that F(v(p, q)) = F(v(q, p))."""

    @abstractmethod
    def value(self, v: Tensor, chamber: Chamber) -> Tensor:
        """F(v): (..., length) to (...)."""

    def why_not(self, chamber: Chamber) -> str | None:
        """None, or the reason why this is no norm on the chamber."""
        return None


class Power(Norm):
    """(Σ |v|^p)^(1/p) for p ≥ 1: `f1`, `riemannian` (p = 2), `lp(p)`, `finf` (p = ∞)."""

    def __init__(self, p: float):
        if not p >= 1:
            raise ValueError(f"p must be at least 1 (below, the triangle inequality fails), got {p}")
        self.p = float(p)

    def value(self, v, chamber):
        if self.p == math.inf:
            return v.abs().amax(-1)
        if self.p == 1:
            return v.abs().sum(-1)
        scale = v.detach().abs().amax(-1, keepdim=True)  # against overflow and underflow of the powers
        scale = torch.where(scale > 0, scale, 1)
        return scale.squeeze(-1) * torch.linalg.vector_norm(v / scale, self.p, dim=-1)


class SumOfRoots(Norm):
    """`fmin`: ⟨2ρ, v⟩, the sum of the positive roots with multiplicities."""

    def value(self, v, chamber):
        return (v * chamber.two_rho().to(v)).sum(-1)

    def why_not(self, chamber):
        for factor in chamber.factors:
            if not factor.sign:
                return "a flat factor has no roots"
            if factor.type == "A" and factor.rank == factor.length:
                return "its roots vanish on multiples of the identity; take det=1"
        return None


class Weighted(Norm):
    """Σ w_j |v|_(j), |v| sorted decreasingly in each factor, w non-increasing there; learned where no w is given."""

    def __init__(self, *weights: float):
        if any(not (math.isfinite(w) and w >= 0) for w in weights):
            raise ValueError("weights must be finite and not negative")
        self.given = [float(w) for w in weights]
        self.raw: nn.Parameter | None = None

    def why_not(self, chamber):
        if not self.given:
            return None
        if len(self.given) != chamber.length:
            return f"{len(self.given)} weights for {chamber.length} components"
        for part in chamber.split(torch.tensor(self.given, dtype=torch.float64)):
            if not part[0] > 0 or (part.diff() > 0).any():
                return "the weights of a factor must not increase and start above zero (else no triangle inequality)"
        return None

    def learned(self, chamber: Chamber) -> nn.Parameter:
        """The free numbers behind the learned weights, one a component."""
        if self.raw is None:
            raw = torch.full((chamber.length,), -3.0, dtype=torch.float64)
            for part in chamber.split(raw):
                part[-1] = math.log(math.e - 1)  # softplus of it is 1: the start is close to f1
            self.raw = nn.Parameter(raw)
        return self.raw

    def weights(self, chamber: Chamber) -> Tensor:
        """w (length,): the given ones, or cumulative sums of softplus, which no step of training can spoil."""
        if self.given:
            return torch.tensor(self.given, dtype=torch.float64)
        steps = chamber.split(softplus(self.learned(chamber)))
        return torch.cat([step.flip(0).cumsum(0).flip(0) for step in steps])

    def value(self, v, chamber):
        weights = self.weights(chamber).to(v)
        parts = [part.abs().sort(-1, descending=True).values for part in chamber.split(v)]
        return (torch.cat(parts, -1) * weights).sum(-1)


class BoundNorm:
    """A norm on the chamber of one space: callable on v, with the parameters it learns."""

    def __init__(self, text: str, norm: Norm, chamber: Chamber):
        if (reason := norm.why_not(chamber)) is not None:
            raise ValueError(f"metric {text!r} is no norm here: {reason}")
        self.text, self.norm, self.chamber = text, norm, chamber

    def __call__(self, v: Tensor) -> Tensor:
        if self.chamber.groups:
            masks = torch.block_diag(*(torch.ones(1, length) for length in self.chamber.groups)).to(v)
            each = self.norm.value(v.unsqueeze(-2) * masks, self.chamber)
            return Power(2).value(each, self.chamber)
        return self.norm.value(v, self.chamber)

    def parameters(self) -> list[nn.Parameter]:
        """What is learned with the points: the weights of `weighted`."""
        if isinstance(self.norm, Weighted) and not self.norm.given:
            return [self.norm.learned(self.chamber)]
        return []

    def __repr__(self) -> str:
        return self.text


def lp(p: float) -> Norm:
    return Power(p)


def weighted(*weights: float) -> Norm:
    return Weighted(*weights)


METRICS: dict[str, Callable[..., Norm]] = {
    "riemannian": lambda: Power(2),
    "f1": lambda: Power(1),
    "finf": lambda: Power(math.inf),
    "fmin": lambda: SumOfRoots(),
    "lp": lp,
    "weighted": weighted,
}


def bind(metric: str | Expression | BoundNorm, chamber: Chamber) -> BoundNorm:
    """The norm that a metric expression names, on a chamber; ValueError with the reason where it is none."""
    if isinstance(metric, BoundNorm):
        if metric.chamber.length != chamber.length:
            lengths = f"{metric.chamber.length} components, not {chamber.length}"
            raise ValueError(f"metric {metric} was made for {lengths}")
        return metric if metric.chamber == chamber else BoundNorm(metric.text, metric.norm, chamber)
    norm = build(metric, METRICS, kind="metric", listing=None)
    return BoundNorm(str(metric).strip(), norm, chamber)
