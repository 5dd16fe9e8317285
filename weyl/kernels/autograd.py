"""Pair distances for torch's autograd: the one autograd.Function, over every kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .dispatch import PairKernel

KEPT = 1 << 30  # bytes of pair gradients that forward may keep; above, backward computes them again


class _Once(torch.autograd.Function):
    """A gradient that says so when it is differentiated again, instead of counting as a constant."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *_: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError(
            "distances of a PairKernel can be differentiated once; for second derivatives differentiate space.log"
        )


class _PairDistances(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, kernel: PairKernel, points: Tensor, first: Tensor, second: Tensor, *learned: Tensor
    ) -> Tensor:
        nodes = kernel.nodes(points)
        first, second = kernel._indices(nodes, first, second)
        wanted = any(ctx.needs_input_grad)
        size = len(first) * (2 * kernel.layout.gradient_size + kernel.extras) * nodes.element_size()
        found = kernel.forward(nodes, first, second, gradients=wanted and size <= KEPT)
        ctx.kernel, ctx.learned = kernel, [(x.shape, x.device) for x in learned]
        ctx.save_for_backward(points, nodes, first, second, found.gradients)
        return found.distances

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            found = _gradients(ctx, grad.contiguous())
        if torch.is_grad_enabled():
            roots = (grad, ctx.saved_tensors[0], *ctx.kernel.learned())
            found = [None if x is None else _Once.apply(x, *roots) for x in found]
        in_points, *in_learned = found
        return None, in_points, None, None, *in_learned


def _gradients(ctx: Any, grad: Tensor) -> list[Tensor | None]:
    """Of Σ grad · distance, in the points and in what is learned."""
    points, nodes, first, second, gradients = ctx.saved_tensors
    kernel = ctx.kernel
    if gradients is None:
        totals, extras, _ = kernel.gradient(nodes, first, second, lambda _, block: grad[block])
    else:
        totals, extras = kernel._zeros(nodes)
        kernel._add(gradients, first, second, grad, totals, extras)
    in_points = None
    if ctx.needs_input_grad[1]:
        in_points = kernel.layout.euclidean_gradient(points, totals)
    pieces = extras.split([shape.numel() for shape, _ in ctx.learned])
    return [in_points, *(x.reshape(shape).to(at) for x, (shape, at) in zip(pieces, ctx.learned, strict=True))]


def pair_distances(kernel: PairKernel, points: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Distances (pairs,) of rows of points, differentiable in the points, the learned weights and curvatures."""
    return _PairDistances.apply(kernel, points, first, second, *kernel.learned())
