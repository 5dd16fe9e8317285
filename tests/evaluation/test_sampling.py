"""Estimates from some sources: which are drawn, and intervals that hold the exact value about as often as they say."""

import networkx as nx
import numpy as np
import pytest
import torch

import weyl
from weyl.evaluation import sampling
from weyl.evaluation.sampling import chosen_sources, interval

DRAWS = 120


@pytest.fixture
def small_limits(monkeypatch):
    """As if sixty rows of three hundred nodes were all there is time for."""
    monkeypatch.setattr(sampling, "EXACT_PAIRS", 10_000)
    monkeypatch.setattr(sampling, "SAMPLED_PAIRS", 18_000)
    monkeypatch.setattr(sampling, "FEWEST_SOURCES", 40)


def connected():
    return nx.barabasi_albert_graph(300, 2, seed=1)


def in_parts():
    parts = nx.disjoint_union(nx.barabasi_albert_graph(180, 2, seed=1), nx.grid_2d_graph(10, 10))
    parts.add_nodes_from(range(1000, 1020))
    return parts


def embedded(graph):
    """Points that know the graph more or less: classical scaling into four dimensions."""
    g = np.asarray(weyl.graph_distances(graph), dtype=float)
    g = np.minimum(g, g[np.isfinite(g)].max())
    centred = g**2 - (g**2).mean(0) - (g**2).mean(1)[:, None] + (g**2).mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    points = vectors[:, -4:] * np.sqrt(values[-4:])
    return weyl.Embedding("euclidean(4)", "riemannian", points, graph.nodes)


@pytest.mark.parametrize("make", [connected, in_parts])
def test_intervals_hold_the_exact_value_in_most_draws(make, request, monkeypatch):
    graph = weyl.graph(make())
    embedding = embedded(graph)
    exact = weyl.evaluate(embedding, graph)
    assert not exact.sampled and exact.intervals == {}
    request.getfixturevalue("small_limits")
    held, means = dict.fromkeys(["average_distortion", "mean_average_precision"], 0), []
    for seed in range(DRAWS):
        scores = weyl.evaluate(embedding, graph, seed=seed)
        assert scores.sampled and scores.sources == 60 and scores.nodes == exact.nodes
        for name in held:
            low, high = scores.intervals[name]
            assert low < getattr(scores, name) < high
            held[name] += low < getattr(exact, name) < high
        low, high = scores.intervals["worst_distortion"]
        assert low == scores.worst_distortion <= exact.worst_distortion and high == float("inf")
        means.append(scores.average_distortion)
    assert all(0.88 * DRAWS < count < DRAWS for count in held.values()), held
    assert np.mean(means) == pytest.approx(exact.average_distortion, rel=0.02)


@pytest.mark.usefixtures("small_limits")
def test_the_seed_decides_the_draw():
    graph = weyl.graph(connected())
    embedding = embedded(graph)
    one, again, other = (weyl.evaluate(embedding, graph, seed=seed) for seed in (3, 3, 4))
    assert one == again and one.average_distortion != other.average_distortion


@pytest.mark.usefixtures("small_limits")
def test_a_sample_counts_every_pair_of_its_sources():
    scores = weyl.evaluate(embedded(weyl.graph(connected())), connected())
    assert scores.pairs == 60 * 299
    assert set(scores.to_json()) > {
        "average_distortion_interval",
        "worst_distortion_interval",
        "mean_average_precision_interval",
    }


def test_sources_are_drawn_without_repeats_in_order(monkeypatch):
    candidates = np.arange(0, 3000, 3)
    assert chosen_sources(candidates, 3000, seed=0) is candidates
    monkeypatch.setattr(sampling, "EXACT_PAIRS", 100_000)
    monkeypatch.setattr(sampling, "SAMPLED_PAIRS", 900_000)
    drawn = chosen_sources(candidates, 3000, seed=0)
    assert len(drawn) == 300 and set(drawn) <= set(candidates) and (np.diff(drawn) > 0).all()
    monkeypatch.setattr(sampling, "SAMPLED_PAIRS", 0)
    assert len(chosen_sources(candidates, 3000, seed=0)) == sampling.FEWEST_SOURCES
    assert len(chosen_sources(candidates[:50], 3000, seed=0)) == 50


def test_a_sample_of_all_is_certain():
    low, high = interval(torch.tensor([0.2, 0.4, 0.9]).double(), share=1.0)
    assert low == high == pytest.approx(0.5)


def test_one_value_says_nothing():
    assert interval(torch.tensor([0.3]).double(), 0.1) == (0, float("inf"))
    assert interval(torch.empty(0), 0.1, most=1) == (0, 1)


def test_an_interval_stays_where_its_mean_can_be():
    values = torch.tensor([0.0] * 9 + [1.0]).double()
    assert interval(values, 0.1, most=1)[0] == 0
    assert interval(1 - values, 0.1, most=1)[1] == 1
    assert interval(1 + values, 0.1)[1] > 1
