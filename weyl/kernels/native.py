"""The compiled CPU kernels (native/, C++), and pure torch where there is none."""

from __future__ import annotations

import functools
import logging
import math
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from .layout import Layout, LossLayout, NormLayout, Part

LARGEST_SIDE = 64
"""Larger matrices go to torch: there LAPACK's blocks win over one matrix a vector lane."""

_REAL = {
    torch.float32: torch.float32,
    torch.float64: torch.float64,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}


@functools.cache
def _extension() -> ModuleType | None:
    try:
        from weyl import _native
    except ImportError:
        return None
    return _native


@functools.cache
def say_once(reason: str, instead: str = "torch.linalg.svd, which is slower on small matrices") -> None:
    logging.getLogger("weyl").warning("%s: using %s", reason, instead)


def available() -> bool:
    """Whether the compiled CPU kernel was built when weyl was installed."""
    return _extension() is not None


def singular_value_decomposition(C: Tensor, threads: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Thin singular value decomposition of many small matrices, C = U diag(s) Vh.

    C is (..., p, q), float32, float64, complex64 or complex128; with k = min(p, q) the result is
    U (..., p, k), s (..., k) non-increasing, Vh (..., k, q). U and Vh are orthonormal even where C is
    rank-deficient; a matrix with an infinite or undefined entry gives NaN. Not differentiable: C is
    detached (use a spectral function for gradients). `threads` defaults to torch.get_num_threads(),
    and never changes the result.

    On the CPU this is one-sided Jacobi: columns of very different lengths keep the relative accuracy
    of small singular values (Demmel and Veselić 1992). Elsewhere it is torch.linalg.svd, said once.
    """
    _check(C, threads)
    C = C.detach()
    if max(C.shape[-2:]) > LARGEST_SIDE:
        return _torch_decomposition(C)
    if C.device.type != "cpu":
        say_once(f"no compiled kernel for device {C.device.type!r}")
        return _torch_decomposition(C)
    extension = _extension()
    if extension is None:
        say_once("weyl was installed without its compiled kernel")
        return _torch_decomposition(C)

    *leading, p, q = C.shape
    count, k = math.prod(leading), min(p, q)
    U = C.new_empty(count, p, k)
    s = C.new_empty(count, k, dtype=_REAL[C.dtype])
    Vh = C.new_empty(count, k, q)
    batch = C.resolve_conj().resolve_neg().reshape(count, p, q).contiguous()
    extension.singular_value_decomposition(
        *map(_real_view, (batch, U, s, Vh)), threads=threads or torch.get_num_threads()
    )
    return U.view(*leading, p, k), s.view(*leading, k), Vh.view(*leading, k, q)


def _real_view(x: Tensor) -> Tensor:
    return torch.view_as_real(x) if x.is_complex() else x


def _torch_decomposition(C: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    finite = torch.isfinite(C).all(-1).all(-1)  # LAPACK refuses, or hangs on, what is not
    U, s, Vh = torch.linalg.svd(torch.where(finite[..., None, None], C, 0), full_matrices=False)
    if not finite.all():
        U, s, Vh = U.clone(), s.clone(), Vh.clone()
        for part in (U, s, Vh):
            part[~finite] = torch.nan
    return U, s, Vh


def _check(C: Tensor, threads: int | None) -> None:
    if not isinstance(C, Tensor):
        raise TypeError(f"C must be a torch.Tensor, not {type(C).__name__}")
    if C.dtype not in _REAL:
        raise TypeError(f"C must be float32, float64, complex64 or complex128, not {C.dtype}")
    if C.ndim < 2:
        raise ValueError(f"C must have shape (..., p, q), not {tuple(C.shape)}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")


def problem(layout: Layout, norm: NormLayout) -> Any:
    """Space and norm as compiled code takes them, with weights and curvature as they are now."""
    extension = _extension()
    assert extension is not None, "no compiled kernel: dispatch chose wrongly"
    return extension.PairProblem(
        layout.integers, layout.reals(), layout.gradient_size, norm.kind, norm.learned,
        min(norm.p, sys.float_info.max), norm.weights().detach().cpu(), norm.group_ends, norm.segment_ends,
    )  # fmt: skip


def pairs(
    layout: Layout,
    norm: NormLayout,
    nodes: Tensor,
    first: Tensor,
    second: Tensor,
    *,
    distances: Tensor | None = None,
    vectors: Tensor | None = None,
    gradients: Tensor | None = None,
    threads: int | None = None,
    instruction_set: str = "",
) -> float:
    """Fills distances, vectors and gradients of pairs, those that are given; returns the largest gap of components."""
    extension = _extension()
    assert extension is not None, "no compiled kernel: dispatch chose wrongly"
    return extension.pairs(
        nodes, first, second, problem(layout, norm), distances, vectors, gradients,
        threads or torch.get_num_threads(), instruction_set,
    )  # fmt: skip


def descend(
    layout: Layout,
    norm: NormLayout,
    nodes: Tensor,
    first: Tensor,
    second: Tensor,
    goals: Tensor,
    loss: LossLayout,
    totals: Tensor,
    extras: Tensor,
    threads: int | None = None,
) -> tuple[float, float, float]:
    """Adds the slopes of a batch to totals and extras (float64): the same bits, whatever the threads.

    Returns the sum of losses, that of d times its slope, and the largest gap of components.
    """
    extension = _extension()
    assert extension is not None, "no compiled kernel: dispatch chose wrongly"
    return extension.descend(
        nodes, first, second, goals, problem(layout, norm), extension.PairObjective(*loss), totals, extras,
        threads or torch.get_num_threads(),
    )  # fmt: skip


class Steps(NamedTuple):
    """Which pairs some steps of training take, see PairSchedule, and at which rates."""

    blocks: np.ndarray
    orders: np.ndarray  # (epochs, nodes)
    row_of: np.ndarray
    rows: np.ndarray
    pairs: int
    stride: int
    which: np.ndarray  # (steps,) int64: the epoch of a step
    begins: np.ndarray  # (steps,) int64
    counts: np.ndarray  # (steps,) int64
    rates: np.ndarray  # (steps,) float64


def take_steps(
    layout: Layout,
    norm: NormLayout,
    loss: LossLayout,
    steps: Steps,
    *,
    states: list[Tensor],
    nodes: Tensor,
    mean: Tensor,
    square: Tensor,
    free: Tensor | None,
    betas: tuple[float, float],
    before: int,
    longest: float,
    widest_gap: float,
    threads: int | None = None,
) -> tuple[np.ndarray, float]:
    """Steps of Adam where all nodes move as frames; states, nodes, mean and square change in place.

    The same bits, whatever the threads. Returns the summed loss of every step that was taken, and the gap of the last:
    one beyond the widest ends them.
    """
    extension = _extension()
    assert extension is not None, "no compiled kernel: whoever trains chose wrongly"
    losses = np.zeros(len(steps.rates))
    taken, gap = extension.steps(
        states, nodes, problem(layout, norm), extension.PairObjective(*loss), *steps, mean, square, free, *betas,
        before, [part.unimodular for part in layout.parts], longest, widest_gap, losses,
        threads or torch.get_num_threads(),
    )  # fmt: skip
    return losses[:taken], gap


def accumulate(
    gradients: Tensor,
    first: Tensor,
    second: Tensor,
    upstream: Tensor | None,
    totals: Tensor,
    extras: Tensor,
    threads: int | None = None,
) -> None:
    """Adds upstream times pair gradients to the totals of their nodes: the same bits, whatever the threads."""
    extension = _extension()
    assert extension is not None, "no compiled kernel: dispatch chose wrongly"
    extension.accumulate(
        gradients, first, second, upstream, totals, extras, threads or torch.get_num_threads()
    )


def move(
    records: Tensor,
    steps: Tensor,
    layout: Layout,
    part: Part,
    longest: float,
    threads: int | None = None,
) -> None:
    """Moves the nodes of a part along tangent vectors in their frames; records (n, node_size) change in place."""
    extension = _extension()
    assert extension is not None, "no compiled kernel: whoever moves nodes chose wrongly"
    extension.move(
        records, steps, layout.integers, layout.reals(), layout.parts.index(part), part.unimodular, longest,
        threads or torch.get_num_threads(),
    )  # fmt: skip
