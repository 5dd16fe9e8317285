"""The three number fields and how their matrices are stored and computed with.

A matrix over R, C or H is stored with real entries on a last axis of 1 (absent), 2 or 4, and computed with as a real
or complex matrix. A quaternion a + bi + cj + dk becomes the complex block [[a+bi, c+di], [-c+di, a-bi]]; Cholesky,
solves, products and analytic functions keep that pattern, so no algorithm here knows about quaternions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Field:
    """One of R, C, H: `width` real numbers an entry, `block` rows of the computing matrix an entry."""

    name: str
    width: int
    block: int

    def entry_shape(self, rows: int, columns: int) -> tuple[int, ...]:
        """The shape in which a rows × columns matrix is stored."""
        return (rows, columns) if self.width == 1 else (rows, columns, self.width)

    def matrix(self, entries: Tensor) -> Tensor:
        """Stored entries to the matrix to compute with."""
        if self.width == 1:
            return entries
        if self.width == 2:
            return torch.complex(*entries.unbind(-1))
        a, b, c, d = entries.unbind(-1)
        first = torch.stack([torch.complex(a, b), torch.complex(c, d)], -1)
        second = torch.stack([torch.complex(-c, d), torch.complex(a, -b)], -1)
        blocks = torch.stack([first, second], -3)  # (..., p, 2, q, 2)
        return blocks.flatten(-2, -1).flatten(-3, -2)

    def entries(self, matrix: Tensor) -> Tensor:
        """The stored entries of a matrix, the nearest ones of the field."""
        if self.width == 1:
            return matrix
        if self.width == 2:
            return torch.view_as_real(matrix.resolve_conj())
        rows, columns = matrix.shape[-2] // 2, matrix.shape[-1] // 2
        blocks = matrix.unflatten(-1, (columns, 2)).unflatten(-3, (rows, 2))  # (..., p, 2, q, 2)
        one, two = blocks[..., 0, :, 0], blocks[..., 0, :, 1]
        three, four = blocks[..., 1, :, 0], blocks[..., 1, :, 1]
        return (
            torch.stack([(one + four).real, (one - four).imag, (two - three).real, (two + three).imag], -1)
            / 2
        )


REAL, COMPLEX, QUATERNION = Field("R", 1, 1), Field("C", 2, 1), Field("H", 4, 2)
FIELDS = {field.name: field for field in (REAL, COMPLEX, QUATERNION)}


def real_form(matrix: Tensor) -> Tensor:
    """A complex matrix as the real one of twice the size, [[Re, -Im], [Im, Re]]; a real one as it is.

    Adjoints become transposes and singular values appear twice.
    """
    if not matrix.is_complex():
        return matrix
    top = torch.cat([matrix.real, -matrix.imag], -1)
    return torch.cat([top, torch.cat([matrix.imag, matrix.real], -1)], -2)


def identity(matrix: Tensor, size: int) -> Tensor:
    """The identity of a size, in the dtype and on the device of a matrix."""
    return torch.eye(size, dtype=matrix.dtype, device=matrix.device)
