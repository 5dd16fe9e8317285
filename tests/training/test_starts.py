"""Starts: drawn around the basepoint, or taken from an earlier embedding of the graph."""

import networkx as nx
import pytest
import torch

import weyl
from weyl.training.starts import random_start, warm_start

SPACES = [
    "upper(2)",
    "bounded(2)",
    "spd(2)",
    "hyperbolic(3)",
    "sphere(2)",
    "product(upper(1), hyperbolic(2))",
]


def embedded(graph, space="upper(2)", spread=1.0, seed=0, **fields):
    """An embedding that nobody trained."""
    made, graph = weyl.space(space), weyl.graph(graph)
    points = made.random_points(len(graph), spread=spread, seed=seed, dtype=torch.float64)
    points = torch.view_as_real(points) if points.is_complex() else points
    return weyl.Embedding(made, "f1", points, graph.nodes, **fields)


def begin(embedding, graph, space=None, spread=0.3, seed=0):
    graph = weyl.graph(graph)
    made = embedding.space if space is None else weyl.space(space)
    return warm_start(embedding, graph, weyl.graph_distances(graph), made, spread, seed)


@pytest.mark.parametrize("space", SPACES)
def test_drawn_points_are_points_and_follow_from_the_seed(space):
    made = weyl.space(space)
    one, same, other, second = (random_start(made, 20, 0.3, *draw) for draw in ((1,), (1,), (2,), (1, 1)))
    assert one.shape == (20, *made.point_shape) and made.why_not(one) is None
    assert torch.equal(one, same) and not torch.equal(one, other) and not torch.equal(one, second)


def test_spread_is_how_far_they_lie():
    made = weyl.space("upper(3)")
    near, far = (random_start(made, 500, spread, 0) for spread in (0.01, 0.1))
    ratio = made.distance(made.origin(), far).mean() / made.distance(made.origin(), near).mean()
    assert float(ratio) == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize("space", SPACES)
def test_known_nodes_keep_their_points(space):
    """By name, whatever the order, also where nodes have gone."""
    graph = nx.relabel_nodes(nx.path_graph(6), dict(enumerate("abcdef")))
    embedding = embedded(graph, space)
    fewer = nx.Graph([("f", "e"), ("c", "e"), ("b", "c")])
    points = begin(embedding, fewer)
    rows = [embedding.row(name) for name in fewer]
    assert torch.equal(points, embedding.points[rows])


@pytest.mark.parametrize("space", SPACES)
def test_new_nodes_come_to_their_nearest_known_ones(space):
    embedding = embedded(nx.path_graph(6), space, spread=3.0)
    grown = nx.path_graph(6)
    grown.add_edges_from([(2, "x"), ("x", "y"), (5, "z")])
    points, nodes = begin(embedding, grown), list(grown)
    made = embedding.space
    assert made.why_not(points) is None
    for name, beside in (("x", 2), ("y", 2), ("z", 5)):
        d = made.distance(points[nodes.index(name)], embedding.points)
        assert int(d.argmin()) == embedding.row(beside) and 0 < float(d.min()) < 0.5


def test_new_nodes_do_not_coincide():
    grown = nx.star_graph(8)
    points = begin(embedded(nx.path_graph(2)), grown)
    d = weyl.space("upper(2)").distance(points[:, None], points[None])
    assert d[~torch.eye(9, dtype=torch.bool)].min() > 0


def test_a_new_component_starts_somewhere():
    grown = nx.Graph([(0, 1), (1, 2), ("far", "away")])
    assert begin(embedded(nx.path_graph(3)), grown).isfinite().all()


def test_float32_embeddings_start_in_float64():
    points = begin(embedded(nx.path_graph(4)).to(torch.float32), nx.path_graph(5))
    assert points.dtype == torch.float64


@pytest.mark.parametrize(
    "old, new",
    [
        ("upper(2)", "upper(3)"),
        ("bounded(2)", "upper(2)"),  # points of one shape
        ("hyperbolic(3)", "euclidean(3)"),
        ("euclidean(3)", "hyperbolic(3)"),
        ("product(hyperbolic(2), euclidean(2))", "product(euclidean(2), hyperbolic(2))"),
        ("product(hyperbolic(2), euclidean(2))", "euclidean(4)"),
        ("hyperbolic(3)", 'ball(1, 3, k="learn")'),
    ],
)
def test_another_space_is_refused_in_one_line(old, new):
    with pytest.raises(
        ValueError, match=r"^start: the embedding lies in .*ask for the same space$"
    ) as problem:
        begin(embedded(nx.path_graph(3), old), nx.path_graph(3), new)
    assert weyl.space(old).name in str(problem.value) and weyl.space(new).name in str(problem.value)


def test_another_graph_is_refused():
    with pytest.raises(ValueError, match=r"^start: the embedding has no node of .*its first is 0, .* 'a'"):
        begin(embedded(nx.path_graph(3)), nx.Graph([("a", "b")]))


def test_a_learned_curvature_begins_where_the_embedding_has_it():
    space = weyl.space('product(interpolated(2, k="learn"), hyperbolic(2))')
    old = embedded(nx.path_graph(3), "product(interpolated(2, k=-0.4), hyperbolic(2))")
    distances = weyl.graph_distances(nx.path_graph(3))
    points = warm_start(old, weyl.graph(nx.path_graph(3)), distances, space, 0.3, 0)
    assert torch.equal(points, old.points) and space.why_not(points) is None
    assert [float(k.detach()) for k in space.parameters()] == [-0.4]


def test_distances_of_some_sources_do():
    """Where the row of a new node is not known, any known node will do."""
    grown = nx.path_graph(12)
    distances = weyl.graph_distances(grown, sources=[0, 3, 9])
    embedding = embedded(nx.path_graph(4), spread=3.0)
    points = warm_start(embedding, weyl.graph(grown), distances, embedding.space, 0.3, 0)
    assert points.shape[0] == 12 and embedding.space.why_not(points) is None
    d = embedding.space.distance(points[9], embedding.points)
    assert int(d.argmin()) == 3
