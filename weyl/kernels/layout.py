"""What kernels read of a node and write of a pair: flat rows of numbers, laid out once for a space and a norm.

A node's record is its frame: triangular factors (inverse diagonal, diagonal, what is below it row by row) and what else
the pair matrices need. A pair's gradient is a record too: the entries of both frame gradients that their symmetry
leaves free, then derivatives in learned weights and curvatures. Native, CUDA and batched kernels share these rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from weyl.geometry import Space, SymmetricSpace
from weyl.geometry.chamber import Chamber
from weyl.geometry.half_space import HalfSpace
from weyl.geometry.matrix_ball import MatrixBall
from weyl.geometry.norms import BoundNorm, Weighted
from weyl.geometry.norms import Power as PowerNorm
from weyl.geometry.product import Power, Product
from weyl.geometry.rank_one import Euclidean, Hyperbolic, Sphere

KINDS = {  # the numbers of native/pair_batch.hpp
    "siegel": 0, "positive": 1, "ball": 2, "symmetric ball": 3, "euclidean": 4, "hyperbolic": 5, "sphere": 6,
}  # fmt: skip
KEEP_ALL, KEEP_UPPER, KEEP_ABOVE = range(3)
LARGEST_MAP = (
    1024  # numbers of a gradient up to which one matrix product unpacks it: its matrix would outgrow memory
)
VECTORS = {Euclidean: "euclidean", Hyperbolic: "hyperbolic", Sphere: "sphere"}


def lower(size: int) -> tuple[Tensor, Tensor]:
    """Row and column indices strictly below the diagonal, row by row."""
    i, j = torch.tril_indices(size, size, -1)
    return i, j


def flattened(x: Tensor, axes: int) -> Tensor:
    """The last axes of a real or complex tensor as one axis of real numbers."""
    x = x.flatten(x.ndim - axes)
    return torch.view_as_real(x.resolve_conj()).flatten(-2) if x.is_complex() else x


@dataclass(frozen=True)
class Part:
    """One factor of a space: its kind, and where its numbers stand in node records, gradients and v."""

    space: SymmetricSpace
    kind: str
    node: int
    gradient: int
    component: int

    # ── sizes ────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def is_vector(self) -> bool:
        return self.kind in VECTORS.values()

    @cached_property
    def swapped(self) -> bool:
        """Whether a wide ball is computed through its adjoint: matrices have at least as many rows as columns."""
        return isinstance(self.space, MatrixBall) and self.space.rows < self.space.columns

    @cached_property
    def block(self) -> int:
        return self.space.field.block if isinstance(self.space, HalfSpace | MatrixBall) else 1

    @cached_property
    def is_complex(self) -> bool:
        return isinstance(self.space, HalfSpace | MatrixBall) and self.space.field.width > 1

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrices computed with."""
        if not isinstance(self.space, HalfSpace | MatrixBall):
            return self.space.point_shape[0], 1
        sizes = self.space.rows * self.block, self.space.columns * self.block
        return (sizes[1], sizes[0]) if self.swapped else sizes

    @property
    def length(self) -> int:
        return self.space.chamber.length

    @cached_property
    def copies(self) -> int:
        antisymmetric = isinstance(self.space, MatrixBall) and self.space.kind == "antisymmetric"
        return self.block * (1 + antisymmetric)

    @cached_property
    def triangle(self) -> int:
        if self.kind in ("siegel", "positive"):
            return KEEP_UPPER
        if self.kind == "symmetric ball":
            return KEEP_ABOVE if self.copies == 2 else KEEP_UPPER
        return KEEP_ALL

    @cached_property
    def kept(self) -> tuple[Tensor, Tensor]:
        """Rows and columns of the gradient's entries that are kept, in order."""
        rows, columns = self.shape
        i, j = torch.cartesian_prod(torch.arange(0, rows, self.block), torch.arange(columns)).reshape(-1, 2).T
        keep = {KEEP_ALL: i >= 0, KEEP_UPPER: j >= i, KEEP_ABOVE: j > i}[self.triangle]
        return i[keep], j[keep]

    @cached_property
    def gradient_size(self) -> int:
        return self.shape[0] if self.is_vector else len(self.kept[0]) * (1 + self.is_complex)

    @cached_property
    def node_size(self) -> int:
        rows, columns = self.shape
        if self.is_vector:
            return rows

        def triangle(size: int, complex_entries: bool) -> int:
            return 2 * size + (1 + complex_entries) * (size * (size - 1) // 2)

        if self.kind == "siegel":
            return triangle(rows, False) + rows * (rows + 1) // 2
        if self.kind == "positive":
            return triangle(rows, self.is_complex)
        whole = 2 * rows * columns * (1 + self.is_complex)
        left = triangle(rows, self.is_complex) if self.kind == "ball" else 0
        return left + triangle(columns, self.is_complex) + whole

    @property
    def curvature(self) -> Tensor | None:
        """k of a ball."""
        return self.space.k if isinstance(self.space, MatrixBall) else None

    @cached_property
    def learned(self) -> bool:
        """Whether a derivative in k may be asked for; settled when the layout is made."""
        return isinstance(self.space, MatrixBall) and self.space.curvature.requires_grad

    @property
    def unimodular(self) -> bool:
        """Whether determinants are kept at 1."""
        return isinstance(self.space, HalfSpace) and self.space.unimodular

    @property
    def scale(self) -> float:
        return self.space.v_scale if isinstance(self.space, MatrixBall) else 1.0

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def record(self, p: Tensor) -> Tensor:
        """Points (n, *point_shape), float64, to node records (n, node_size)."""
        space = self.space
        if isinstance(space, HalfSpace):
            L, _ = space.factors(space.matrix(p))
            if self.kind == "positive":
                return _packed(L)
            i, j = torch.triu_indices(*self.shape)
            return torch.cat([_packed(L.real), p[..., 0][:, i, j]], -1)
        if isinstance(space, MatrixBall):
            Z = space.matrix(p)
            A, B = space.factors(Z)
            if self.swapped:
                Z, A, B = Z.mH, B, A
            S = torch.linalg.solve_triangular(A, Z @ B, upper=False)
            triangles = [_packed(B)] if self.kind == "symmetric ball" else [_packed(A), _packed(B)]
            return torch.cat([*triangles, flattened(Z, 2), flattened(S, 2)], -1)
        return p

    def points(self, record: Tensor) -> Tensor:
        """Points (n, *point_shape) of node records."""
        if self.is_vector:
            return record.clone()
        if isinstance(self.space, MatrixBall):
            rows, columns = self.shape
            whole = rows * columns * (1 + self.is_complex)
            Z = self._matrix(record[:, -2 * whole : -whole], rows, columns)
            return self.space.storage(Z.mH if self.swapped else Z)
        assert isinstance(self.space, HalfSpace)
        size = self.shape[0]
        i, j = lower(size)
        below = record[:, 2 * size : 2 * size + len(i) * (1 + (self.is_complex and self.kind == "positive"))]
        entries = self._entries(below) if below.shape[1] > len(i) else below
        L = torch.diag_embed(record[:, size : 2 * size].to(entries.dtype))
        L[:, i, j] = entries
        if self.kind == "positive":  # L L*
            return self.space.storage(L @ L.mH)
        X = torch.zeros_like(L)
        i, j = torch.triu_indices(size, size)
        X[:, i, j] = X[:, j, i] = record[:, 2 * size + below.shape[1] :]
        Y = L @ L.mT
        return torch.stack([X, (Y + Y.mT) / 2], -1)

    def _matrix(self, flat: Tensor, rows: int, columns: int) -> Tensor:
        return (self._entries(flat) if self.is_complex else flat).unflatten(-1, (rows, columns))

    @staticmethod
    def _entries(flat: Tensor) -> Tensor:
        return torch.view_as_complex(flat.unflatten(-1, (-1, 2)).contiguous())

    @cached_property
    def _unpack(self) -> Tensor:
        """(gradient_size, entries of a point): the linear map from kept entries to a tangent vector at o."""
        return self._unpacked(torch.eye(self.gradient_size, dtype=torch.float64))

    def _unpacked(self, gradient: Tensor) -> Tensor:
        """Kept entries (n, gradient_size) to flat tangent vectors at o."""
        space = self.space
        if not isinstance(space, HalfSpace | MatrixBall):
            return gradient
        entries = self._entries(gradient) if self.is_complex else gradient
        M = entries.new_zeros(len(gradient), *self.shape)
        i, j = self.kept
        M[:, i, j] = entries
        if self.block == 2:  # the second row of a quaternion's block
            top = M.unflatten(-1, (-1, 2))[:, ::2]
            bottom = torch.stack([-top[..., 1].conj(), top[..., 0].conj()], -1).flatten(-2)
            M[:, 1::2] = bottom
            i, j = torch.cat([i, i + 1]), torch.cat([j, j])
        if self.triangle != KEEP_ALL:
            above = torch.ones(self.shape, dtype=torch.bool, device=M.device).triu(1)
            mirrored = torch.where(above, M, 0).mT
            if self.kind == "positive":
                mirrored = mirrored.conj()
            M = torch.where(above | torch.eye(*self.shape, dtype=torch.bool, device=M.device), M, 0)
            M = M - mirrored if self.triangle == KEEP_ABOVE else M + mirrored
        if self.swapped:
            M = M.mH
        tangent = space.structured(space.field.entries(M))
        if isinstance(space, HalfSpace) and space.unimodular:
            tangent = space.storage(space.tangent(space.matrix(tangent)))
        return tangent.flatten(1)

    def tangent(self, gradient: Tensor) -> Tensor:
        """Kept entries (n, gradient_size) to tangent vectors at o (n, *point_shape); ambient ones on a sphere."""
        small = self.gradient_size <= LARGEST_MAP
        flat = gradient @ self._unpack.to(gradient) if small else self._unpacked(gradient)
        return flat.unflatten(-1, self.space.point_shape)


def _packed(L: Tensor) -> Tensor:
    diagonal = L.diagonal(dim1=-2, dim2=-1).real
    i, j = lower(L.shape[-1])
    return torch.cat([1 / diagonal, diagonal, flattened(L[:, i, j], 1)], -1)


def leaves(space: Space, points: Tensor) -> Iterator[tuple[Space, Tensor]]:
    """The irreducible parts of a space, each with its part of points (n, *point_shape)."""
    if isinstance(space, Product):
        for factor, part in space.parts(points):
            yield from leaves(factor, part)
    elif isinstance(space, Power):
        for index in range(space.count):
            yield from leaves(space.factor, points[:, index])
    else:
        yield space, points


def _kind(space: Space) -> str | None:
    if isinstance(space, HalfSpace):
        return "siegel" if space.kind == "symmetric" else "positive"
    if isinstance(space, MatrixBall):
        return "ball" if space.kind == "free" else "symmetric ball"
    return VECTORS.get(type(space))  # type: ignore[arg-type]


class Layout:
    """The parts of a space, laid out side by side."""

    def __init__(self, space: SymmetricSpace):
        self.space, self.parts = space, []
        nodes = gradients = components = 0
        for leaf, _ in leaves(space, torch.empty(0, *space.point_shape)):
            kind = _kind(leaf)
            if kind is None or not isinstance(leaf, SymmetricSpace):
                raise ValueError(f"no pair kernel covers {leaf}")
            part = Part(leaf, kind, nodes, gradients, components)
            self.parts.append(part)
            nodes, gradients = nodes + part.node_size, gradients + part.gradient_size
            components += part.length
        self.node_size, self.gradient_size, self.components = nodes, gradients, components
        self.curvatures = [part for part in self.parts if part.learned]

    @torch.no_grad()
    def nodes(self, points: Tensor) -> Tensor:
        """Records (n, node_size) of points (n, *point_shape), computed in float64, in the dtype of the points."""
        pieces = leaves(self.space, points.detach().to(torch.float64))
        records = [part.record(p) for part, (_, p) in zip(self.parts, pieces, strict=True)]
        return torch.cat(records, -1).to(points.dtype).contiguous()

    def tangents(self, gradients: Tensor) -> list[Tensor]:
        """Sums of pair gradients over nodes (n, gradient_size) as tangent vectors of the parts, in their frames."""
        split = gradients.split([part.gradient_size for part in self.parts], -1)
        return [part.tangent(piece) for part, piece in zip(self.parts, split, strict=True)]

    def frame_gradient(self, points: Tensor, gradients: Tensor) -> Tensor:
        """The Riemannian gradient at every node in its frame, a tangent vector at o: (n, *point_shape)."""
        pieces = leaves(self.space, points.detach().to(torch.float64))
        tangents = [
            part.space.pull(p, x.to(p)) if part.kind == "sphere" else x
            for part, x, (_, p) in zip(self.parts, self.tangents(gradients), pieces, strict=True)
        ]
        joined = torch.cat([x.flatten(1).to(gradients.dtype) for x in tangents], -1)
        return joined.unflatten(-1, self.space.point_shape)

    def euclidean_gradient(self, points: Tensor, gradients: Tensor) -> Tensor:
        """What autograd leaves in .grad of the points: the adjoint of X → g_p⁻¹X, applied to the frame gradient."""
        p = points.detach().to(torch.float64)
        xi = self.frame_gradient(points, gradients).to(torch.float64)
        with torch.enable_grad():
            X = torch.zeros_like(p).requires_grad_()
            pulled = self.space.pull(p, X)
            weight = torch.as_tensor(self.space.weight, dtype=p.dtype, device=p.device)
            (found,) = torch.autograd.grad(pulled, X, weight * xi)
        return found.to(points.dtype)

    # ── for the compiled kernels ─────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def integers(self) -> Tensor:
        """One row a part, the whole numbers of PairFactor in native/pair_batch.hpp."""
        rows = [
            [
                *(KINDS[x.kind], x.is_complex, *x.shape, x.block, x.triangle, x.copies, x.length, x.learned),
                *(x.node, x.gradient, x.component),
            ]
            for x in self.parts
        ]
        return torch.tensor(rows, dtype=torch.int32)

    def reals(self) -> Tensor:
        """Curvature and scale of every part, as they are now."""
        rows = [[0.0 if x.curvature is None else float(x.curvature.detach()), x.scale] for x in self.parts]
        return torch.tensor(rows, dtype=torch.float64)


POWER, LINEAR, WEIGHTED = range(3)


class NormLayout:
    """A norm as the kernels take it: Σ|v|^p, a linear form, or weights on the sorted components of every factor."""

    def __init__(self, norm: BoundNorm):
        self.norm, chamber = norm, norm.chamber
        kind = norm.norm
        self.kind = (
            POWER if isinstance(kind, PowerNorm) else WEIGHTED if isinstance(kind, Weighted) else LINEAR
        )
        self.p = kind.p if isinstance(kind, PowerNorm) else 1.0
        self.learned = bool(norm.parameters())
        self.group_ends = _ends(chamber.groups or (chamber.length,))
        self.segment_ends = _ends(tuple(factor.length for factor in chamber.factors))
        self.chamber: Chamber = chamber

    def weights(self) -> Tensor:
        """As they are now, float64; learned ones carry gradients."""
        if isinstance(self.norm.norm, Weighted):
            return self.norm.norm.weights(self.chamber).to(torch.float64)
        return self.chamber.two_rho() if self.kind == LINEAR else torch.zeros(0, dtype=torch.float64)

    @property
    def is_max(self) -> bool:
        return self.kind == POWER and math.isinf(self.p)


class LossLayout(NamedTuple):
    """What a pair costs, as the kernels take it: PairObjective in native/pair_batch.hpp."""

    kind: int  # LOSSES
    unit: float = 1.0  # graph units a unit of the space
    weight: float = 0.0  # of the ranking, per unit of length
    border: float = 0.0


LOSSES = {"relative": 0, "paper": 1, "relative-squared": 2, "stress": 3}


def _ends(lengths: tuple[int, ...]) -> Tensor:
    return torch.tensor(lengths, dtype=torch.int32).cumsum(0).to(torch.int32)
