"""Weyl chambers: where vector-valued distances live, with their restricted roots and multiplicities.

A factor of type BC keeps |v| sorted (Weyl group: signs and permutations), one of type A keeps v sorted with its signs
(permutations). Roots are rows of coefficients in the space's own v, so that a geodesic of direction v has Jacobi
fields of growth α(v) for each root α: the table of ../../NOTATION.md, checked on every space by the law `curvature`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import torch
from torch import Tensor


@dataclass(frozen=True)
class Factor:
    """One irreducible (or flat) factor: `length` components of v, of which `rank` are independent."""

    type: str  # "A" or "BC"
    length: int
    rank: int
    roots: tuple[tuple[tuple[float, ...], int], ...] = ()  # (coefficients, multiplicity)
    sign: int = -1  # of the sectional curvature: -1, 0, 1

    def fold(self, v: Tensor) -> Tensor:
        return (v.abs() if self.type == "BC" else v).sort(-1, descending=True).values

    def opposite(self, v: Tensor) -> Tensor:
        return v if self.type == "BC" else -v.flip(-1)

    def __str__(self) -> str:
        return f"{self.type}{self.rank}" if self.sign else f"flat{self.rank}"


@dataclass(frozen=True)
class Chamber:
    """The product of the chambers of the factors; norms act on the concatenated vector."""

    factors: tuple[Factor, ...]
    combine: str = field(default="concatenate")  # or "pythagoras": the paper's way for Finsler products

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

    def two_rho(self) -> list[float]:
        """Coefficients of 2ρ, the sum of the positive roots with multiplicities."""
        sums: list[float] = []
        for factor in self.factors:
            columns = zip(*([m * c for c in root] for root, m in factor.roots), strict=True)
            sums += [sum(column) for column in columns] if factor.roots else [0.0] * factor.length
        return sums

    def __str__(self) -> str:
        return " × ".join(str(factor) for factor in self.factors)


def _unit(length: int, **entries: float) -> tuple[float, ...]:
    return tuple(float(entries.get(f"e{i}", 0.0)) for i in range(length))


def type_a(length: int, multiplicity: int, unimodular: bool) -> Chamber:
    """Positive definite matrices: roots (v_i - v_j) / 2, i < j; v sums to zero where det = 1."""
    roots = tuple(
        (_unit(length, **{f"e{i}": 0.5, f"e{j}": -0.5}), multiplicity) for i, j in combinations(range(length), 2)
    )
    return Chamber((Factor("A", length, length - 1 if unimodular else length, roots, -1 if length > 1 else 0),))


def type_bc(
    rank: int, short: int = 0, middle: int = 0, long: int = 0, scale: float = 1.0, curvature: float = -1.0
) -> Chamber:
    """Roots θ_i (short), θ_i ± θ_j (middle), 2 θ_i (long) with these multiplicities, for v = scale · θ."""
    unit = abs(curvature) ** 0.5 / scale
    roots = [(_unit(rank, **{f"e{i}": unit}), short) for i in range(rank)]
    for i, j in combinations(range(rank), 2):
        roots += [(_unit(rank, **{f"e{i}": unit, f"e{j}": sign * unit}), middle) for sign in (-1, 1)]
    roots += [(_unit(rank, **{f"e{i}": 2 * unit}), long) for i in range(rank)]
    kept = tuple((root, multiplicity) for root, multiplicity in roots if multiplicity)
    sign = (curvature > 0) - (curvature < 0) if kept else 0
    return Chamber((Factor("BC", rank, rank, kept if sign else (), sign),))
