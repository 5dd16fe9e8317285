"""Points on the move: every node is carried along a tangent vector in its own frame, and its kernel record with it.

Compiled code moves the records themselves, for all spaces but spheres: frames are multiplied, no point is ever
factored, so nothing has to be projected back. Where there is none (on a GPU, along exact geodesics, by projection as
the paper does, with a curvature that is learned) the geometry moves points. Float64 throughout; the pair kernels read
records of the dtype they were made for.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

import torch
from torch import Tensor

from . import native
from .layout import Layout, Part, leaves

LONGEST_STEP = (
    1.0  # the fast retraction is right to third order, and stays inside, for steps no longer than this
)


class _Frames:
    """The nodes in one part, as records that are moved in place."""

    def __init__(self, layout: Layout, part: Part, points: Tensor, threads: int | None):
        self.layout, self.part, self.threads = layout, part, threads
        self.state = part.record(points).clone(memory_format=torch.contiguous_format)
        self.free: Tensor | None = None
        if part.kind == "positive" and part.block == 2:
            # the diagonal of a Hermitian matrix is real: what rounding leaves beside it would grow
            i, j = part.kept
            self.free = (j != i + 1).repeat_interleave(2).to(points)

    @property
    def width(self) -> int:
        return self.part.gradient_size

    def coordinates(self, totals: Tensor) -> Tensor:
        return totals if self.free is None else totals * self.free

    def advance(self, step: Tensor) -> None:
        native.move(self.state, step, self.layout, self.part, LONGEST_STEP, self.threads)

    def record(self) -> Tensor:
        return self.state

    def points(self) -> Tensor:
        return self.part.points(self.state)


class _Points:
    """The nodes in one part, as points."""

    def __init__(self, part: Part, points: Tensor, exact: bool, projected: bool):
        self.part, self.space, self.exact, self.projected = part, part.space, exact, projected
        self.state = points

    @property
    def width(self) -> int:
        return prod(self.space.point_shape)

    def coordinates(self, totals: Tensor) -> Tensor:
        x = self.part.tangent(totals)
        if self.part.kind == "sphere":
            x = self.space.pull(self.state, x)
        return x.flatten(1)

    def advance(self, step: Tensor) -> None:
        xi = step.unflatten(1, self.space.point_shape)
        length = (
            xi.flatten(1).norm(dim=1).clamp(min=LONGEST_STEP).reshape(-1, *[1] * len(self.space.point_shape))
        )
        xi = self.space.pull(self.space.origin().to(xi).expand_as(xi), xi * (LONGEST_STEP / length))
        if self.projected:
            self.state = self.space.project(self.state + self.space.lift(self.state, xi))
            return
        at_o = self.space.exp_o(xi) if self.exact else self.space.retract_o(xi)
        self.state = self.space.move(self.space.frame(self.state), at_o)

    def record(self) -> Tensor:
        return self.part.record(self.state)

    def points(self) -> Tensor:
        return self.state


class MovingPoints:
    """Points (n, *point_shape) of all nodes, moved in frames.

    `exact` follows geodesics instead of the retraction, `projected` takes p + X and the nearest point of the space.
    """

    def __init__(
        self,
        layout: Layout,
        points: Tensor,
        *,
        exact: bool = False,
        projected: bool = False,
        threads: int | None = None,
    ):
        self.layout = layout
        self.parts: list[_Frames | _Points] = []
        for part, (_, p) in zip(
            layout.parts, leaves(layout.space, points.detach().to(torch.float64)), strict=True
        ):
            compiled = part.kind != "sphere" and p.device.type == "cpu" and native.available()
            if compiled and not (exact or projected or part.learned):
                self.parts.append(_Frames(layout, part, p, threads))
            else:
                self.parts.append(_Points(part, p.clone(), exact, projected))
        self.widths = [part.width for part in self.parts]

    def coordinates(self, totals: Tensor) -> Tensor:
        """Sums of pair gradients (n, gradient_size) as coordinates of the gradient in frames (n, width), float64."""
        pieces = totals.to(torch.float64).split([part.gradient_size for part in self.layout.parts], 1)
        found = [part.coordinates(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return found[0] if len(found) == 1 else torch.cat(found, 1)

    def advance(self, step: Tensor) -> None:
        """Moves every node along a tangent vector in its frame (n, width)."""
        for part, piece in zip(self.parts, step.split(self.widths, 1), strict=True):
            part.advance(piece.contiguous())

    def records(self, dtype: torch.dtype) -> Tensor:
        """What the pair kernels read: (n, node_size)."""
        found = [part.record() for part in self.parts]
        return (found[0] if len(found) == 1 else torch.cat(found, 1)).to(dtype).contiguous()

    @property
    def all_frames(self) -> bool:
        """Whether compiled code moves every part, so that it can take whole steps."""
        return all(isinstance(part, _Frames) for part in self.parts)

    @cached_property
    def free(self) -> Tensor | None:
        """Where all move as frames: 1 for the coordinates that move, 0 for others; None where all do."""
        masks = [part.free for part in self.parts if isinstance(part, _Frames)]
        if all(mask is None for mask in masks):
            return None
        pairs = zip(masks, self.widths, strict=True)
        return torch.cat([torch.ones(w, dtype=torch.float64) if mask is None else mask for mask, w in pairs])

    def points(self) -> Tensor:
        """The points (n, *point_shape), float64."""
        found = [part.points() for part in self.parts]
        if len(found) == 1 and found[0].shape[1:] == self.layout.space.point_shape:
            return found[0].clone()
        return torch.cat([x.flatten(1) for x in found], 1).unflatten(1, self.layout.space.point_shape)

    def part_points(self, part: Part) -> Tensor:
        """The points of one part of the layout."""
        return self.parts[self.layout.parts.index(part)].points()

    def put(self, part: Part, points: Tensor) -> None:
        """Makes these the points of one part, which is not moved as frames."""
        moved = self.parts[self.layout.parts.index(part)]
        assert isinstance(moved, _Points)
        moved.state = points

    @property
    def state(self) -> list[Tensor]:
        """What a checkpoint keeps."""
        return [part.state for part in self.parts]

    @state.setter
    def state(self, kept: list[Tensor]) -> None:
        for part, value in zip(self.parts, kept, strict=True):
            part.state = value.to(part.state).clone()
