"""Matrix half spaces {H : H + H* > 0}: the Siegel upper half space and the positive definite matrices, one space.

H = -iZ = Y - iX symmetric: Siegel's upper half space. H Hermitian: positive definite matrices P over R, C, H. Both
have the frame H = N + L L* (N skew, L triangular), the reflection H → H⁻¹ at o = Id, and the pair matrices below.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .chamber import Chamber, type_a, type_bc
from .fields import Field, identity
from .matrix_space import MatrixSpace, blocks, inverse_adjoint, rayleigh, singular_spectrum, spread_of
from .spectral import exponential, hermitian_function, hermitian_values, odd_function
from .twofold import Matrix, between, cholesky, scaled

HALF = torch.tensor(0.5, dtype=torch.float64)


class HalfSpace(MatrixSpace):
    """⟨X, Y⟩ = Re tr(L⁻¹XL⁻* (L⁻¹YL⁻*)*); v = 2 asinh(σ(C)/2), C = L₁⁻¹(H₂ - H₁)L₂⁻*."""

    def __init__(self, name: str, size: int, field: Field, kind: str, unimodular: bool = False):
        super().__init__(name, size, size, field, kind)
        self.size, self.unimodular = size, unimodular
        self.weight = 1.0
        self.unit = 1j if kind == "symmetric" else 1.0
        self.dim = size + field.width * size * (size - 1) // 2 if kind == "hermitian" else size * (size + 1)
        self.dim -= unimodular

    @property
    def chamber(self) -> Chamber:
        if self.kind == "symmetric":
            return type_bc(self.size, middle=1, long=1, scale=2)
        return type_a(self.size, self.field.width, self.unimodular)

    def origin(self):
        return self.storage(torch.eye(self.size * self.field.block, dtype=self._dtype()))

    def factors(self, P: Matrix) -> tuple[Matrix, Matrix]:
        L = cholesky(scaled(P + P.mH, HALF))
        return L, L

    def frame_block(self, P):
        L, _ = self.factors(P)
        low = inverse_adjoint(L)
        return blocks(L, (P - P.mH) / 2 @ low, torch.zeros_like(L), low)

    def inverse(self, g):
        a, b, c, d = self._blocks(g)
        return blocks(d.mH, b.mH, c.mH, a.mH)

    def settle(self, image, Z, inverse):
        """The positive part as a product, without cancellation: six more digits of log in upper(1) at distance 20."""
        positive = inverse.mH @ (Z + Z.mH) @ inverse / 2
        return (positive + positive.mH + image - image.mH) / 2

    def tangent(self, xi):
        if not self.unimodular:
            return xi
        trace = xi.diagonal(dim1=-2, dim2=-1).real.mean(-1)
        return xi - trace[..., None, None] * identity(xi, xi.shape[-1])

    def pair(self, P: Matrix, Q: Matrix) -> tuple[Matrix, Matrix, Tensor]:
        (L1, _), (L2, _) = self.factors(P), self.factors(Q)
        loss = torch.stack([top / bottom for top, bottom in map(spread_of, (L1, L2))]).amax(0)
        return between(L1, Q - P, L2), between(L1, Q + P.mH, L2), loss

    def spectrum(self, C, N):
        if self.kind == "symmetric":
            values, _ = singular_spectrum(C)
            return values, values
        if isinstance(C, Tensor):
            M = C @ N.mH / 2  # sinh of the logarithm of L₁⁻¹ P₂ L₁⁻*, Hermitian
            values, _ = hermitian_values((M + M.mH) / 2)
            return values, values
        M = scaled(C @ N.mH, HALF)
        values, Q = torch.linalg.eigh((M.high + M.high.mT) / 2)
        values = rayleigh(Q, M, Q).flip(-1)
        return values, values

    def components(self, values, companions):
        return torch.asinh(values) if self.kind == "hermitian" else 2 * torch.asinh(values / 2)

    def symmetry(self):
        one = torch.eye(self.size * self.field.block, dtype=self._dtype())
        return blocks(torch.zeros_like(one), one, one, torch.zeros_like(one))

    def rotation(self, generator):
        U = self._unitary(self.size, generator, self.field)
        if self.kind == "hermitian":
            return blocks(U, torch.zeros_like(U), torch.zeros_like(U), U)
        a, b = U.real.to(U), -1j * U.imag
        return blocks(a, b, b, a)

    def transvection(self, xi):
        X = self.matrix(xi)
        b, s = (X + X.mH) / 4, (X - X.mH) / 4
        return exponential(blocks(b, s, -s, -b))

    def log_o(self, q):
        H = self.matrix(q)
        _, L = self.factors(H)
        one = identity(H, H.shape[-1]).expand_as(H)
        C, N = between(one, H - one, L), between(one, H + one, L)
        X = odd_function(C, lambda x: 2 * torch.asinh(x / 2) / (4 + x.square()).sqrt()) @ N.mH
        return self.storage(self.tangent(X))

    def retract_o(self, xi):
        X = self.matrix(xi)
        b, s = (X + X.mH) / 2, (X - X.mH) / 2
        one = identity(X, X.shape[-1])
        h = one + b / 2 + b @ b / 8
        Y = h @ torch.linalg.solve(one - s @ s / 2, h)  # -s² = s*s, so Y stays positive definite
        if self.unimodular:
            Y = Y * torch.exp(-torch.linalg.slogdet(Y).logabsdet / Y.shape[-1])[..., None, None]
        return self.storage(Y + s + (s @ b + b @ s) / 2)

    def inside(self, p):
        H = self.matrix(p)
        L, info = torch.linalg.cholesky_ex((H + H.mH) / 2)
        if not self.unimodular:
            return info == 0
        log_det = 2 * L.diagonal(dim1=-2, dim2=-1).real.log().sum(-1) / self.field.block
        return (info == 0) & (log_det.abs() < 1e-2)

    def defect(self, p):
        H = self.matrix(p)
        part = "an imaginary part" if self.kind == "symmetric" else "a matrix"
        Y = (H + H.mH) / 2
        values = torch.linalg.eigvalsh(Y)
        if not values[0] > 0 or torch.linalg.cholesky_ex(Y).info:
            return f"has {part} that is not positive definite (smallest eigenvalue {values[0]:.3g})"
        return f"has determinant {math.exp(float(values.log().sum()) / self.field.block):.6g}, expected 1"

    def nearest(self, p, margin, target):
        H = self.matrix(p)
        Y, N = (H + H.mH) / 2, (H - H.mH) / 2
        values, _ = hermitian_values(Y)
        largest = values.abs().amax(-1).clamp(min=torch.finfo(torch.float32).tiny)[..., None, None]
        inside = (values >= margin * largest[..., 0]).all(-1)[..., None, None]
        if not bool(inside.all()):
            lifted = largest * hermitian_function(Y / largest, lambda x: x.clamp(min=target))
            H = torch.where(inside, H, lifted + N)
        if self.unimodular:
            log_det = torch.linalg.slogdet((H + H.mH) / 2).logabsdet[..., None, None] / H.shape[-1]
            H = torch.where(log_det.abs() < min(target**2, 1e-5), H, H * torch.exp(-log_det))
        return self.storage(H)

    def _dtype(self) -> torch.dtype:
        return torch.float64 if self.field.width == 1 else torch.complex128
