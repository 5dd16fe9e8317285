"""The pairs with known distances, numbered without a list of them.

The nodes of a component stand in a circle, sources first, in a random order. Pairs of sources are numbered by the
step k around the circle and the source a they start from, (a, a + k + 1): every pair once. Pairs of a source with
another node fill a rectangle, (a, k). The numbers of one component follow those of the one before.
"""

from __future__ import annotations

import numpy as np

from . import native
from .distances import Distances, as_floats


class Numbering:
    """Numbers from 0 to `count` for the pairs that distances know."""

    def __init__(self, distances: Distances):
        self.distances, self.count = distances, distances.connected_pairs
        n, sources, components = distances.n, distances.sources, distances.components
        self.row_of = np.full(n, -1)
        self.row_of[sources] = np.arange(len(sources))
        group = 2 * components + (self.row_of < 0)
        self._members = np.argsort(group, kind="stable")
        self._group = group[self._members]
        size = np.bincount(components)
        known = np.bincount(components[sources], minlength=len(size))
        offset = np.cumsum(size) - size
        blocks, start = (
            [],
            0,
        )  # first number, sources in the circle, nodes beside them or 0, place of the first node
        for component in np.flatnonzero((known > 0) & (size > 1)).tolist():
            m, others = int(known[component]), int(size[component] - known[component])
            for count, beside in ((m * (m - 1) // 2, 0), (m * others, others)):
                if count:
                    blocks.append((start, m, beside, int(offset[component])))
                    start += count
        self.blocks = np.ascontiguousarray(np.array(blocks, np.int64).reshape(-1, 4).T)

    def shuffled(self, random: np.random.Generator) -> np.ndarray:
        """A random order of the nodes around their circles: a numbering of its own."""
        within = random.permutation(len(self._members))
        return self._members[within[np.argsort(self._group[within], kind="stable")]]

    def pairs(
        self, order: np.ndarray, numbers: np.ndarray, dtype: np.dtype
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First nodes, second nodes and distances of the pairs with these numbers (int64)."""
        compiled, d = native.extension(), self.distances
        if compiled is None or not d.rows.flags.c_contiguous:
            return self._pairs_in_numpy(order, numbers, dtype)
        first, second, target = np.empty_like(numbers), np.empty_like(numbers), np.empty(len(numbers), dtype)
        compiled.scheduled_pairs(self.blocks, order, self.row_of, d.rows, numbers, first, second, target)
        return first, second, target

    def _pairs_in_numpy(
        self, order: np.ndarray, numbers: np.ndarray, dtype: np.dtype
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        block = np.searchsorted(self.blocks[0], numbers, side="right") - 1
        start, m, others, offset = self.blocks[:, block]
        k, a = np.divmod(numbers - start, m)
        other = np.where(others > 0, m + k, (a + k + 1) % m)
        first, second = order[offset + a], order[offset + other]
        target = as_floats(self.distances.rows[self.row_of[first], second])
        return first, second, target.astype(dtype, copy=False)
