"""MatrixSpace: spaces of matrices on which isometries act as fractions, Z → (aZ + b)(κcZ + d)⁻¹.

Every point has two triangular factors A, B with tangent vectors X = A ξ B* (its frame), and every pair two matrices,
the chord C and its companion N, small where the points are near and never inverted: all distances are functions of
the singular values of C (or eigenvalues of C N*), computed in float64 where that suffices and in twice that where not.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import final

import torch
from torch import Tensor

from .fields import Field, identity, real_form
from .spectral import exponential, singular_values
from .symmetric import SymmetricSpace
from .twofold import Matrix, Twofold, between

KINDS = {
    "free": "a matrix",
    "symmetric": "symmetric",
    "antisymmetric": "antisymmetric",
    "hermitian": "Hermitian",
}


class MatrixSpace(SymmetricSpace):
    """rows × columns matrices over a field, of a kind: free, symmetric, antisymmetric or hermitian."""

    unit: complex = 1.0  # what is stored is unit times the matrix computed with

    def __init__(self, name: str, rows: int, columns: int, field: Field, kind: str):
        self.name, self.rows, self.columns, self.field, self.kind = name, rows, columns, field, kind
        self.point_shape = field.entry_shape(rows, columns)
        self.complex_points = field.width == 2
        self.structure_name = KINDS[kind]

    # ── what a matrix space writes ───────────────────────────────────────────────────────────────────────────────
    kappa: float | Tensor = 1.0

    @abstractmethod
    def factors(self, P: Matrix) -> tuple[Matrix, Matrix]:
        """Lower triangular A, B: tangent vectors at P are A ξ B* with ξ tangent at o."""

    @abstractmethod
    def frame_block(self, P: Tensor) -> Tensor:
        """The frame as a block matrix [[a, b], [c, d]]."""

    @abstractmethod
    def pair(self, P: Matrix, Q: Matrix) -> tuple[Matrix, Matrix, Tensor]:
        """Chord C, companion N, and the factor by which rounding errors of the points grow; in either arithmetic."""

    @abstractmethod
    def spectrum(self, C: Matrix, N: Matrix) -> tuple[Tensor, Tensor]:
        """The values that make the distance (differentiable, copies not merged), and their companions."""

    @abstractmethod
    def components(self, values: Tensor, companions: Tensor) -> Tensor:
        """v from the merged values."""

    @abstractmethod
    def settle(self, image: Tensor, Z: Tensor, inverse: Tensor) -> Tensor:
        """The image of Z, with the digits that a small part of it loses beside a large one; inverse = (κcZ + d)⁻¹."""

    def tangent(self, xi: Tensor) -> Tensor:
        """The part of a matrix of the right kind that is tangent at o."""
        return xi

    # ── derived ──────────────────────────────────────────────────────────────────────────────────────────────────
    @final
    def matrix(self, x: Tensor) -> Tensor:
        M = self.field.matrix(x)
        return M if self.unit == 1 else M / self.unit

    @final
    def storage(self, M: Tensor) -> Tensor:
        return self.structured(self.field.entries(M if self.unit == 1 else M * self.unit))

    @final
    def structured(self, x):
        if self.kind == "free":
            return x
        rows = -2 if self.field.width == 1 else -3
        flipped = x.transpose(rows, rows + 1)
        if self.kind == "hermitian" and self.field.width > 1:
            flipped = flipped * torch.tensor([1.0] + [-1.0] * (self.field.width - 1)).to(x)
        return (x - flipped) / 2 if self.kind == "antisymmetric" else (x + flipped) / 2

    @final
    def frame(self, p):
        return self.frame_block(self.matrix(p))

    @final
    def _blocks(self, g: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        rows = self.rows * self.field.block
        return (
            g[..., :rows, :rows],
            g[..., :rows, rows:],
            self.kappa * g[..., rows:, :rows],
            g[..., rows:, rows:],
        )

    @final
    def _fraction(self, g: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Image, its (κcZ + d)⁻¹, and a, κc, Z."""
        a, b, c, d = self._blocks(g.to(q.device))
        Z = self.matrix(q)
        bottom = c @ Z + d
        inverse = torch.linalg.inv_ex(bottom).inverse
        return self.settle((a @ Z + b) @ inverse, Z, inverse), inverse, a, c, Z

    @final
    def move(self, g, q):
        return self.storage(self._fraction(g, q)[0])

    @final
    def push(self, g, q, X):
        image, inverse, a, c, _ = self._fraction(g, q)
        return self.storage((a - image @ c) @ self.matrix(X) @ inverse)

    @final
    def lift(self, p, xi):
        A, B = self.factors(self.matrix(p))
        return self.storage(A @ self.tangent(self.matrix(self.structured(xi))) @ B.mH)

    @final
    def pull(self, p, X):
        A, B = self.factors(self.matrix(p))
        return self.storage(self.tangent(self.matrix(self.storage(between(A, self.matrix(X), B)))))

    @final
    def flat_o(self, v):
        entries = v.new_zeros(*v.shape[:-1], *self.point_shape)
        plane = entries if self.field.width == 1 else entries[..., 0]
        for j in range(v.shape[-1]):
            if self.kind == "antisymmetric":
                plane[..., 2 * j, 2 * j + 1], plane[..., 2 * j + 1, 2 * j] = v[..., j], -v[..., j]
            else:
                plane[..., j, j] = v[..., j]
        return self.storage(self.field.matrix(entries)) / self.v_scale

    v_scale: float = 1.0  # v of exp_o(diag(s)) is v_scale · s

    @final
    def _unitary(self, size: int, generator: torch.Generator, field: Field) -> Tensor:
        noise = torch.randn(field.entry_shape(size, size), dtype=torch.float64, generator=generator)
        M = field.matrix(noise)
        return exponential(M - M.mH)

    # ── distances ────────────────────────────────────────────────────────────────────────────────────────────────
    @final
    def vector_at(self, p, q, tolerance):
        p, q = torch.broadcast_tensors(p, q)
        P, Q = self.matrix(p), self.matrix(q)
        C, N, loss = self.pair(P, Q)
        values, companions = self.spectrum(C, N)
        with torch.no_grad():
            spread = values.abs().amax(-1) / (1 + values.abs().amin(-1).square()).sqrt()
            poor = torch.finfo(values.dtype).eps * (loss + spread) > tolerance
            if bool(poor.any()):
                better = values.clone()
                better[poor] = self._refined(P[poor], Q[poor], values.shape[-1])
                # The gradient stays that of the float64 chord, whose error eps · loss no descent can feel.
                correction = better - values
        if bool(poor.any()):
            values = values + correction
        length = self.chamber.length
        copies = self.field.block * (2 if self.kind == "antisymmetric" else 1)
        merged = (
            x[..., : copies * length].unflatten(-1, (length, copies)).mean(-1) for x in (values, companions)
        )
        return self.components(*merged)

    @final
    def _refined(self, P: Tensor, Q: Tensor, count: int) -> Tensor:
        """The values of `spectrum` computed in twice the precision."""
        C, N, _ = self.pair(Twofold.of(real_form(P)), Twofold.of(real_form(Q)))
        values, _ = self.spectrum(C, N)
        return values.unflatten(-1, (count, -1)).mean(-1)


def blocks(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """[[a, b], [c, d]]."""
    return torch.cat([torch.cat([a, b], -1), torch.cat([c, d], -1)], -2)


def inverse_adjoint(L: Tensor) -> Tensor:
    """L⁻* of a lower triangular L."""
    eye = identity(L, L.shape[-1]).expand_as(L)
    return torch.linalg.solve_triangular(L, eye, upper=False).mH


def spread_of(L: Matrix) -> tuple[Tensor, Tensor]:
    """The largest and smallest squared diagonal entry of a triangular factor."""
    diagonal = (L.high if isinstance(L, Twofold) else L).diagonal(dim1=-2, dim2=-1).real.detach().square()
    return diagonal.amax(-1), diagonal.amin(-1)


def rayleigh(U: Tensor, M: Twofold, V: Tensor) -> Tensor:
    """diag(U* M V): singular or eigenvalues to twice the precision of the vectors, their error entering squared."""
    product = M @ Twofold.of(V)
    terms = Twofold.of(U) * product
    total = terms[..., 0, :]
    for row in range(1, U.shape[-2]):
        total = total + terms[..., row, :]
    return total.high


def singular_spectrum(C: Matrix) -> tuple[Tensor, Tensor]:
    """Singular values σ of the chord (differentiable in plain arithmetic) and its right singular vectors V*."""
    if isinstance(C, Tensor):
        _, values, Vh = singular_values(C)
        return values, Vh
    U, _, Vh = torch.linalg.svd(C.high, full_matrices=False)
    return rayleigh(U, C, Vh.mT), Vh
