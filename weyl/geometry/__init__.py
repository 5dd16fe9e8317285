"""The geometry of symmetric spaces: readable, exact, the oracle of everything faster. Imports nothing of ours but the
expression grammar.

    families (names) → half_space, matrix_ball, rank_one, product (the spaces)
                     → symmetric (all derived from frames) → space (the public face)
    below them: twofold, spectral, curved, fields (arithmetic), chamber, norms
"""

from .families import SPACES, interpolated, product, space, table
from .norms import METRICS, bind
from .space import Space
from .spectral import takagi
from .symmetric import SymmetricSpace

__all__ = [
    "METRICS",
    "SPACES",
    "Space",
    "SymmetricSpace",
    "bind",
    "interpolated",
    "product",
    "space",
    "table",
    "takagi",
]
