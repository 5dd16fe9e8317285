"""Units: distances that a space can hold."""

import numpy as np
import pytest
import torch

import weyl
from weyl.graphs.distances import Distances
from weyl.training.units import _mean_and_longest, diameter_of, unit_for

COMPACT = ["sphere(2)", "dual(2)", "ball(2, 3, k=2.5)", "product(sphere(2), dual(2))", "power(sphere(3), 2)"]
OPEN = [
    "upper(2)",
    "spd(2)",
    "hyperbolic(2)",
    "euclidean(2)",
    "product(sphere(2), euclidean(1))",
    'interpolated(2, k="learn")',
]


def bound(text, metric="f1"):
    space = weyl.space(text)
    return space, space.norm(metric)


@pytest.mark.parametrize("metric", ["f1", "riemannian", "finf"])
@pytest.mark.parametrize("text", COMPACT)
def test_no_two_points_are_farther_apart_than_the_diameter_and_some_nearly_so(text, metric):
    space, norm = bound(text, metric)
    diameter = diameter_of(space, norm)
    p, q = (space.random_points(2000, spread=20.0, seed=seed, dtype=torch.float64) for seed in (0, 1))
    d = space.distance(p, q, norm)
    assert d.max() <= diameter * (1 + 1e-9)
    assert d.max() >= 0.5 * diameter


@pytest.mark.parametrize("text", OPEN)
def test_others_have_none(text):
    assert diameter_of(*bound(text)) == float("inf")


def test_sphere_by_hand():
    assert diameter_of(*bound("sphere(2)")) == pytest.approx(np.pi)
    assert diameter_of(*bound("power(sphere(2), 2)", "riemannian")) == pytest.approx(np.pi * 2**0.5)


@pytest.mark.parametrize("graph", ["grid(4,4)", "cycle(300)", "tree(2,3)", "complete(5)"])
@pytest.mark.parametrize("text", COMPACT)
def test_graphs_fit_into_compact_spaces(text, graph):
    space, norm = bound(text)
    distances = weyl.graph_distances(graph)
    longest = float(np.asarray(distances)[np.isfinite(np.asarray(distances))].max())
    reached = longest / unit_for(distances, space, norm) / diameter_of(space, norm)
    assert 0.3 < reached < 0.95


@pytest.mark.parametrize(
    "graph", ["grid(4,4)", "tree(3,3)", "complete(5)", "cycle(100)", "karate", "grid(2,2)"]
)
@pytest.mark.parametrize("text", OPEN)
def test_sane_graphs_keep_their_unit(text, graph):
    assert unit_for(weyl.graph_distances(graph), *bound(text)) == 1


@pytest.mark.parametrize("factor", [1e-4, 1e3, 1e6])
def test_miles_get_a_unit(factor):
    """Distances in units of the space do not depend on the units of the graph."""
    edges = np.array([[k, k + 1, factor * (1 + k % 3)] for k in range(30)])
    distances = weyl.graph_distances(edges)
    unit = unit_for(distances, *bound("upper(2)"))
    rows = np.asarray(distances)
    assert unit != 1 and 1 < rows[rows > 0].mean() / unit < 20 and rows.max() / unit <= 64


def test_long_graphs_get_one():
    assert 2 < unit_for(weyl.graph_distances("cycle(400)"), *bound("upper(2)")) < 100


def test_mean_and_longest_leave_out_pairs_without_a_path():
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    assert _mean_and_longest(weyl.graph_distances(edges)) == pytest.approx((10 / 8, 2))


def test_lonely_nodes_do_not_matter():
    """Where most nodes have no edge, those looked at still have one."""
    from scipy.sparse import coo_array

    edge = coo_array(([1.0, 1.0], ([1, 2], [2, 1])), shape=(1500, 1500))
    assert _mean_and_longest(weyl.graph_distances(edge)) == (1, 1)
    assert unit_for(weyl.graph_distances(edge), *bound("upper(2)")) == 1


def test_distances_of_sampled_sources():
    rows = np.array([[0, 3.0, 6.0], [3.0, 0, 3.0]])
    some = Distances(np.array([0, 1]), rows, np.zeros(3, np.int64))
    assert _mean_and_longest(some) == (15 / 4, 6)
