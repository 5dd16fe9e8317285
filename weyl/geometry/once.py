"""Backward passes that can be run once: differentiating their results again is refused, not answered with a constant.

torch's own once_differentiable refuses in backward() alone: torch.autograd.grad(..., inputs) passes it by unseen,
because what it returns hangs on no input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

REASON = (
    "spectral functions can be differentiated once: a second derivative through singular or eigenvalues is not offered "
    "(of ½ distance² it is the first one of log, since grad ½ distance² = -log)"
)


class _Refusal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *_: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        raise RuntimeError(REASON)


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward whose gradients hang on all they depend on: the incoming ones, and the saved tensors.

    What is saved has to include an input, or an output that carries its gradient.
    """

    @wraps(backward)
    def guarded(ctx: Any, *gradients: Tensor) -> Any:
        with torch.no_grad():
            found = backward(ctx, *gradients)
        if not torch.is_grad_enabled():
            return found
        roots = (*gradients, *ctx.saved_tensors)
        every = found if isinstance(found, tuple) else (found,)
        every = tuple(x if x is None else _Refusal.apply(x, *roots) for x in every)
        return every if isinstance(found, tuple) else every[0]

    return guarded
