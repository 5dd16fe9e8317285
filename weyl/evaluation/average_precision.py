"""Mean average precision: do the graph neighbours of a node come first among all nodes, nearest first?

AP(u) = 1/deg(u) Σ_k k / rank of the k-th neighbour, among the nodes that a path joins to u.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .rows import Rows


class NeighbourRanks(NamedTuple):
    """Ranks of the neighbours of b sources, in increasing order; the first `degrees` of a row count."""

    against: Tensor  # (b, k) ties against us: whoever is no neighbour and just as far comes first
    by_order: Tensor  # (b, k) ties by column, as a stable sort leaves them
    tied: Tensor  # (b, k) whether some node that is no neighbour is exactly as far
    real: Tensor  # (b, k)
    degrees: Tensor  # (b,)


def neighbour_ranks(rows: Rows, order: Tensor) -> NeighbourRanks:
    """Ranks found by binary search; `order` (b, n) sorts the rows of d."""
    everyone = rows.d.gather(1, order)
    there = rows.real
    near = torch.where(there, rows.d.gather(1, rows.neighbours), torch.inf).sort(1).values
    strangers_up_to = _count(everyone, near, True) - _count(near, near, True)
    strangers_before = _count(everyone, near, False) - _count(near, near, False)
    tied = there & (strangers_up_to > strangers_before)
    place = torch.arange(1, near.shape[1] + 1, device=near.device)
    against = place + strangers_up_to
    by_order = against.clone()
    rank_of_row = tied.any(1).nonzero().squeeze(1)
    if len(rank_of_row):  # a stable sort, of these rows only
        stable = rows.d[rank_of_row].argsort(dim=1, stable=True)
        ranks = torch.empty_like(stable)
        ranks.scatter_(1, stable, torch.arange(1, stable.shape[1] + 1, device=near.device).expand_as(stable))
        found = ranks.gather(1, rows.neighbours[rank_of_row])
        last = stable.shape[1] + 1
        by_order[rank_of_row] = torch.where(there[rank_of_row], found, last).sort(1).values
    return NeighbourRanks(against, by_order, tied, there, rows.degrees)


def average_precisions(ranks: Tensor, found: NeighbourRanks) -> Tensor:
    """AP of every source that has a neighbour, from either kind of ranks."""
    place = torch.arange(1, ranks.shape[1] + 1, device=ranks.device, dtype=torch.float64)
    sums = torch.where(found.real, place / ranks, 0).sum(1)
    return (sums / found.degrees)[found.degrees > 0]


def _count(sorted_rows: Tensor, values: Tensor, with_equal: bool) -> Tensor:
    """How many entries of each sorted row are below each value of the row, or not above it."""
    return torch.searchsorted(sorted_rows, values, right=with_equal)
