"""Functions of a curvature k that pass smoothly through k = 0, with derivatives in k: arcsine and arctangent."""

from __future__ import annotations

import torch
from torch import Tensor

from .once import once

# asin(x) = Σ a_m x^(2m+1); with |x|² below SERIES_BELOW nine terms leave less than one rounding of float64.
ARCSINE = [1.0]
for _m in range(8):
    ARCSINE.append(ARCSINE[-1] * (2 * _m + 1) ** 2 / ((2 * _m + 2) * (2 * _m + 3)))
SERIES_BELOW = 0.01


def polynomial(coefficients: list[float], x: Tensor) -> Tensor:
    """Σ coefficients[m] x^m."""
    total = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


class _Arcsine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, sine, cosine, k):
        t = k * sine.square()
        root = k.abs().sqrt()
        positive = torch.atan2(root * sine, cosine) if k > 0 else torch.asinh(root * sine)
        angle = torch.where(
            t.abs() < SERIES_BELOW, sine * polynomial(ARCSINE, t), positive / torch.where(k == 0, 1, root)
        )
        ctx.save_for_backward(sine, cosine, k, angle)
        return angle

    @staticmethod
    @once
    def backward(ctx, grad):
        sine, cosine, k, angle = ctx.saved_tensors
        cut = cosine < 1e-12
        slope = torch.where(cut, 0, 1 / torch.where(cut, 1, cosine))
        t = k * sine.square()
        series = sine**3 * polynomial([m * a for m, a in enumerate(ARCSINE)][1:], t)
        in_k = torch.where(
            t.abs() < SERIES_BELOW, series, (sine * slope - angle) / (2 * torch.where(k == 0, 1, k))
        )
        return grad * slope, None, (grad * in_k).sum() if ctx.needs_input_grad[2] else None


def arcsine(sine: Tensor, cosine: Tensor, k: Tensor) -> Tensor:
    """θ with sin(√k θ)/√k = sine and cos(√k θ) = cosine ≥ 0 (sinh, cosh for k < 0): full digits at the cut locus too.

    The gradient is 1/cosine; at the cut locus (cosine = 0), where there is none, it counts as zero.
    """
    return _Arcsine.apply(sine, cosine, k)


def arctangent(tangent: Tensor, k: Tensor) -> Tensor:
    """θ with tan(√k θ)/√k = tangent (tanh for k < 0), odd in its argument; saturates where |tangent| reaches 1/√-k."""
    t = k * tangent.square()
    small = t.abs() < SERIES_BELOW
    series = tangent * polynomial([(-1) ** m / (2 * m + 1) for m in range(9)], torch.where(small, t, 0))
    root = torch.where(k == 0, 1, k).abs().sqrt()
    x = root * torch.where(small, 1 / (2 * root), tangent)
    limit = 1 - torch.finfo(x.dtype).eps
    far = (torch.atan(x) if k > 0 else torch.atanh(x.clamp(-limit, limit))) / root
    return torch.where(small, series, far)


@torch.no_grad()
def room_of_arctangent(tangent: Tensor, k: Tensor) -> Tensor:
    """The distance to the next singularity of arctangent, ±1/√-k; not below the last digit that tells them apart."""
    end = 1 / k.abs().sqrt().clamp(min=torch.finfo(k.dtype).tiny)
    if k > 0:
        return torch.hypot(tangent, end)
    return (end - tangent.abs()).clamp(min=torch.finfo(k.dtype).eps * end)
