"""Slow and obviously right: what every pair kernel is tested against, straight from the geometry and autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry.norms import BoundNorm


def reference(
    space: SymmetricSpace,
    norm: BoundNorm,
    points: Tensor,
    first: Tensor,
    second: Tensor,
    upstream: Tensor,
    tolerance: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """Distances, vectors, frame gradients of Σ upstream · distance at every node, and gradients of what is learned."""
    at = points.detach().to(torch.float64).requires_grad_()
    v = space.vector_distance(at[first], at[second], tolerance)
    distances = norm(v)
    learned = [*norm.parameters(), *space.parameters()]
    found = torch.autograd.grad((upstream * distances).sum(), [at, *learned], allow_unused=True)
    p = at.detach()
    gradient = space.riemannian_gradient(p, torch.zeros_like(p) if found[0] is None else found[0])
    return distances.detach(), v.detach(), space.pull(p, gradient), [x for x in found[1:] if x is not None]
