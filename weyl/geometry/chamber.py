"""Weyl chambers: where vector-valued distances live, with their restricted roots and multiplicities.

A factor of type BC keeps |v| sorted (Weyl group: signs and permutations), one of type A keeps v sorted with its signs
(permutations). Roots are rows of coefficients in the space's own v, so that a geodesic of direction v has Jacobi
fields of growth α(v) for each root α: the table of ../../NOTATION.md, checked on every space by the law `curvature`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor


@dataclass(frozen=True)
class Factor:
    """One irreducible (or flat) factor: `length` components of v, of which `rank` are independent.

    Type BC has the roots unit · e_i (short), unit · (e_i ± e_j) (middle), 2 unit · e_i (long); type A has
    unit · (e_i - e_j), i < j, counted as middle. `sign` is the sign of the sectional curvature.
    """

    type: str  # "A" or "BC"
    length: int
    rank: int
    sign: int
    unit: float = 0.0
    short: int = 0
    middle: int = 0
    long: int = 0

    def fold(self, v: Tensor) -> Tensor:
        return (v.abs() if self.type == "BC" else v).sort(-1, descending=True).values

    def opposite(self, v: Tensor) -> Tensor:
        return v if self.type == "BC" else -v.flip(-1)

    def roots(self) -> Iterator[tuple[dict[int, float], int]]:
        """The positive roots, each as its non-zero coefficients and its multiplicity."""
        if not self.sign:
            return
        for i in range(self.length if self.type == "BC" else 0):
            yield {i: self.unit}, self.short
            yield {i: 2 * self.unit}, self.long
        for i, j in combinations(range(self.length), 2):
            yield {i: self.unit, j: -self.unit}, self.middle
            if self.type == "BC":
                yield {i: self.unit, j: self.unit}, self.middle

    def two_rho(self) -> Tensor:
        """The coefficients of the sum of the positive roots with multiplicities."""
        above = torch.arange(self.length - 1, -1, -1, dtype=torch.float64)  # how many components come after
        if self.type == "A":
            return self.unit * self.middle * (2 * above - (self.length - 1)) * abs(self.sign)
        return self.unit * (self.short + 2 * self.long + 2 * self.middle * above) * abs(self.sign)

    def __str__(self) -> str:
        return f"{self.type}{self.rank}" if self.sign else f"flat{self.rank}"


@dataclass(frozen=True)
class Chamber:
    """The product of the chambers of the factors; norms act on the concatenated vector."""

    factors: tuple[Factor, ...]
    # Lengths of parts whose norms combine by Pythagoras, the paper's way for products.
    groups: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return sum(factor.length for factor in self.factors)

    @property
    def rank(self) -> int:
        return sum(factor.rank for factor in self.factors)

    def split(self, v: Tensor) -> tuple[Tensor, ...]:
        """The parts of v (..., length) that belong to the factors."""
        return v.split([factor.length for factor in self.factors], -1)

    def fold(self, v: Tensor) -> Tensor:
        """The representative in the chamber of any vector of the flat."""
        parts = zip(self.factors, self.split(v), strict=True)
        return torch.cat([factor.fold(part) for factor, part in parts], -1)

    def opposite(self, v: Tensor) -> Tensor:
        """v(q, p) from v(p, q)."""
        parts = zip(self.factors, self.split(v), strict=True)
        return torch.cat([factor.opposite(part) for factor, part in parts], -1)

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Where v lies in the closed chamber, up to a tolerance."""
        return ((self.fold(v) - v).abs() <= tolerance).all(-1)

    def two_rho(self) -> Tensor:
        """The coefficients of 2ρ, the sum of the positive roots with multiplicities."""
        return torch.cat([factor.two_rho() for factor in self.factors])

    def __str__(self) -> str:
        return " × ".join(str(factor) for factor in self.factors)


def type_a(length: int, multiplicity: int, unimodular: bool) -> Chamber:
    """Positive definite matrices: roots (v_i - v_j) / 2; v sums to zero where det = 1."""
    sign, rank = -1 if length > 1 else 0, length - 1 if unimodular else length
    return Chamber((Factor("A", length, rank, sign, 0.5, middle=multiplicity),))


def type_bc(
    rank: int, short: int = 0, middle: int = 0, long: int = 0, scale: float = 1.0, curvature: float = -1.0
) -> Chamber:
    """Roots θ_i (short), θ_i ± θ_j (middle), 2 θ_i (long) with these multiplicities, for v = scale · θ."""
    curved = short + long + (middle if rank > 1 else 0) > 0
    sign = (curvature > 0) - (curvature < 0) if curved else 0
    return Chamber((Factor("BC", rank, rank, sign, abs(curvature) ** 0.5 / scale, short, middle, long),))
