"""Order alone: ranks with ties against scipy, ranks of neighbours against sorting, precision at k."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_scores import average_precision, sort_ranking, worst_ranking
from scipy.stats import rankdata

from weyl.evaluation.average_precision import average_precisions, neighbour_ranks
from weyl.evaluation.ranking import average_ranks, precisions_at, rank_correlations, sorting_order
from weyl.evaluation.rows import Rows

INF = float("inf")


@st.composite
def blocks_of_rows(draw):
    """Distances of n nodes, most of them tied, some beyond reach; random neighbours, some nodes without any."""
    n = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    d = rng.integers(0, draw(st.integers(1, 6)), (n, n)).astype(float)
    pairs = rng.random((n, n)) < draw(st.sampled_from([0.5, 0.8, 1.0]))
    np.fill_diagonal(pairs, False)
    g = np.where(pairs, rng.integers(1, 4, (n, n)), INF)
    neighbours = [set(np.flatnonzero(row & (rng.random(n) < 0.5)).tolist()) for row in pairs]
    return np.where(pairs, d, INF), g, pairs, neighbours


def as_rows(d, g, pairs, neighbours):
    width = max(1, *map(len, neighbours))
    padded = [(sorted(some) * width + [0] * width)[:width] for some in neighbours]
    degrees = torch.tensor([len(some) for some in neighbours])
    d, g, pairs = (torch.from_numpy(x) for x in (d, g, pairs))
    return Rows(d, g, pairs, torch.tensor(padded), degrees)


@settings(deadline=None)
@given(blocks_of_rows())
def test_average_precision_of_both_orders(block):
    d, g, _, neighbours = block
    rows = as_rows(*block)
    found = neighbour_ranks(rows, sorting_order(rows.d))
    ranked = [u for u in range(len(d)) if neighbours[u]]
    worst = [average_precision(worst_ranking(d, g, u, neighbours[u]), neighbours[u]) for u in ranked]
    by_order = [average_precision(sort_ranking(d, g, u), neighbours[u]) for u in ranked]
    assert average_precisions(found.against, found).tolist() == pytest.approx(worst)
    assert average_precisions(found.by_order, found).tolist() == pytest.approx(by_order)
    if not bool(found.tied.any()):
        assert worst == by_order


@settings(deadline=None)
@given(blocks_of_rows(), st.integers(1, 6))
def test_precision_at_k(block, k):
    d, g, _, neighbours = block
    rows = as_rows(*block)
    expected = [
        len(set(worst_ranking(d, g, u, some)[:k]) & some) / min(k, len(some))
        for u, some in enumerate(neighbours)
        if some
    ]
    found = neighbour_ranks(rows, sorting_order(rows.d))
    assert precisions_at(k, found).tolist() == pytest.approx(expected)


@settings(deadline=None)
@given(blocks_of_rows())
def test_rank_correlation_is_that_of_the_ranks(block):
    d, g, pairs, _ = block
    rows = as_rows(*block)
    expected = []
    for u in range(len(d)):
        x, y = rankdata(d[u, pairs[u]]), rankdata(g[u, pairs[u]])
        if len(set(x)) > 1 and len(set(y)) > 1:
            expected.append(np.corrcoef(x, y)[0, 1])
    found = rank_correlations(rows, sorting_order(rows.d))
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.5, INF]), min_size=4, max_size=4), min_size=1))
def test_equal_values_share_the_mean_of_their_ranks(values):
    given = torch.tensor(values, dtype=torch.float64)
    assert average_ranks(given, sorting_order(given)).numpy() == pytest.approx(rankdata(values, axis=1))


def test_order_of_distinct_values_needs_no_means():
    given = torch.rand(5, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ranks = average_ranks(given, sorting_order(given))
    assert torch.equal(ranks, 1.0 + given.argsort(1).argsort(1))
