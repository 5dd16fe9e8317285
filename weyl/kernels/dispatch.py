"""PairKernel: the distances of many pairs and their gradients; which code runs is chosen once, when it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.norms import BoundNorm

from . import batched, cuda, native
from .layout import Layout, LossLayout, NormLayout
from .moving import LONGEST_STEP, MovingPoints

BLOCK = 8192  # pairs whose gradients are in memory at once: they stay in the cache of a core
WIDE = 1 << 20  # pairs of a block of distances alone
DTYPES = (torch.float32, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Pairs(NamedTuple):
    """What one call of a kernel found."""

    distances: Tensor  # (pairs,)
    vectors: Tensor | None  # (pairs, components)
    gradients: Tensor | None  # (pairs, 2 gradient_size + extras): records, see layout.py
    gap: float  # the largest difference between components of one vector-valued distance


class Descent(NamedTuple):
    """Sums over a batch, float64."""

    totals: Tensor  # (n, gradient_size): the slopes of the loss, in the frames of the nodes
    extras: Tensor  # its slopes in learned weights and curvatures
    loss: float
    unit_slope: float  # of the loss in the logarithm of the unit
    gap: float


class PairKernel:
    """Distances of pairs of nodes in one space, metric, dtype and on one device.

    `backend` is "native" (compiled, CPU), "cuda" (compiled for the GPU) or "batched" (torch, anywhere): the fastest
    that the machine has, unless one is named. Points are (n, *point_shape), pairs two tensors of node indices.
    """

    def __init__(
        self,
        space: str | SymmetricSpace,
        metric: str | BoundNorm = "f1",
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        threads: int | None = None,
        backend: str | None = None,
    ):
        made = make_space(space)
        if not isinstance(made, SymmetricSpace):
            raise ValueError(f"PairKernel: {made} has no frames; use its distance() instead")
        if dtype not in DTYPES:
            raise ValueError(f"PairKernel: expected torch.float32 or torch.float64, got {dtype}")
        if threads is not None and threads < 1:
            raise ValueError(f"PairKernel: threads must be at least 1, got {threads}")
        self.space, self.dtype, self.device, self.threads = made, dtype, torch.device(device), threads
        self.norm = made.norm(metric)
        self.layout, self.norm_layout = Layout(made), NormLayout(self.norm)
        self.backend = self._choose(backend)
        weights = self.layout.components if self.norm_layout.learned else 0
        self.extras = weights + len(self.layout.curvatures)

    def _choose(self, wanted: str | None) -> str:
        able = {
            "cuda": self.device.type == "cuda" and cuda.available(),
            "native": self.device.type == "cpu" and native.available(),
            "batched": True,
        }
        if wanted is None:
            found = next(name for name, possible in able.items() if possible)
            if found == "batched":
                native.say_once(
                    f"no compiled pair kernel for device {self.device.type!r}",
                    "batched torch, which is slower",
                )
            return found
        if wanted not in able:
            raise ValueError(f"PairKernel: no backend {wanted!r}; there are {', '.join(able)}")
        if not able[wanted]:
            raise ValueError(
                f"PairKernel: backend {wanted!r} is not to be had on device {self.device.type!r}"
            )
        return wanted

    def to(self, dtype: torch.dtype) -> PairKernel:
        """The same kernel, with the same learned weights and curvature, for another dtype."""
        return PairKernel(self.space, self.norm, dtype, self.device, self.threads, self.backend)

    # ── what a trainer calls ─────────────────────────────────────────────────────────────────────────────────────
    def nodes(self, points: Tensor, check: bool = True) -> Tensor:
        """The records of points (n, *point_shape), made once for all pairs: (n, node_size).

        Refuses what is no point of the space; `check=False` saves the time where a caller knows better.
        """
        if points.shape[1:] != self.space.point_shape or points.ndim != len(self.space.point_shape) + 1:
            raise ValueError(
                f"{self.space}: expected points (n, {self.space._shape()}), got {tuple(points.shape)}"
            )
        if points.dtype != self.dtype or points.device.type != self.device.type:
            found = f"{points.dtype} on {points.device.type}"
            raise ValueError(f"PairKernel made for {self.dtype} on {self.device.type}, got points of {found}")
        if check:
            points = self.space._visit(points.detach()).tensors[0].to(self.dtype)
        return self.layout.nodes(points)

    def forward(
        self, nodes: Tensor, first: Tensor, second: Tensor, *, vectors: bool = False, gradients: bool = False
    ) -> Pairs:
        """Distances, and where asked vectors and pair gradients, of pairs of records."""
        first, second = self._indices(nodes, first, second)
        nodes, count = nodes.detach().contiguous(), len(first)
        size = 2 * self.layout.gradient_size + self.extras
        found = (
            nodes.new_empty(count),
            nodes.new_empty(count, self.layout.components) if vectors else None,
            nodes.new_empty(count, size) if gradients else None,
        )
        return Pairs(*found, gap=self._fill(nodes, first, second, *found))

    def _fill(
        self, nodes: Tensor, first: Tensor, second: Tensor, d: Tensor, v: Tensor | None, g: Tensor | None
    ) -> float:
        if self.backend != "batched":
            run = native.pairs if self.backend == "native" else cuda.pairs
            return run(
                self.layout, self.norm_layout, nodes, first, second,
                distances=d, vectors=v, gradients=g, threads=self.threads,
            )  # fmt: skip
        gap = 0.0
        for block in blocks(len(first), 8 * BLOCK):
            some = batched.run(
                self.layout, self.norm_layout, nodes[first[block]], nodes[second[block]], g is not None
            )
            for out, value in zip((d, v, g), some[:3], strict=True):
                if out is not None and value is not None:
                    out[block] = value
            gap = max(gap, some[3])
        return gap

    def accumulate(
        self,
        gradients: Tensor,
        first: Tensor,
        second: Tensor,
        upstream: Tensor | None,
        totals: Tensor,
        extras: Tensor,
    ) -> None:
        """Adds upstream · gradients of pairs to `totals` (n, gradient_size) of their nodes, and to `extras`."""
        first, second = self._pair(totals, first, second)
        count, size = len(first), self.layout.gradient_size
        expected = {
            "gradients": (gradients, (count, 2 * size + self.extras), self.dtype),
            "totals": (totals, (len(totals), size), self.dtype),
            "extras": (extras, (self.extras,), torch.float64),
            "upstream": (upstream, (count,), self.dtype),
        }
        for name, (tensor, shape, dtype) in expected.items():
            if tensor is None and name == "upstream":
                continue
            if not isinstance(tensor, Tensor) or (tuple(tensor.shape), tensor.dtype) != (shape, dtype):
                raise ValueError(f"PairKernel: {name} must be {dtype} of shape {shape}")
            if tensor.device != totals.device or not tensor.is_contiguous():
                raise ValueError(f"PairKernel: {name} must be contiguous, on {totals.device}")
        self._add(gradients, first, second, upstream, totals, extras)

    def _add(
        self,
        gradients: Tensor,
        first: Tensor,
        second: Tensor,
        upstream: Tensor | None,
        totals: Tensor,
        extras: Tensor,
    ) -> None:
        """The same for arguments that were checked before."""
        if self.backend == "native":
            native.accumulate(gradients, first, second, upstream, totals, extras, self.threads)
            return
        if self.backend == "cuda":
            cuda.accumulate(gradients, first, second, upstream, totals, extras)
            return
        scaled = gradients if upstream is None else gradients * upstream.unsqueeze(-1)
        size = self.layout.gradient_size
        totals.index_add_(0, first, scaled[:, :size]).index_add_(0, second, scaled[:, size : 2 * size])
        extras += scaled[:, 2 * size :].sum(0, dtype=torch.float64)

    def gradient(
        self, nodes: Tensor, first: Tensor, second: Tensor, slope: Callable[[Tensor, slice], Tensor]
    ) -> tuple[Tensor, Tensor, float]:
        """Sums over pairs of slope(distances, block) · d distance, in the frames of the nodes, block by block.

        `slope` gives the derivative of the loss in the distances of a block of pairs. Returns totals
        (n, gradient_size), see `Layout.frame_gradient`, sums for learned weights and curvatures (float64), and the gap.
        """
        first, second = self._indices(nodes, first, second)
        totals, extras = self._zeros(nodes)
        gap, block_size = 0.0, BLOCK * (self.threads or torch.get_num_threads())
        for block in blocks(len(first), block_size if self.backend == "native" else WIDE * 8):
            some = self.forward(nodes, first[block], second[block], gradients=True)
            assert some.gradients is not None
            upstream = slope(some.distances, block).contiguous()
            self._add(some.gradients, first[block], second[block], upstream, totals, extras)
            gap = max(gap, some.gap)
        return totals, extras, gap

    def descend(
        self, nodes: Tensor, first: Tensor, second: Tensor, goals: Tensor, loss: LossLayout
    ) -> Descent:
        """What a batch costs and the slopes of that, in compiled code alone: backend "native"."""
        first, second = self._indices(nodes, first, second)
        totals = torch.zeros(len(nodes), self.layout.gradient_size, dtype=torch.float64)
        extras = torch.zeros(self.extras, dtype=torch.float64)
        found = native.descend(
            self.layout, self.norm_layout, nodes, first, second, goals.contiguous(), loss, totals, extras, self.threads
        )  # fmt: skip
        return Descent(totals, extras, *found)

    def take_steps(
        self,
        moving: MovingPoints,
        loss: LossLayout,
        steps: native.Steps,
        mean: Tensor,
        square: Tensor,
        betas: tuple[float, float],
        before: int,
        widest_gap: float,
    ) -> tuple[np.ndarray, float]:
        """Steps of Adam in one call, in compiled code alone: points, mean and square change in place.

        `before` counts the steps that Adam has taken. Returns the summed losses of the steps, which end at one whose
        components lie farther apart than `widest_gap`, and the gap of the last.
        """
        return native.take_steps(
            self.layout, self.norm_layout, loss, steps,
            states=moving.state, nodes=moving.records(self.dtype), mean=mean, square=square, free=moving.free,
            betas=betas, before=before, longest=LONGEST_STEP, widest_gap=widest_gap, threads=self.threads,
        )  # fmt: skip

    def learned(self) -> list[Tensor]:
        """What the sums behind the gradients belong to: the weights of a norm that learns them, then curvatures."""
        weights = [self.norm_layout.weights()] if self.norm_layout.learned else []
        return weights + [part.curvature for part in self.layout.curvatures if part.curvature is not None]

    def _zeros(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        totals = nodes.new_zeros(len(nodes), self.layout.gradient_size)
        return totals, torch.zeros(self.extras, dtype=torch.float64, device=nodes.device)

    def _indices(self, nodes: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        if nodes.dtype != self.dtype or nodes.device.type != self.device.type:
            found = f"{nodes.dtype} on {nodes.device.type}"
            raise ValueError(f"PairKernel made for {self.dtype} on {self.device.type}, got nodes of {found}")
        if nodes.ndim != 2 or nodes.shape[1] != self.layout.node_size:
            expected = f"(n, {self.layout.node_size})"
            raise ValueError(f"PairKernel: expected node records {expected}, got {tuple(nodes.shape)}")
        return self._pair(nodes, first, second)

    def _pair(self, nodes: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Indices of rows, in the form that kernels take."""
        both = []
        for name, index in (("first", first), ("second", second)):
            if not isinstance(index, Tensor) or index.dtype not in INTEGERS:
                raise TypeError(f"PairKernel: {name} must be a tensor of node indices")
            if index.ndim != 1:
                raise ValueError(f"PairKernel: {name} must have one axis, got shape {tuple(index.shape)}")
            both.append(index.to(nodes.device, torch.int64).contiguous())
        if len(both[0]) != len(both[1]):
            raise ValueError(f"PairKernel: {len(both[0])} first nodes and {len(both[1])} second ones")
        if self.backend != "native":  # the compiled CPU kernel looks for itself
            self._in_range(nodes, torch.stack(both))
        return both[0], both[1]

    @staticmethod
    def _in_range(nodes: Tensor, index: Tensor) -> None:
        if not index.numel():
            return
        low, high = (int(x) for x in index.aminmax())
        if low < 0 or high >= len(nodes):
            raise IndexError(f"node index {low if low < 0 else high}, but there are {len(nodes)} nodes")

    # ── what everybody calls ─────────────────────────────────────────────────────────────────────────────────────
    def distances(self, points: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """Distances of pairs of points (pairs,), differentiable in the points and in what is learned."""
        from .autograd import pair_distances

        return pair_distances(self, points, first, second)

    def vector_distances(self, points: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """Vector-valued distances (pairs, components), without gradients."""
        nodes = self.nodes(points)
        first, second = self._indices(nodes, first, second)
        pieces = [
            self.forward(nodes, first[block], second[block], vectors=True).vectors
            for block in blocks(len(first), WIDE)
        ]
        return torch.cat([x for x in pieces if x is not None] or [nodes.new_empty(0, self.layout.components)])

    def distance_matrix(
        self, points: Tensor, rows: Tensor | None = None, columns: Tensor | None = None
    ) -> Tensor:
        """Distances of all nodes in `rows` to all in `columns` (all where left out), a block of rows at a time."""
        nodes = self.nodes(points)
        rows, columns = (self._chosen(nodes, x) for x in (rows, columns))
        out = nodes.new_empty(len(rows), len(columns))
        for block, distances in self._rows(nodes, rows, columns):
            out[block] = distances
        return out

    def neighbours(
        self, points: Tensor, k: int, queries: Tensor | None = None, among: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """For every query node the k nearest others among the candidates: indices and distances (queries, k), exact.

        Never holds more than a block of distances. Equal distances come in the order of the candidates.
        """
        nodes = self.nodes(points)
        queries, among = (self._chosen(nodes, x) for x in (queries, among))
        itself = torch.bincount(among, minlength=len(nodes))[
            queries
        ]  # how often a query is its own candidate
        others = len(among) - int(itself.max() if len(queries) else 0)
        if not 1 <= k <= others:
            raise ValueError(f"neighbours: k must be between 1 and {others}, got {k}")
        indices, nearest = among.new_empty(len(queries), k), nodes.new_empty(len(queries), k)
        for block, distances in self._rows(nodes, queries, among):
            itself = queries[block].unsqueeze(1) == among
            distances = torch.where(itself, torch.inf, distances)
            near, order = (
                distances.sort(dim=1, stable=True) if 8 * k > len(among) else _smallest(distances, k)
            )
            indices[block], nearest[block] = among[order[:, :k]], near[:, :k]
        return indices, nearest

    def _chosen(self, nodes: Tensor, chosen: Tensor | None) -> Tensor:
        if chosen is None:
            return torch.arange(len(nodes), device=nodes.device)
        chosen = self._indices(nodes, chosen, chosen)[0]
        self._in_range(nodes, chosen)
        return chosen

    def _rows(self, nodes: Tensor, rows: Tensor, columns: Tensor) -> Iterator[tuple[slice, Tensor]]:
        for block in blocks(len(rows), max(1, WIDE // max(len(columns), 1))):
            some = rows[block]
            first, second = some.repeat_interleave(len(columns)), columns.repeat(len(some))
            yield block, self.forward(nodes, first, second).distances.reshape(len(some), len(columns))


def _smallest(distances: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k smallest of every row, equal ones in order: topk alone may pick any of them."""
    last = distances.topk(k, dim=1, largest=False).values.amax(1, keepdim=True)
    surely = (distances < last).cumsum(1)[:, -1:]
    ties = (distances == last).cumsum(1) <= k - surely
    chosen = (distances < last) | ((distances == last) & ties)
    order = chosen.nonzero()[:, 1].reshape(len(distances), k)
    near, place = distances.gather(1, order).sort(dim=1, stable=True)
    return near, order.gather(1, place)


def blocks(count: int, size: int) -> Iterator[slice]:
    """[0, count) in slices of a size."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
