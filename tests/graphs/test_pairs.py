"""Schedules of pairs: each pair once an epoch, samples without bias, the same from seed and step alone."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weyl
from weyl.graphs import Distances, PairSchedule, native

ANY_WAY = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def tables(draw):
    """Distances of graphs in any number of pieces, from all nodes or from some."""
    n, m, seed = draw(st.integers(2, 25)), draw(st.integers(1, 40)), draw(st.integers(0, 10**6))
    source = nx.gnm_random_graph(n, min(m, n * (n - 1) // 2), seed=seed)
    if draw(st.booleans()):
        for k, edge in enumerate(source.edges):
            source.edges[edge]["weight"] = 0.3 + k / 7
    edge = next(iter(source.edges))
    some = draw(st.none() | st.sets(st.integers(0, n - 1)).map(lambda nodes: [*nodes, edge[0]]))
    return weyl.graph_distances(source, sources=some)


def known_pairs(distances):
    """Every pair with a known distance, once, with that distance."""
    found = {}
    for row, source in enumerate(distances.sources.tolist()):
        for node, distance in enumerate(np.asarray(distances)[row].tolist()):
            if node != source and np.isfinite(distance):
                found[frozenset((source, node))] = distance
    return found


def collected(schedule, steps):
    parts = [schedule.batch(step) for step in steps]
    first, second, target = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return [frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)], target


# ── all ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@ANY_WAY
@given(tables(), st.integers(1, 60), st.integers(0, 5), st.integers(0, 2))
def test_every_pair_exactly_once_an_epoch(way, distances, batch_size, seed, epoch):
    schedule = PairSchedule(distances, batch_size, seed=seed, dtype=np.float64)
    known = known_pairs(distances)
    steps = range(epoch * schedule.steps_per_epoch, (epoch + 1) * schedule.steps_per_epoch)
    pairs, target = collected(schedule, steps)
    assert schedule.pairs == len(pairs) == len(known) and set(pairs) == set(known)
    np.testing.assert_array_equal(target, [known[pair] for pair in pairs])
    sizes = {len(schedule.batch(step)[0]) for step in steps}
    assert max(sizes) <= batch_size and max(sizes) - min(sizes) <= 1


def test_epochs_and_seeds_are_in_other_orders():
    distances = weyl.graph_distances("grid(5,6)")
    orders = set()
    for seed in range(3):
        schedule = PairSchedule(distances, 29, seed=seed)
        for epoch in range(3):
            steps = range(epoch * schedule.steps_per_epoch, (epoch + 1) * schedule.steps_per_epoch)
            orders.add(tuple(collected(schedule, steps)[0]))
    assert len(orders) == 9


def test_every_batch_is_a_fair_share():
    distances = weyl.graph_distances("tree-o-grids")
    mean = np.asarray(distances)[np.triu_indices(775, 1)].mean()
    deviation = np.asarray(distances)[np.triu_indices(775, 1)].std()
    schedule = PairSchedule(distances, 1000, seed=4)
    for step in range(0, schedule.steps_per_epoch, 25):
        first, second, target = schedule.batch(step)
        assert abs(target.mean() - mean) < 5 * deviation / np.sqrt(len(target))
        assert np.bincount(np.concatenate([first, second]), minlength=775).max() < 25  # of 2.6 on average


# ── sampled and near ─────────────────────────────────────────────────────────────────────────────────────────────
SPLIT = nx.disjoint_union(nx.grid_2d_graph(4, 5), nx.cycle_graph(7))


@pytest.mark.parametrize("some", [None, [0, 3, 9, 21, 26]])
def test_samples_are_uniform_over_known_pairs(way, some):
    distances = weyl.graph_distances(SPLIT, sources=some)
    known = known_pairs(distances)
    schedule = PairSchedule(distances, len(known), seed=1, kind="sampled")
    pairs, target = collected(schedule, range(300))
    assert set(pairs) == set(known) and target.tolist() == [known[pair] for pair in pairs]
    counts = np.array([pairs.count(pair) for pair in known])
    chi_square = ((counts - 300) ** 2 / 300).sum()
    assert abs(chi_square - (len(known) - 1)) < 5 * np.sqrt(2 * len(known))


@pytest.mark.parametrize("text", ["tree-o-grids", "karate", "preferential(400,3)", "euclidean"])
def test_near_batches_with_their_importance_are_unbiased(way, text):
    if text == "euclidean":
        points = np.random.default_rng(5).normal(size=(150, 2))
        text = np.linalg.norm(points[:, None] - points, axis=-1)
    distances = weyl.graph_distances(text)
    all_targets = np.asarray(distances, float)[np.triu_indices(distances.n, 1)]
    schedule = PairSchedule(distances, 512, seed=2, kind="near")
    target = np.concatenate([schedule.batch(step)[2] for step in range(400)]).astype(float)
    weight = schedule.importance(target).astype(float)
    for measure in (np.ones_like, lambda d: d, lambda d: d <= np.median(all_targets), lambda d: 1 / d):
        estimates = (weight * measure(target)).reshape(400, -1).mean(1)
        error = estimates.std() / np.sqrt(400) + 1e-6
        assert abs(estimates.mean() - measure(all_targets).mean()) < 5 * error


def test_near_batches_hold_more_near_pairs():
    distances = weyl.graph_distances("tree-o-grids")
    schedule = PairSchedule(distances, 2000, seed=0, kind="near")
    near = (np.asarray(distances)[np.triu_indices(775, 1)] <= schedule.radius).mean()
    share = np.mean([(schedule.batch(step)[2] <= schedule.radius).mean() for step in range(5)])
    assert near < 0.1 and share > 0.5


def test_importance_of_uniform_batches_is_one():
    distances = weyl.graph_distances("cycle(9)")
    for kind in ("all", "sampled"):
        assert (PairSchedule(distances, 4, kind=kind).importance(np.array([1.0, 4.0])) == 1).all()
    everything_is_near = PairSchedule(weyl.graph_distances("complete(1000)"), 64, kind="near")
    assert (everything_is_near.importance(everything_is_near.batch(0)[2]) == 1).all()


# ── a pure function ──────────────────────────────────────────────────────────────────────────────────────────────
@ANY_WAY
@given(tables(), st.sampled_from(["all", "sampled", "near"]), st.integers(1, 40), st.data())
def test_batches_follow_from_seed_and_step_alone(way, distances, kind, batch_size, data):
    one, other = (PairSchedule(distances, batch_size, seed=3, kind=kind) for _ in range(2))
    steps = data.draw(st.lists(st.integers(0, 50), min_size=2, max_size=6))
    known = known_pairs(distances)
    before = {step: one.batch(step) for step in steps}
    for step in reversed(steps):
        first, second, target = other.batch(step)
        for mine, yours in zip(before[step], (first, second, target), strict=True):
            np.testing.assert_array_equal(mine, yours)
        assert first.dtype == second.dtype == np.int64 and target.dtype == np.float32
        for a, b, distance in zip(first.tolist(), second.tolist(), target.tolist(), strict=True):
            assert distance == np.float32(known[frozenset((a, b))])


@pytest.mark.parametrize("rows", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("some", [False, True])
def test_compiled_and_numpy_give_the_same_batches(monkeypatch, rows, dtype, some):
    full = weyl.graph_distances(SPLIT)
    values = np.where(np.isfinite(full), np.asarray(full), 0).astype(rows)
    values[~np.isfinite(full)] = np.iinfo(rows).max if np.dtype(rows).kind == "u" else np.inf
    chosen = np.array([1, 4, 20, 25]) if some else np.arange(27)
    distances = Distances(chosen, values[chosen], full.components)

    def batches():
        for kind in ("all", "sampled", "near"):
            schedule = PairSchedule(distances, 17, seed=6, kind=kind, dtype=dtype)
            for step in range(2 * schedule.steps_per_epoch):
                yield from schedule.batch(step)

    compiled = list(batches())
    monkeypatch.setattr(native, "extension", lambda: None)
    for mine, yours in zip(compiled, batches(), strict=True):
        np.testing.assert_array_equal(mine, yours, strict=True)


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"kind": "far"}, "kind is one of all, sampled, near, got 'far'"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"batch_size": True}, "batch_size must be at least 1, got True"),
        ({"seed": -1}, "seed must not be negative and below"),
    ],
)
def test_bad_options_in_one_line(keywords, message):
    with pytest.raises(ValueError, match=message):
        PairSchedule(weyl.graph_distances("cycle(5)"), **{"batch_size": 4, **keywords})


def test_without_a_pair_there_is_no_schedule():
    distances = Distances(np.array([2]), np.full((1, 3), 255, np.uint8), np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="no two nodes are connected"):
        PairSchedule(distances, 4)
    schedule = PairSchedule(weyl.graph_distances([(0, 1)]), 100, kind="near")
    assert [part.tolist() for part in schedule.batch(0)] in ([[0], [1], [1]], [[1], [0], [1]])
    with pytest.raises(ValueError, match="steps count from 0, got -1"):
        schedule.batch(-1)
