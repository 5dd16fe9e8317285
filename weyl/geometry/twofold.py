"""Matrices in twice the working precision, and the two factorisations that run in either arithmetic.

A dense point whose components differ by a gap g has a matrix of condition e^g; from a gap of about 5 the last digits
of float64 are needed twice. A Twofold holds an unevaluated sum high + low of float64 tensors (error-free sums and
products after Dekker and Knuth; T. J. Dekker, Numer. Math. 18, 1971), about 31 digits. Values only, no gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from .fields import identity

SPLITTER = 134217729.0  # 2^27 + 1 halves the 53 bits of a float64


def two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """a + b = sum + error, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def split(a: Tensor) -> tuple[Tensor, Tensor]:
    """a = high + low with 26 bits each, exactly."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """a b = product + error, exactly, below 1e300."""
    product = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


@dataclass
class Twofold:
    """high + low, float64 tensors of one shape, |low| at most half a last digit of high."""

    high: Tensor
    low: Tensor

    @classmethod
    def of(cls, value: Tensor) -> Twofold:
        return cls(value, torch.zeros_like(value))

    @property
    def mH(self) -> Twofold:
        return Twofold(self.high.mT, self.low.mT)

    def __getitem__(self, index: Any) -> Twofold:
        return Twofold(self.high[index], self.low[index])

    def __setitem__(self, index: Any, value: Twofold) -> None:
        self.high[index], self.low[index] = value.high, value.low

    def clone(self) -> Twofold:
        return Twofold(self.high.clone(), self.low.clone())

    def __neg__(self) -> Twofold:
        return Twofold(-self.high, -self.low)

    def __add__(self, other: Twofold) -> Twofold:
        total, error = two_sum(self.high, other.high)
        low, rest = two_sum(self.low, other.low)
        total, error = two_sum(total, error + low)
        return Twofold(*two_sum(total, error + rest))

    def __sub__(self, other: Twofold) -> Twofold:
        return self + (-other)

    def __mul__(self, other: Twofold) -> Twofold:
        product, error = two_product(self.high, other.high)
        return Twofold(*two_sum(product, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: Twofold) -> Twofold:
        quotient = Twofold.of(self.high / other.high)
        for _ in range(2):
            rest = self - quotient * other
            quotient = quotient + Twofold.of(rest.high / other.high)
        return quotient

    def __matmul__(self, other: Twofold) -> Twofold:
        total = self[..., :, 0:1] * other[..., 0:1, :]
        for inner in range(1, self.high.shape[-1]):
            total = total + self[..., :, inner : inner + 1] * other[..., inner : inner + 1, :]
        return total

    def sqrt(self) -> Twofold:
        root = Twofold.of(self.high.sqrt())
        rest = self - root * root
        return root + Twofold.of(rest.high / (2 * root.high))


Matrix = TypeVar("Matrix", Tensor, Twofold)  # code over a Matrix runs in either arithmetic


def cholesky(matrix: Matrix) -> Matrix:
    """The lower triangular L with positive diagonal and L L* = matrix; ValueError where there is none."""
    if isinstance(matrix, Tensor):
        factor, info = torch.linalg.cholesky_ex(matrix)
        _refuse(info != 0)
        return factor
    factor = matrix.clone()
    size = matrix.high.shape[-1]
    for j in range(size):
        pivot = factor[..., j : j + 1, j : j + 1].sqrt()
        column = factor[..., j:, j : j + 1] / pivot
        factor[..., j:, j : j + 1] = column
        rest = column[..., 1:, :]
        factor[..., j + 1 :, j + 1 :] = factor[..., j + 1 :, j + 1 :] - rest * rest.mH
    _refuse(~factor.high.diagonal(dim1=-2, dim2=-1).isfinite().all(-1))
    return Twofold(factor.high.tril(), factor.low.tril())


def _refuse(outside: Tensor) -> None:
    if bool(outside.any()):
        raise ValueError(
            f"point {int(outside.flatten().nonzero()[0])} of {outside.numel()} lies outside its space, or so near its "
            "boundary that rounding took it there (a matrix that must be positive definite is not); "
            "space.project(point, margin=1e-6) moves it inside"
        )


def solve_lower(factor: Matrix, right: Matrix) -> Matrix:
    """X with factor X = right, factor lower triangular."""
    if isinstance(factor, Tensor):
        return torch.linalg.solve_triangular(factor, right, upper=False)
    shape = np.broadcast_shapes(factor.high.shape[:-2], right.high.shape[:-2])
    right = Twofold(*(part.expand(*shape, *part.shape[-2:]).clone() for part in (right.high, right.low)))
    size = factor.high.shape[-1]
    for j in range(size):
        row = right[..., j : j + 1, :] / factor[..., j : j + 1, j : j + 1]
        right[..., j : j + 1, :] = row
        if j + 1 < size:
            right[..., j + 1 :, :] = right[..., j + 1 :, :] - factor[..., j + 1 :, j : j + 1] * row
    return right


def scaled(matrix: Matrix, factor: Tensor) -> Matrix:
    """factor · matrix."""
    if isinstance(matrix, Tensor):
        return factor.to(matrix.device) * matrix
    return matrix * Twofold.of(factor.to(matrix.high).expand_as(matrix.high))


def plus_identity(matrix: Matrix) -> Matrix:
    """matrix + Id."""
    if isinstance(matrix, Tensor):
        return matrix + identity(matrix, matrix.shape[-1])
    return matrix + Twofold.of(identity(matrix.high, matrix.high.shape[-1]).expand_as(matrix.high))


def between(left: Matrix, middle: Matrix, right: Matrix) -> Matrix:
    """left⁻¹ · middle · right⁻*, for lower triangular left and right."""
    return solve_lower(right, solve_lower(left, middle).mH).mH
