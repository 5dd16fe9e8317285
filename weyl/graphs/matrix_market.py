"""Matrix Market files: a sparse matrix of lengths, or a dense one of distances; row i is node i - 1, as in scipy.

The reader of edge lists reads them: scipy's crashes on some damaged files, and the Network Repository leaves out the
line of sizes, which is no loss where entries are positions alone.
"""

from __future__ import annotations

import numpy as np

from .columns import Columns, content_lines
from .edge_list import read_edges, utf8
from .graph import Graph
from .lines import BLANKS, fields, whole_numbers
from .objects import from_distances, from_sparse

BEGINNING = b"%%MatrixMarket"
KINDS = ("coordinate", "array")
VALUES = ("real", "double", "integer", "pattern")
SYMMETRIES = ("general", "symmetric")


def from_matrix_market(name: str, data: bytes) -> Graph:
    """The graph of a file in the Matrix Market exchange format."""
    text = utf8(data)
    kind, values, symmetry = _banner(text)
    line, start, sizes = _sizes(text)
    if kind == "array" and len(sizes) == 2:
        return from_distances(name, _dense(text[start:], line, sizes, symmetry))
    entries = None
    if kind == "coordinate" and len(sizes) == 3:
        *shape, entries = sizes
        if shape[0] != shape[1]:
            raise ValueError(f"an adjacency matrix is square, this one is ({shape[0]}, {shape[1]})")
    elif kind == "coordinate" and len(sizes) == 2 and values == "pattern":  # the first entry already
        start, line = text.rfind(b"\n", 0, start - 1) + 1, line - 1
    else:
        raise ValueError(f"line {line}: expected the sizes of the matrix")
    weight = -1 if values == "pattern" else 2
    found = read_edges(text, Columns(BLANKS, 2 if weight < 0 else 3, 0, 1, weight, start, line + 1))
    count = len(found.first)
    if entries not in (None, count):
        raise ValueError(f"line {line}: promises {entries:,} entries, but {count:,} follow")
    numbers = np.zeros(0, np.int64) if found.numbers is None else found.numbers
    n = int(numbers.max(initial=0)) if entries is None else sizes[0]
    if found.names or not (numbers.min(initial=1) > 0 and numbers.max(initial=0) <= n):
        raise ValueError(f"{_stray(text, start, line, n)} is no row from 1 to {n}")
    from scipy.sparse import coo_array

    lengths = np.ones(count) if found.weights is None else found.weights
    ends = (numbers[found.first] - 1, numbers[found.second] - 1) if count else (numbers, numbers)
    return from_sparse(name, coo_array((lengths, ends), shape=(n, n)))


def _banner(text: bytes) -> tuple[str, str, str]:
    words = text.split(b"\n", 1)[0].decode().lower().split()
    if words[:2] != [BEGINNING.decode().lower(), "matrix"] or len(words) != 5:
        raise ValueError(
            f"line 1: expected {BEGINNING.decode()} matrix, then its format, values and symmetry"
        )
    for word, known in zip(words[2:], (KINDS, VALUES, SYMMETRIES), strict=True):
        if word not in known:
            raise ValueError(f"line 1: {word!r} matrices hold no lengths: expected {' or '.join(known)}")
    return words[2], words[3], words[4]


def _sizes(text: bytes) -> tuple[int, int, list[int]]:
    """Number, offset behind it and numbers of the first line below the comments."""
    for line, at, kept in content_lines(text):
        numbers = whole_numbers(kept.split())
        if numbers is None:
            raise ValueError(f"line {line}: expected the sizes of the matrix, in whole numbers")
        return line, at, numbers.tolist()
    raise ValueError("only comments, expected a matrix below them")


def _stray(text: bytes, start: int, line: int, n: int) -> str:
    """The first field that is no row, and where it stands."""
    for number, _, kept in content_lines(text[start:]):
        for field in fields(kept, BLANKS)[:2]:
            row = whole_numbers([field])
            if row is None or not 1 <= row[0] <= n:
                return f"line {line + number}: {field!r}"
    raise AssertionError("every field is a row")


def _dense(text: bytes, line: int, sizes: list[int], symmetry: str) -> np.ndarray:
    """The matrix of values listed column by column; of a symmetric one, from the diagonal down."""
    n = sizes[0]
    if n != sizes[1]:
        raise ValueError(f"a distance matrix is square, this one is ({n}, {sizes[1]})")
    try:
        values = np.array(text.split(), np.float64)
    except ValueError as error:
        raise ValueError(f"below line {line}: {error}") from None
    expected = n * n if symmetry == "general" else n * (n + 1) // 2
    if len(values) != expected:
        raise ValueError(f"line {line}: promises {expected:,} values, but {len(values):,} follow")
    if symmetry == "general":
        return values.reshape(n, n).T
    matrix = np.zeros((n, n))
    matrix.T[np.triu_indices(n)] = values
    return np.maximum(matrix, matrix.T)
