"""Matrix balls {Z : Id + kZ*Z > 0} over R, C, H, free, symmetric or antisymmetric, of any curvature k.

k < 0: the non-compact spaces BDI, AIII, CII, CI, DIII; k = 0: flat; k > 0: their compact duals in an affine chart (the
unoriented Grassmannians). k may be a tensor that is being learned: everything passes smoothly through k = 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .chamber import Chamber, type_bc
from .curved import arcsine, arctangent, room_of_arctangent
from .fields import Field, identity
from .matrix_space import MatrixSpace, blocks, inverse_adjoint, singular_spectrum, spread_of
from .spectral import exponential, odd_function
from .twofold import Matrix, between, cholesky, plus_identity, scaled


class MatrixBall(MatrixSpace):
    """⟨X, Y⟩ = weight · Re tr(A⁻¹XB⁻* (A⁻¹YB⁻*)*), AA* = Id + kZZ*, BB* = Id + kZ*Z; v = scale · arcsin_k σ(C)."""

    def __init__(self, name: str, rows: int, columns: int, field: Field, kind: str, k: float | Tensor = -1.0):
        super().__init__(name, rows, columns, field, kind)
        self.curvature = k if isinstance(k, Tensor) else torch.tensor(float(k), dtype=torch.float64)
        if self.curvature.ndim or not bool(self.curvature.detach().isfinite()):
            raise ValueError(f"{name}: the curvature k must be one finite number")
        self.unit_scale = 1.0
        self.v_scale = 1.0 if field.width == 1 else 2.0
        self.weight = self.v_scale**2 / (2 if kind == "antisymmetric" else 1)
        entries = {
            "free": rows * columns,
            "symmetric": rows * (rows + 1) // 2,
            "antisymmetric": rows * (rows - 1) // 2,
        }
        self.dim = field.width * entries[kind]

    @property
    def k(self) -> Tensor:
        return self.curvature.to(torch.float64)

    @property
    def kappa(self):  # type: ignore[override]
        return self.k

    def parameters(self) -> list[nn.Parameter]:
        """The curvature, where it is learned."""
        return [self.curvature] if isinstance(self.curvature, nn.Parameter) else []

    @property
    def chamber(self) -> Chamber:
        curvature = float(self.k.detach())
        if self.kind == "symmetric":
            return type_bc(self.rows, middle=1, long=1, scale=2, curvature=curvature)
        if self.kind == "antisymmetric":
            odd = 4 * (self.rows % 2)
            return type_bc(self.rows // 2, short=odd, middle=4, long=1, scale=2, curvature=curvature)
        width, rank = self.field.width, min(self.rows, self.columns)
        excess = width * abs(self.rows - self.columns)
        return type_bc(rank, excess, width, width - 1, scale=self.v_scale, curvature=curvature)

    def reach(self, dtype=torch.float64):
        k = float(self.k.detach())
        if k == 0:
            return math.inf
        end = math.pi / 2 if k > 0 else -math.log(torch.finfo(dtype).eps) / 2
        return self.v_scale * end / abs(k) ** 0.5

    def origin(self):
        return torch.zeros(self.point_shape, dtype=torch.float64)

    def _squares(self, P: Matrix) -> tuple[Matrix, Matrix]:
        return plus_identity(scaled(P @ P.mH, self.k)), plus_identity(scaled(P.mH @ P, self.k))

    def factors(self, P: Matrix) -> tuple[Matrix, Matrix]:
        left, right = self._squares(P)
        return cholesky(left), cholesky(right)

    def frame_block(self, P):
        A, B = map(inverse_adjoint, self.factors(P))
        return blocks(A, P @ B, -P.mH @ A, B)

    def inverse(self, g):
        return g.mH  # because the lower left block is stored without its factor kappa = k

    def settle(self, image, Z, inverse):
        return image

    def pair(self, P: Matrix, Q: Matrix) -> tuple[Matrix, Matrix, Tensor]:
        (A1, B1), (A2, B2) = self.factors(P), self.factors(Q)
        spreads = [spread_of(factor) for factor in (A1, B1, A2, B2)]
        loss = torch.stack([top.clamp(min=1) / bottom for top, bottom in spreads]).amax(0)
        return between(A1, Q - P, B2), between(B1, plus_identity(scaled(P.mH @ Q, self.k)), B2), loss

    def spectrum(self, C, N):
        values, Vh = singular_spectrum(C)
        if not isinstance(N, Tensor):
            return values, values
        return values, (N.detach() @ Vh.mH).abs().square().sum(-2).sqrt()  # the cosines |N v_j|

    def components(self, values, companions):
        return self.v_scale * arcsine(values, companions.detach(), self.k.to(values.device))

    def symmetry(self):
        rows, columns = self.rows * self.field.block, self.columns * self.field.block
        return torch.diag(torch.cat([torch.ones(rows), -torch.ones(columns)])).to(self._dtype())

    def rotation(self, generator):
        U = self._unitary(self.rows, generator, self.field)
        V = U.conj() if self.kind != "free" else self._unitary(self.columns, generator, self.field)
        zero = U.new_zeros(U.shape[-1], V.shape[-1])
        return blocks(U, zero, zero.mT, V)

    def transvection(self, xi):
        X = self.matrix(xi)
        rows, columns = X.shape[-2:]
        zero = X.new_zeros(*X.shape[:-2], rows, rows), X.new_zeros(*X.shape[:-2], columns, columns)
        T = exponential(blocks(zero[0], X, -self.k.to(X.device) * X.mH, zero[1]))
        a, b, _, d = T[..., :rows, :rows], T[..., :rows, rows:], None, T[..., rows:, rows:]
        return blocks(a, b, -b.mH, d)

    def log_o(self, q):
        k = self.k.to(q.device)
        theta = odd_function(self.matrix(q), lambda x: arctangent(x, k), lambda x: room_of_arctangent(x, k))
        return self.storage(theta)

    def retract_o(self, xi):
        X = self.matrix(xi)
        bend = (-self.k.to(X.device)).clamp(min=0) / 3
        return self.storage(torch.linalg.solve(identity(X, X.shape[-1]) + bend * X.mH @ X, X, left=False))

    def inside(self, p):
        if float(self.k.detach()) >= 0:
            return torch.ones(p.shape[: p.ndim - len(self.point_shape)], dtype=torch.bool, device=p.device)
        left, right = self._squares(self.matrix(p))
        return (torch.linalg.cholesky_ex(left).info == 0) & (torch.linalg.cholesky_ex(right).info == 0)

    def defect(self, p):
        largest = float(torch.linalg.matrix_norm(self.matrix(p), 2))
        limit = (-float(self.k.detach())) ** -0.5
        return f"lies outside the ball: its largest singular value is {largest:.9g}, not below {limit:.6g}"

    def nearest(self, p, margin, target):
        k = float(self.k.detach())
        if k >= 0:
            return p
        unit, Z = (-k) ** -0.5, self.matrix(p)
        inside = (torch.linalg.matrix_norm(Z.detach(), 2) <= (1 - margin) * unit)[..., None, None]
        if bool(inside.all()):
            return p
        end = (1 - target) * unit
        return self.storage(torch.where(inside, Z, odd_function(Z, lambda x: x.clamp(-end, end))))

    def _dtype(self) -> torch.dtype:
        return torch.float64 if self.field.width == 1 else torch.complex128
