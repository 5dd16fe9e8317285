"""evaluate against the definitions of all scores, on random embeddings, ties, parts and missing nodes."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_scores import adjacency, embedded, plain_scores, shortest_paths

import weyl
from weyl.evaluation import rows
from weyl.evaluation.scores import summary

SPACES = [
    "upper(2)",
    "bounded(2)",
    "dual(2)",
    "spd(3, det=1)",
    "hpd(2)",
    "ball(1, 2)",
    "euclidean(3)",
    "hyperbolic(2)",
    "sphere(2)",
    "product(hyperbolic(2), euclidean(1))",
    "power(upper(1), 2)",
]


def random_embedding(space, names, metric="f1", seed=0, dtype=torch.float64, scale=1.0):
    points = weyl.space(space).random_points(len(names), seed=seed, dtype=dtype)
    return weyl.Embedding(space, metric, points, names, scale=scale)


def on_a_grid(names, rng, size=3):
    """Points with whole coordinates and f1: distances without rounding, and most of them tied."""
    points = torch.from_numpy(rng.integers(0, size, (len(names), 2, 1)).astype(float))
    return weyl.Embedding("power(euclidean(1), 2)", "f1", points, names)


def expected(embedding, graph):
    """The scores by definition, over the nodes that both have."""
    g = shortest_paths(len(graph), graph.edges.tolist(), graph.weights)
    shared = [row for row, name in enumerate(graph.nodes) if name in embedding]
    place = {row: index for index, row in enumerate(shared)}
    edges = [(place[i], place[j]) for i, j in graph.edges.tolist() if i in place and j in place]
    d = embedded(embedding, [graph.nodes[row] for row in shared])
    return plain_scores(d, g[np.ix_(shared, shared)], adjacency(len(shared), edges))


def check(scores, definition):
    same({name: getattr(scores, name) for name in definition}, definition, rel=1e-9)


def same(one, other, rel=1e-12):
    """Equal up to rounding, None where the other is None."""
    numbers = {name: value for name, value in other.items() if value is not None}
    assert {name: one[name] for name in numbers} == pytest.approx(numbers, rel=rel, abs=1e-12)
    assert [one[name] for name in other if name not in numbers] == [None] * (len(other) - len(numbers))


def two_parts_and_one_alone():
    graph = nx.disjoint_union(nx.cycle_graph(7), nx.balanced_tree(2, 2))
    graph.add_node("alone")
    return graph


def weighted_graph(seed=0):
    graph, rng = nx.gnm_random_graph(14, 25, seed=3), np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = float(rng.integers(1, 5)) / 2
    return graph


# ── against the definitions ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("space", SPACES)
def test_every_score_is_what_its_definition_says(space):
    graph = weyl.graph("cartesian(tree(2, 2), cycle(3))")
    embedding = random_embedding(space, graph.nodes)
    scores = weyl.evaluate(embedding, graph)
    check(scores, expected(embedding, graph))
    assert (scores.nodes, scores.edges, scores.sources, scores.sampled) == (21, 39, 21, False)
    assert scores.pairs == 21 * 20 // 2 and scores.intervals == {} and scores.tie_share == 0


@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf", "fmin", "lp(3)", "weighted(2, 1)"])
def test_every_metric_is_measured_in_itself(metric):
    graph = weyl.graph("grid(3, 4)")
    embedding = random_embedding("upper(2)", graph.nodes, metric, scale=1.7)
    check(weyl.evaluate(embedding, graph), expected(embedding, graph))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_points_of_either_dtype_are_measured_in_float64(dtype):
    graph = weyl.graph("karate")
    embedding = random_embedding("upper(3)", graph.nodes, dtype=dtype)
    check(weyl.evaluate(embedding, graph), expected(embedding, graph))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("source", ["karate", "tree(3, 3)", "complete(6)"])
def test_ties_count_against_us_and_by_sort_order(source, seed):
    graph = weyl.graph(source)
    embedding = on_a_grid(graph.nodes, np.random.default_rng(seed))
    definition = expected(embedding, graph)
    check(weyl.evaluate(embedding, graph), definition)
    if source != "complete(6)":
        assert definition["tie_share"] > 0.3
        assert definition["mean_average_precision"] < definition["mean_average_precision_by_sort_order"]


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_a_graph_are_measured_each_for_itself(seed):
    graph = weyl.graph(two_parts_and_one_alone())
    rng = np.random.default_rng(seed)
    for embedding in (random_embedding("upper(2)", graph.nodes, seed=seed), on_a_grid(graph.nodes, rng)):
        scores = weyl.evaluate(embedding, graph)
        check(scores, expected(embedding, graph))
        assert (scores.nodes, scores.pairs) == (15, 2 * 7 * 6 // 2)


@pytest.mark.parametrize("seed", range(3))
def test_lengths_of_edges_count(seed):
    graph = weyl.graph(weighted_graph(seed))
    for embedding in (
        random_embedding("spd(2)", graph.nodes, seed=seed, scale=3.0),
        on_a_grid(graph.nodes, np.random.default_rng(seed)),
    ):
        check(weyl.evaluate(embedding, graph), expected(embedding, graph))


def test_nodes_that_one_of_both_lacks_are_left_out():
    graph = weyl.graph(nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"member {node}"))
    names = [*(f"member {node}" for node in range(33, 4, -2)), "a guest", "member 2"]
    embedding = random_embedding("upper(2)", names)
    scores = weyl.evaluate(embedding, graph)
    check(scores, expected(embedding, graph))
    assert scores.nodes == scores.sources == 16
    within = graph.edges[np.isin(graph.edges, [int(n.split()[1]) for n in names if n != "a guest"]).all(1)]
    assert scores.edges == len(within)


def test_the_order_of_the_rows_does_not_matter():
    graph = weyl.graph("karate")
    embedding = random_embedding("upper(2)", graph.nodes)
    order = np.random.default_rng(0).permutation(len(graph))
    shuffled = weyl.Embedding("upper(2)", "f1", embedding.points[order], [graph.nodes[row] for row in order])
    one, other = (weyl.evaluate(x, graph).to_json() for x in (embedding, shuffled))
    assert one == pytest.approx(other, rel=1e-12)


# ── known values ─────────────────────────────────────────────────────────────────────────────────────────────────────
def line(**places):
    """Nodes on a line."""
    points = torch.tensor(list(places.values()), dtype=torch.float64).reshape(-1, 1)
    return weyl.Embedding("euclidean(1)", "riemannian", points, list(places))


def test_a_path_by_hand():
    scores = weyl.evaluate(line(a=0, b=1, c=3, d=6), nx.path_graph(["a", "b", "c", "d"]))
    ratio = {"ab": 1, "bc": 2, "cd": 3, "ac": 3 / 2, "bd": 5 / 2, "ad": 6 / 3}
    assert scores.average_distortion == pytest.approx(sum(x - 1 for x in ratio.values()) / 6)
    assert scores.worst_distortion == pytest.approx(3)
    # c meets b at 2, then a and its neighbour d both at 3: against us d comes third
    assert scores.mean_average_precision == pytest.approx((1 + 1 + (1 + 2 / 3) / 2 + 1) / 4)
    assert scores.mean_average_precision_by_sort_order == scores.mean_average_precision
    assert scores.tie_share == pytest.approx(1 / 6)
    before = weyl.evaluate(line(d=6, c=3, b=1, a=0), nx.path_graph(["d", "c", "b", "a"]))
    assert before.mean_average_precision == scores.mean_average_precision
    assert before.mean_average_precision_by_sort_order == 1  # d stands before a


def test_a_perfect_embedding():
    scores = weyl.evaluate(line(a=0, b=1, c=2, d=3), nx.path_graph(["a", "b", "c", "d"]))
    assert (scores.average_distortion, scores.worst_distortion) == (0, 1)
    assert (scores.mean_average_precision, scores.precision_at_10, scores.tie_share) == (1, 1, 0)
    assert scores.rank_correlation == pytest.approx(1)


def test_nodes_in_one_place():
    scores = weyl.evaluate(line(a=0, b=0, c=0, d=0), nx.path_graph(["a", "b", "c", "d"]))
    assert (scores.average_distortion, scores.tie_share, scores.rank_correlation) == (1, 1, None)
    assert scores.worst_distortion == float("inf")
    assert scores.mean_average_precision == pytest.approx((1 / 3 + (1 / 2 + 2 / 3) / 2) / 2)
    assert scores.to_json()["worst_distortion"] is None


def test_only_the_average_feels_a_scale():
    graph = weyl.graph("tree(2, 3)")
    one, two = (
        weyl.evaluate(random_embedding("upper(2)", graph.nodes, scale=scale), graph).to_json()
        for scale in (1.0, 2.5)
    )
    assert one.pop("average_distortion") != two.pop("average_distortion")
    assert one == pytest.approx(two, rel=1e-12)


@pytest.mark.parametrize("joined", [nx.complete_graph(5), nx.disjoint_union(*[nx.complete_graph(4)] * 2)])
def test_where_every_pair_is_a_weighted_edge_no_order_is_wrong(joined):
    nx.set_edge_attributes(joined, {edge: 1 + edge[0] for edge in joined.edges}, "weight")
    graph = weyl.graph(joined)
    scores = weyl.evaluate(random_embedding("upper(2)", graph.nodes), graph)
    assert scores.mean_average_precision is scores.precision_at_10 is scores.tie_share is None
    assert scores.average_distortion > 0 and scores.rank_correlation is not None


def test_shared_nodes_without_an_edge():
    scores = weyl.evaluate(line(a=0, c=3), nx.path_graph(["a", "b", "c"]))
    assert scores.mean_average_precision is scores.precision_at_10 is scores.tie_share is None
    assert (scores.pairs, scores.edges, scores.average_distortion) == (1, 0, pytest.approx(0.5))
    assert scores.rank_correlation is None


# ── how it is measured ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("pairs", [1, 15, 16, 31, 100, 10_000])
@pytest.mark.parametrize("ties", [False, True])
def test_blocks_change_nothing(monkeypatch, pairs, ties):
    graph = weyl.graph(two_parts_and_one_alone())
    rng = np.random.default_rng(5)
    embedding = on_a_grid(graph.nodes, rng) if ties else random_embedding("upper(2)", graph.nodes)
    whole = weyl.evaluate(embedding, graph).to_json()
    monkeypatch.setitem(rows.PAIRS, "cpu", pairs)
    same(weyl.evaluate(embedding, graph).to_json(), whole)


@pytest.mark.parametrize("source", ["karate", "cycle(9)"])
def test_distances_may_be_given(source):
    graph = weyl.graph(source)
    embedding = random_embedding("upper(2)", graph.nodes)
    given = weyl.graph_distances(graph)
    assert weyl.evaluate(embedding, graph, given) == weyl.evaluate(embedding, graph)


def test_given_distances_of_some_sources_are_a_sample():
    graph = weyl.graph("karate")
    embedding = random_embedding("upper(2)", graph.nodes)
    some = weyl.graph_distances(graph, sources=[0, 5, 9, 20, 33])
    scores = weyl.evaluate(embedding, graph, some)
    assert (scores.sampled, scores.sources, scores.nodes, scores.pairs) == (True, 5, 34, 5 * 33)
    d, g = embedded(embedding, graph.nodes), shortest_paths(34, graph.edges.tolist())
    off = [abs(d[u, v] / g[u, v] - 1) for u in some.sources for v in range(34) if v != u]
    assert scores.average_distortion == pytest.approx(np.mean(off))
    low, high = scores.intervals["average_distortion"]
    assert low < scores.average_distortion < high


def test_given_distances_of_another_graph_are_refused():
    graph = weyl.graph("karate")
    with pytest.raises(ValueError, match="distances of 9 nodes do not belong to a graph of 34"):
        weyl.evaluate(random_embedding("upper(2)", graph.nodes), graph, weyl.graph_distances("cycle(9)"))


def test_a_graph_with_other_names_is_refused():
    embedding = random_embedding("upper(2)", ["a", "b", "c"])
    with pytest.raises(ValueError, match="share no node: their first ones are 0 and 'a'"):
        weyl.evaluate(embedding, "cycle(3)")


def test_a_single_shared_node_has_no_distance():
    with pytest.raises(ValueError, match="no path joins two of the nodes"):
        weyl.evaluate(line(a=0, x=1), nx.path_graph(["a", "b"]))


def test_whatever_reads_as_a_graph_can_be_evaluated():
    graph = weyl.graph("cycle(8)")
    embedding = random_embedding("upper(2)", graph.nodes)
    scores = weyl.evaluate(embedding, graph)
    for source in ("cycle(8)", graph.edges, nx.cycle_graph(8), graph.adjacency):
        assert weyl.evaluate(embedding, source) == scores


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_small_graph_with_any_ties(data):
    count = data.draw(st.integers(2, 9), "nodes")
    pairs = [(i, j) for i in range(count) for j in range(i)]
    edges = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True), "edges")
    drawn = nx.Graph(edges)
    graph = weyl.graph(drawn)
    rng = np.random.default_rng(data.draw(st.integers(0, 99), "seed"))
    embedding = on_a_grid(graph.nodes, rng, size=data.draw(st.integers(1, 4), "size"))
    g = shortest_paths(len(graph), graph.edges.tolist())
    d = embedded(embedding, list(graph.nodes))
    scores = weyl.evaluate(embedding, graph)
    definition = plain_scores(d, g, adjacency(len(graph), graph.edges.tolist()))
    check(scores, definition)


# ── for programs ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_summary_has_every_promised_name():
    graph = weyl.graph("cycle(8)")
    embedding = random_embedding("upper(2)", graph.nodes)
    record = summary(embedding, weyl.evaluate(embedding, graph))
    promised = """graph nodes edges pairs space metric parameters average_distortion worst_distortion sampled
        mean_average_precision scale seconds epochs pairs_seen seed device dtype version"""
    assert set(promised.split()) <= set(record)
    assert (record["space"], record["metric"], record["parameters"]) == ("upper(2)", "f1", 6)
    assert (record["device"], record["dtype"], record["version"]) == ("cpu", "float64", weyl.__version__)
