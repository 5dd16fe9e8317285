"""Which pairs are trained when: batches that follow from seed and step alone, so that a resumed run needs no state.

No list of pairs is kept. Pair number x of an epoch is decoded where it is needed: the nodes of a component stand in a
circle in random order, sources first, and pairs are numbered by the step k around the circle and the node a they start
from, (a, a + k): every pair once. Pairs of a source with another node fill a rectangle. An epoch walks through the
numbers by a golden stride, so that every batch takes its share of every part of that numbering.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from .distances import Distances, as_floats

KINDS = ("all", "sampled", "near")
GOLDEN = (5**0.5 - 1) / 2
NEAR_PER_NODE = 32  # the list of near pairs holds about as many for each node
LOOKED_ROWS = 256  # give the distribution of distances from which the radius of "near" follows
MOST_NEAR_PER_NODE = 256  # where even the nearest pairs are more, all batches are uniform
NEAR_SHARE = 0.5  # of a "near" batch comes from that list


class PairSchedule:
    """Batches (first, second, target) of pairs of nodes with known distances; a pure function of seed and step.

    kind "all": every connected pair once an epoch, in batches of equal size (up to one pair). "sampled": uniform,
    with replacement. "near": half of a batch uniform, half from the pairs within `radius`; weights
    `importance(target)` make means over such batches estimate means over all pairs.
    """

    def __init__(
        self,
        distances: Distances,
        batch_size: int,
        *,
        seed: int = 0,
        kind: str = "all",
        dtype: np.dtype | type = np.float32,
    ):
        if kind not in KINDS:
            raise ValueError(f"pair schedule: kind is one of {', '.join(KINDS)}, got {kind!r}")
        if isinstance(batch_size, bool) or batch_size < 1:
            raise ValueError(f"pair schedule: batch_size must be at least 1, got {batch_size!r}")
        if seed < 0:
            raise ValueError(f"pair schedule: seed must not be negative, got {seed}")
        self.distances, self.seed, self.kind, self.dtype = distances, seed, kind, np.dtype(dtype)
        self.pairs = distances.connected_pairs
        if not self.pairs:
            raise ValueError("pair schedule: no two nodes are connected, there is no pair to train")
        self.batch_size = min(batch_size, self.pairs)
        self.steps_per_epoch = -(-self.pairs // self.batch_size)
        self._lay_out()
        self._epoch = -1
        self._stride = _coprime(int(self.pairs * GOLDEN), self.pairs)
        # 32 bits where sums of two pair numbers fit: half the memory traffic
        self._whole = np.int32 if 2 * self.pairs < 2**31 else np.int64
        self._walk = (np.arange(self.batch_size) * self._stride % self.pairs).astype(self._whole)
        if kind == "near":
            self._find_near()

    # ── what a trainer calls ─────────────────────────────────────────────────────────────────────────────────────
    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (int64) and distances of the pairs of one step, counted from 0 over all epochs."""
        if step < 0:
            raise ValueError(f"pair schedule: steps count from 0, got {step}")
        if self.kind == "all":
            return self._finish(*self._decode(self._numbers(step)))
        self._shuffle(0)
        random = np.random.Generator(np.random.Philox(key=[self.seed, step]))
        if self.kind == "sampled":
            return self._finish(
                *self._decode(random.integers(self.pairs, size=self.batch_size, dtype=self._whole))
            )
        near = random.integers(max(1, len(self._near_row)), size=self._near_count)
        rest = random.integers(self.pairs, size=self.batch_size - len(near), dtype=self._whole)
        row, node = self._decode(rest)
        return self._finish(
            np.concatenate([self._near_row[near], row]), np.concatenate([self._near_node[near], node])
        )

    def importance(self, target: np.ndarray) -> np.ndarray:
        """By how much a pair at this distance must count: its uniform probability over that of the schedule."""
        if self.kind != "near" or not self._near_count:
            return np.ones(len(target), self.dtype)
        share = self._near_count / self.batch_size
        inside = 1 / (1 - share + share * self.pairs / max(1, len(self._near_row)))
        outside = 1 / (1 - share)
        return np.where(target <= self.radius, inside, outside).astype(self.dtype)

    # ── the numbering ────────────────────────────────────────────────────────────────────────────────────────────
    def _lay_out(self) -> None:
        """Components one after another, in each the sources first; `_group` keeps that order under shuffling."""
        d = self.distances
        self._row_of = np.full(d.n, -1, np.int64)
        self._row_of[d.sources] = np.arange(len(d.sources))
        group = 2 * d.components + (self._row_of < 0)
        self._members = np.argsort(group, kind="stable")
        self._group = group[self._members]
        size = np.bincount(d.components)
        known = np.bincount(d.components[d.sources], minlength=len(size))
        ends = np.cumsum(size)
        blocks, start = (
            [],
            0,
        )  # (first number, sources in the circle, nodes beside them or 0, place of the first node)
        for component in np.flatnonzero((known > 0) & (size > 1)):
            m, offset = int(known[component]), int(ends[component] - size[component])
            others = int(size[component]) - m
            for count, beside in ((m * (m - 1) // 2, 0), (m * others, others)):
                if count:
                    blocks.append((start, m, beside, offset))
                    start += count
        self._blocks = np.array(blocks).T

    def _shuffle(self, epoch: int) -> None:
        """The order of nodes in an epoch: random within every group."""
        if self._epoch == epoch:
            return
        random = np.random.Generator(np.random.Philox(key=[self.seed, 2**63 + epoch]))
        within = random.permutation(len(self._members))
        self._order = self._members[within[np.argsort(self._group[within], kind="stable")]]
        self._begin = int(random.integers(self.pairs))
        self._epoch = epoch

    def _numbers(self, step: int) -> np.ndarray:
        """Numbers of the pairs of one step of "all": a piece of begin, begin + stride, … modulo the pairs."""
        epoch, at = divmod(step, self.steps_per_epoch)
        self._shuffle(epoch)
        first = self.pairs * at // self.steps_per_epoch
        last = self.pairs * (at + 1) // self.steps_per_epoch
        start = (self._begin + first * self._stride) % self.pairs
        numbers = self._walk[: last - first] + self._whole(start)
        return np.where(numbers >= self.pairs, numbers - self._whole(self.pairs), numbers)

    def _decode(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pair numbers to (row of the first node, second node)."""
        if self._blocks.shape[1] == 1:  # plain numbers: half the time
            start, m, others, offset = self._blocks[:, 0].tolist()
        else:
            block = np.searchsorted(self._blocks[0], numbers, side="right") - 1
            start, m, others, offset = self._blocks[:, block]
        local = numbers - start
        k = local // m
        first = local - k * m
        second = first + k + 1
        second = np.where(np.equal(others, 0), np.where(second >= m, second - m, second), k + m)
        if np.any(offset):
            first, second = first + offset, second + offset
        return self._row_of[self._order[first]], self._order[second]

    def _finish(self, row: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d = self.distances
        target = as_floats(d.rows.reshape(-1)[row * d.n + node]).astype(self.dtype, copy=False)
        return d.sources[row], node, target

    # ── near pairs ───────────────────────────────────────────────────────────────────────────────────────────────
    def _find_near(self) -> None:
        """The largest radius within which there are about NEAR_PER_NODE pairs a node, at least the nearest pairs."""
        d = self.distances
        active = np.flatnonzero(np.bincount(d.components)[d.components[d.sources]] > 1)
        looked = np.random.default_rng(self.seed).choice(active, min(len(active), LOOKED_ROWS), replace=False)
        seen = as_floats(d.rows[looked])
        seen[np.arange(len(looked)), d.sources[looked]] = np.inf
        seen = np.sort(seen[np.isfinite(seen)])
        values = seen[np.concatenate([[True], seen[1:] > seen[:-1]])]
        within = np.searchsorted(seen, values, side="right") / len(seen) * self.pairs
        few = values[within <= NEAR_PER_NODE * len(active)]
        if not len(few) and within[0] <= MOST_NEAR_PER_NODE * len(active):
            few = values[:1]
        self.radius = self.dtype.type(few[-1] if len(few) else 0)  # 0: most pairs are equally near
        rows, nodes = [], []
        for row, source in enumerate(d.sources if self.radius else ()):
            near = np.flatnonzero(as_floats(d.rows[row]).astype(self.dtype) <= self.radius)
            other = self._row_of[near]
            near = near[(near != source) & ((other < 0) | (other > row))]
            rows.append(np.full(len(near), row))
            nodes.append(near)
        self._near_row, self._near_node = _joined(rows), _joined(nodes)
        self._near_count = min(round(NEAR_SHARE * self.batch_size), self.batch_size - 1) * bool(
            len(self._near_row)
        )


def _coprime(near: int, count: int) -> int:
    """The first whole number from `near` on without a divisor in common with `count`."""
    return next(number for number in range(near, near + count + 1) if gcd(number, count) == 1)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.int64), *parts])
