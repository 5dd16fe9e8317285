"""Places one new point by its distances to known points, while these stay where they are."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry.norms import BoundNorm
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.threads import one_torch_thread

STARTS = 24  # points tried at first, around the nearest known ones
KEPT = 4  # of them, that are followed to the end
FAR = 300.0  # distances from which some may be beyond float64
LARGEST = 1e100  # entry of a point: products of three are still finite
HALVINGS = 12  # of the way to a start, until it is a point
SCOUTING, STEPS = 60, 400  # steps of all, then of the best
SCOUTED = 512  # known points that scouting looks at
RATE = 0.2  # of the first steps, as a share of the smallest distance
BETAS = (0.8, 0.95)  # Adam's, short: there are few steps


def place(
    space: SymmetricSpace, norm: BoundNorm, known: Tensor, goals: Tensor, dtype: torch.dtype = torch.float64
) -> Tensor:
    """The point p that minimises mean |d(p, known) - goal| / goal: (*point_shape), deterministic.

    `known` (m, *point_shape) in float64, `goals` (m,) in units of the space, positive; p is one that `dtype` can hold.
    """
    kernel = PairKernel(space, norm, torch.float64, known.device, threads=torch.get_num_threads())
    with one_torch_thread():
        starts = _around(space, known, goals, dtype)
        some = torch.linspace(0, len(known) - 1, min(len(known), SCOUTED), device=known.device).long()
        scouted, loss = _descend(kernel, starts, known[some], goals[some], SCOUTING, dtype)
        best = scouted[loss.argsort(stable=True)[:KEPT]]
        found, loss = _descend(kernel, best, known, goals, STEPS, dtype)
    eps = torch.finfo(dtype).eps
    return space.nearest(found[loss.argmin()], 4 * eps, 8 * eps).to(dtype)


def _around(space: SymmetricSpace, known: Tensor, goals: Tensor, dtype: torch.dtype) -> Tensor:
    """Starts in drawn directions from the nearest known points, as far as asked, up to the norm, or as points reach."""
    nearest = goals.argsort(stable=True)[: STARTS // 3]
    at = nearest.repeat(math.ceil(STARTS / len(nearest)))[:STARTS]
    p = known[at]
    X = space.random_tangents(p.cpu(), torch.Generator().manual_seed(0)).to(p)
    length = space.inner_at(p, X, X).sqrt().clamp(min=1e-300)
    reach = goals[at].clamp(max=space.reach() / 2)
    starts = p
    for share in 0.5 ** torch.arange(HALVINGS, dtype=p.dtype):
        further = space.exp_at(p, X * _column(share * reach / length, X))
        further = torch.where(_column(_held(space, further, dtype), p), further, p)
        measured = _measured(space, p, further)
        waiting = (starts == p).flatten(1).all(-1)
        starts = torch.where(_column(waiting & measured, p), further, starts)
        if not bool((starts == p).flatten(1).all(-1).any()):
            break
    return starts


def _held(space: SymmetricSpace, points: Tensor, dtype: torch.dtype) -> Tensor:
    """Which of these are points, and stay points in a dtype."""
    there = (points.flatten(1).abs().amax(-1) < LARGEST) & space.inside(points)
    return there if dtype == points.dtype else there & _held(space, points.to(dtype).to(points), points.dtype)


def _measured(space: SymmetricSpace, p: Tensor, q: Tensor) -> Tensor:
    """Which pairs of points are near enough for a distance in float64."""
    return space.vector_at(p, q, math.inf).isfinite().all(-1)


def _descend(
    kernel: PairKernel, points: Tensor, known: Tensor, goals: Tensor, steps: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Riemannian Adam in frames from several starts at once: the best points that `dtype` holds, and their losses."""
    space, starts, m = kernel.space, len(points), len(known)
    first = torch.arange(starts, device=known.device).repeat_interleave(m)
    second = starts + torch.arange(m, device=known.device).repeat(starts)
    anchors = kernel.nodes(known)
    goal = goals.repeat(starts)
    momentum, square = torch.zeros_like(points), points.new_zeros(starts)
    best, least = points, points.new_full((starts,), math.inf)
    unit, far, nearest = RATE * goals.amin(), bool(goals.amax() > FAR), known[goals.argmin()]
    for step in range(steps + 1):
        nodes = torch.cat([kernel.nodes(points), anchors])
        loss = points.new_zeros(starts)

        def slope(d: Tensor, block: slice, loss: Tensor = loss) -> Tensor:
            off = (d - goal[block]) / goal[block]
            loss.index_add_(0, first[block], off.abs() / m)
            return off.sign() / (goal[block] * m)

        totals, _, _ = kernel.gradient(nodes, first, second, slope)
        better = (loss < least) & _held(space, points, dtype)
        best, least = torch.where(_column(better, best), points, best), torch.where(better, loss, least)
        if step == steps:
            break
        xi = kernel.layout.frame_gradient(points, totals[:starts])
        o = space.origin().to(points).expand_as(points)
        momentum = BETAS[0] * momentum + (1 - BETAS[0]) * xi
        square = BETAS[1] * square + (1 - BETAS[1]) * space.inner_at(o, xi, xi)
        fade = (1 + math.cos(math.pi * step / steps)) / 2
        size = unit * fade / (square / (1 - BETAS[1] ** (step + 1))).sqrt().clamp(min=1e-300)
        move = -momentum / (1 - BETAS[0] ** (step + 1)) * _column(size, momentum)
        moved = space.retract_at(points, space.lift(points, move))
        points = torch.where(_column(_held(space, moved, moved.dtype), points), moved, points)
        if far:
            points = torch.where(_column(_measured(space, nearest, points), points), points, best)
    return best, least


def _column(values: Tensor, like: Tensor) -> Tensor:
    """A number a point, shaped to act on points."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
