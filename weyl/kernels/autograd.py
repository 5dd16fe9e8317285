"""Pair distances for torch's autograd: the one autograd.Function, over every kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .layout import WEIGHTED

if TYPE_CHECKING:
    from .dispatch import PairKernel

KEPT = 1 << 30  # bytes of pair gradients that forward may keep; above, backward computes them again


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
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, nodes, first, second, gradients = ctx.saved_tensors
        kernel, grad = ctx.kernel, grad.contiguous()
        if gradients is None:
            totals, extras, _ = kernel.gradient(nodes, first, second, lambda _, block: grad[block])
        else:
            totals, extras = kernel._zeros(nodes)
            kernel._add(gradients, first, second, grad, totals, extras)
        in_points = None
        if ctx.needs_input_grad[1]:
            in_points = kernel.layout.euclidean_gradient(points, totals)
        pieces = extras.split([shape.numel() for shape, _ in ctx.learned])
        in_learned = [x.reshape(shape).to(at) for x, (shape, at) in zip(pieces, ctx.learned, strict=True)]
        return None, in_points, None, None, *in_learned


def pair_distances(kernel: PairKernel, points: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Distances (pairs,) of rows of points, differentiable in the points, the learned weights and curvatures."""
    learned = (
        [kernel.norm_layout.weights()]
        if kernel.norm_layout.kind == WEIGHTED and kernel.norm_layout.learned
        else []
    )
    learned += [part.curvature for part in kernel.layout.curvatures if part.curvature is not None]
    return _PairDistances.apply(kernel, points, first, second, *learned)
