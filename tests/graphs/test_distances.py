"""Shortest-path distances against networkx and scipy; the dtype that holds them; samples beyond the limit of memory."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

import weyl
from weyl.graphs import Distances, native

ANY_WAY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def networks(draw, weighted=False):
    """Graphs of networkx with isolated nodes, several components, stars and paths among them."""
    n, m = draw(st.integers(2, 40)), draw(st.integers(1, 80))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    source = nx.Graph()
    source.add_nodes_from(range(n))
    hubs = draw(st.sampled_from([1, n]))
    for a, b in zip(random.integers(hubs, size=m).tolist(), random.integers(n, size=m).tolist(), strict=True):
        if a != b:
            source.add_edge(a, b, **({"weight": float(random.exponential())} if weighted else {}))
    if not source.edges:
        source.add_edge(0, 1, **({"weight": 0.7} if weighted else {}))
    return source


def expected(source):
    """Its distance matrix by networkx, infinite where there is no path."""
    found = np.full((len(source), len(source)), np.inf)
    for a, row in nx.all_pairs_dijkstra_path_length(source):
        for b, distance in row.items():
            found[a, b] = distance
    return found


@ANY_WAY
@given(networks())
def test_steps_against_networkx(way, source):
    distances = weyl.graph_distances(source)
    assert distances.rows.dtype == np.uint8 and distances.exact
    found = np.asarray(distances)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected(source))


@ANY_WAY
@given(networks(weighted=True))
def test_lengths_against_networkx(way, source):
    found = np.asarray(weyl.graph_distances(source))
    assert found.dtype == np.float64 and np.array_equal(found, found.T)
    np.testing.assert_allclose(found, expected(source), rtol=1e-14)


@ANY_WAY
@given(networks(), st.data())
def test_some_sources_are_some_rows(way, source, data):
    chosen = data.draw(st.lists(st.integers(0, len(source) - 1), min_size=1, max_size=5))
    distances = weyl.graph_distances(source, sources=chosen, threads=3)
    assert distances.sources.tolist() == sorted(set(chosen))
    np.testing.assert_array_equal(np.asarray(distances), expected(source)[distances.sources])


def test_a_larger_graph_against_scipy(way):
    for text in ("preferential(1500,2)", "random_regular(3,1100)"):  # more than the sources of one search
        graph = weyl.graph(text)
        goal = shortest_path(graph.adjacency, directed=False, unweighted=True)
        for threads in (1, 2, 5):
            np.testing.assert_array_equal(np.asarray(weyl.graph_distances(graph, threads=threads)), goal)


# ── dtypes ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("steps", [2, 126, 127, 128, 253, 254, 255, 256, 600])
def test_a_path_of_any_length_fits(way, steps):
    distances = weyl.graph_distances(f"tree(1,{steps})")
    assert distances.rows.dtype in (np.uint8, np.uint16)
    nodes = np.arange(steps + 1)
    np.testing.assert_array_equal(np.asarray(distances), abs(nodes[:, None] - nodes))


def test_an_unreachable_node_is_never_a_far_one(way):
    for steps in (254, 255, 256):
        edges = np.stack([np.arange(steps), np.arange(1, steps + 1)], 1)
        distances = weyl.graph_distances(np.concatenate([edges, [[900, 901]]]), sources=[0])
        row = np.asarray(distances)[0]
        assert row[: steps + 1].tolist() == list(range(steps + 1)) and np.isinf(row[steps + 1 :]).all()


def test_the_longest_paths_that_fit_and_the_first_that_does_not(way):
    row = weyl.graph_distances("tree(1,65534)", sources=[0]).rows[0]
    assert row.dtype == np.uint16 and np.array_equal(row, np.arange(65535))
    with pytest.raises(ValueError, match="65,535 steps is longer than distances can be, 65,534"):
        weyl.graph_distances("tree(1,65535)", sources=[0])


def test_a_path_too_long_that_no_search_from_its_middle_shows(way):
    reach = 40_000
    arms = [np.concatenate([[0], np.arange(1, reach) * 2 + side]) for side in (0, 1)]
    edges = np.concatenate([np.stack([arm[:-1], arm[1:]], 1) for arm in arms])
    graph = weyl.graph(edges)
    assert weyl.graph_distances(graph, sources=[0]).rows.max() == reach - 1
    with pytest.raises(ValueError, match="a path is longer than 65,534 steps"):
        weyl.graph_distances(graph, sources=[len(graph) - 1])


def test_lengths_of_many_magnitudes(way):
    graph = weyl.graph([(0, 1, 1e-300), (1, 2, 1e300), (2, 3, 1.0), (0, 2, 1e301)])
    np.testing.assert_allclose(np.asarray(weyl.graph_distances(graph))[0], [0, 1e-300, 1e300, 1e300])


# ── beyond the limit ─────────────────────────────────────────────────────────────────────────────────────────────
def test_beyond_the_limit_sources_are_sampled(way):
    graph = weyl.graph("grid(20,20)")
    full = np.asarray(weyl.graph_distances(graph))
    assert weyl.graph_distances(graph, limit_bytes=400 * 400).exact
    sampled = weyl.graph_distances(graph, limit_bytes=400 * 400 - 1)
    assert not sampled.exact and 0 < sampled.rows.nbytes <= 400 * 400 // 4
    assert (np.diff(sampled.sources) > 0).all()
    np.testing.assert_array_equal(np.asarray(sampled), full[sampled.sources])
    assert np.array_equal(sampled.sources, weyl.graph_distances(graph, limit_bytes=400 * 400 - 1).sources)
    other = weyl.graph_distances(graph, limit_bytes=400 * 400 - 1, seed=1)
    assert not np.array_equal(sampled.sources, other.sources)


def test_of_lengths_single_precision_is_kept_beyond_the_limit(way):
    source = nx.gnm_random_graph(60, 150, seed=3)
    for k, edge in enumerate(source.edges):
        source.edges[edge]["weight"] = 1 + k / 7
    distances = weyl.graph_distances(source, limit_bytes=60 * 60 * 8 - 1)
    assert distances.rows.dtype == np.float32
    np.testing.assert_allclose(np.asarray(distances), expected(source)[distances.sources], rtol=1e-6)


def test_one_byte_is_enough_for_one_source(way):
    assert len(weyl.graph_distances("cycle(100)", limit_bytes=1).sources) == 1


# ── the table itself ─────────────────────────────────────────────────────────────────────────────────────────────
@ANY_WAY
@given(networks(), st.data())
def test_connected_pairs_are_those_with_a_known_distance(way, source, data):
    n = len(source)
    chosen = data.draw(st.none() | st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    distances = weyl.graph_distances(source, sources=chosen)
    known = np.isfinite(expected(source))
    row = np.isin(np.arange(n), distances.sources)
    pairs = np.triu(known & (row[:, None] | row), 1)
    assert distances.connected_pairs == pairs.sum()


def test_a_matrix_of_distances_keeps_its_values_and_rows(way):
    points = np.random.default_rng(0).normal(size=(9, 2))
    matrix = np.linalg.norm(points[:, None] - points, axis=-1)
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(matrix)), matrix)
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(matrix, sources=[7, 2])), matrix[[2, 7]])


def test_at_and_unreachable():
    distances = weyl.graph_distances([(0, 1), (1, 2), (3, 4)])
    assert distances.unreachable == 255
    assert distances.at(np.array([0, 0]), np.array([2, 4])).tolist() == [2, np.inf]
    assert repr(distances) == "<Distances from all 5 nodes, uint8>"
    assert np.asarray(distances, np.float64).dtype == np.float64


@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, 2), np.uint8), np.zeros((1, 3), np.int64), np.zeros((1, 3), np.float16), np.zeros(3)],
)
def test_rows_are_checked(rows):
    with pytest.raises(ValueError, match=r"rows must be \(1, 3\) of uint8, uint16, float32 or float64"):
        Distances(np.array([0]), rows, np.zeros(3, np.int64))


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"sources": []}, "sources must be node rows from 0 to 4, at least one"),
        ({"sources": [5]}, "sources must be node rows from 0 to 4"),
        ({"sources": [-1]}, "sources must be node rows from 0 to 4"),
        ({"sources": [1.5]}, "sources must be node rows from 0 to 4"),
        ({"limit_bytes": 0}, "limit_bytes must be positive, got 0"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
    ],
)
def test_bad_options_in_one_line(keywords, message):
    with pytest.raises(ValueError, match=message):
        weyl.graph_distances("cycle(5)", **keywords)


def test_without_compiled_code_it_is_said_once(monkeypatch, caplog):
    import sys

    monkeypatch.setitem(sys.modules, "weyl._native", None)
    monkeypatch.delattr("weyl._native", raising=False)
    native.extension.cache_clear()
    try:
        assert native.extension() is None and native.extension() is None
    finally:
        native.extension.cache_clear()
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "weyl was installed without its compiled part"
    ]
