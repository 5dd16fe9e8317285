"""Which pairs are trained when: batches that follow from seed and step alone, so that a resumed run needs no state."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

import numpy as np

from .distances import Distances, as_floats
from .numbering import Numbering

KINDS = ("all", "sampled", "near")
GOLDEN = (5**0.5 - 1) / 2
NEAR_SHARE = 0.5  # of a "near" batch comes from the list of near pairs
NEAR_PER_NODE = 32  # so long is that list, for each node, at most
MOST_NEAR_PER_NODE = (
    256  # unless even the nearest pairs are more; where they exceed this too, batches are uniform
)
KEPT_ORDERS = 4  # of the epochs that were asked for last
LOOKED_ROWS = 256  # give the distribution of distances from which the radius of "near" follows


class Ahead(NamedTuple):
    """The pairs of some steps: those numbered begin, begin + stride, … modulo all pairs, in the order of an epoch."""

    orders: np.ndarray  # (epochs, nodes)
    which: np.ndarray  # (steps,) the epoch of a step, counted from 0
    begins: np.ndarray  # (steps,)
    counts: np.ndarray  # (steps,)


class PairSchedule:
    """Batches (first, second, target) of pairs of nodes with known distances; a pure function of seed and step.

    kind "all": every connected pair once an epoch, in batches of equal size (up to one pair). "sampled": uniform,
    with replacement. "near": half of a batch uniform, half from the pairs within `radius`; with the weights
    `importance(target)`, means over such batches estimate means over all pairs.
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
        if not 0 <= seed < 2**64:
            raise ValueError(f"pair schedule: seed must not be negative and below 2^64, got {seed}")
        self.distances, self.seed, self.kind, self.dtype = distances, seed, kind, np.dtype(dtype)
        self.numbering = Numbering(distances)
        self.pairs = self.numbering.count
        if not self.pairs:
            raise ValueError("pair schedule: no two nodes are connected, there is no pair to train")
        self.batch_size = min(batch_size, self.pairs)
        self.steps_per_epoch = -(-self.pairs // self.batch_size)
        # An epoch walks through the numbers by a golden stride: each batch takes its share of every part of them.
        self.stride = _coprime(int(self.pairs * GOLDEN), self.pairs)
        self._walk = np.arange(self.batch_size) * self.stride % self.pairs
        self._orders: dict[int, tuple[np.ndarray, int]] = {}
        if kind == "near":
            self.radius, self._near = self._find_near()
            fits = bool(len(self._near[0]))
            self._near_count = min(round(NEAR_SHARE * self.batch_size), self.batch_size - 1) * fits

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (int64) and distances of the pairs of one step, counted from 0 over all epochs."""
        if step < 0:
            raise ValueError(f"pair schedule: steps count from 0, got {step}")
        if self.kind == "all":
            ahead = self.ahead(step, 1)
            numbers = self._walk[: ahead.counts[0]] + ahead.begins[0]
            numbers -= self.pairs * (numbers >= self.pairs)
            return self.numbering.pairs(ahead.orders[0], numbers, self.dtype)
        random = self._random(step)
        count = self.batch_size - (self._near_count if self.kind == "near" else 0)
        uniform = self.numbering.pairs(
            self._order_of(0)[0], random.integers(self.pairs, size=count), self.dtype
        )
        if count == self.batch_size:
            return uniform
        chosen = random.integers(len(self._near[0]), size=self._near_count)
        first, second, target = (
            np.concatenate([near[chosen], rest]) for near, rest in zip(self._near, uniform, strict=True)
        )
        return first, second, target

    def ahead(self, step: int, count: int) -> Ahead:
        """Which pairs the steps of "all" from `step` on take."""
        steps = range(step, step + count)
        epochs = range(steps[0] // self.steps_per_epoch, steps[-1] // self.steps_per_epoch + 1)
        orders = [self._order_of(epoch) for epoch in epochs]
        which, begins, counts = [], [], []
        for one in steps:
            epoch, at = divmod(one, self.steps_per_epoch)
            first, last = (self.pairs * i // self.steps_per_epoch for i in (at, at + 1))
            which.append(epoch - epochs[0])
            begins.append((orders[which[-1]][1] + first * self.stride) % self.pairs)
            counts.append(last - first)
        found = (np.array(x, np.int64) for x in (which, begins, counts))
        return Ahead(np.stack([order for order, _ in orders]), *found)

    def importance(self, target: np.ndarray) -> np.ndarray:
        """By how much a pair at this distance must count: its uniform probability over that of the schedule."""
        if self.kind != "near" or not self._near_count:
            return np.ones(len(target), self.dtype)
        share = self._near_count / self.batch_size
        inside = 1 / (1 - share + share * self.pairs / len(self._near[0]))
        return np.where(target <= self.radius, inside, 1 / (1 - share)).astype(self.dtype)

    # ── epochs ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _random(self, stream: int) -> np.random.Generator:
        """Random numbers of one stream; the key is made uint64 here, since numpy would make it floats."""
        return np.random.Generator(np.random.Philox(key=np.array([self.seed, stream], np.uint64)))

    def _order_of(self, epoch: int) -> tuple[np.ndarray, int]:
        """The circle of nodes in an epoch, and the number that its walk begins with; the last few are kept."""
        if epoch not in self._orders:
            random = self._random(2**63 + epoch)  # steps stay below 2^63
            while len(self._orders) >= KEPT_ORDERS:
                del self._orders[next(iter(self._orders))]
            self._orders[epoch] = self.numbering.shuffled(random), int(random.integers(self.pairs))
        return self._orders[epoch]

    # ── near pairs ───────────────────────────────────────────────────────────────────────────────────────────────
    def _find_near(self) -> tuple[np.generic, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The radius that holds about NEAR_PER_NODE pairs a node, and the pairs within it."""
        d, row_of = self.distances, self.numbering.row_of
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
        radius = self.dtype.type(few[-1] if len(few) else 0)
        near: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for row, source in enumerate(d.sources if radius else ()):
            target = as_floats(d.rows[row]).astype(self.dtype)
            there = np.flatnonzero(target <= radius)
            other = row_of[there]
            there = there[(there != source) & ((other < 0) | (other > row))]
            near.append((np.full(len(there), source), there, target[there]))
        nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, self.dtype)
        first, second, target = (np.concatenate(parts) for parts in zip(nothing, *near, strict=True))
        return radius, (first, second, target)


def _coprime(near: int, count: int) -> int:
    """The first whole number from `near` on without a divisor in common with `count`."""
    return next(number for number in range(near, near + count + 1) if gcd(number, count) == 1)
