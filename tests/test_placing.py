"""A node taken out of an exact embedding comes back to its distances; whatever is asked, what comes is a point."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch

import weyl
from weyl import placing
from weyl.placing import _held, place


def lattice(metric):
    """A grid of 4 × 4 × 4 on the diagonal matrices of upper(3), where v is the difference of coordinates."""
    x = np.array(list(itertools.product(range(4), repeat=3)), float)
    points = np.zeros((64, 3, 3, 2))
    points[:, range(3), range(3), 1] = np.exp(x)
    order = {"f1": 1, "riemannian": 2, "finf": np.inf}[metric]
    return "upper(3)", metric, points, np.linalg.norm(x[:, None] - x, ord=order, axis=-1), 1.0


def circle():
    """A cycle on a great circle."""
    turn = np.arange(12) * np.pi / 6
    points = np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)
    steps = np.abs(np.arange(12)[:, None] - np.arange(12))
    return "sphere(2)", "riemannian", points, np.minimum(steps, 12 - steps).astype(float), 6 / np.pi


def drawn(space, metric="f1"):
    """Random points, and the distances that geometry finds between them."""
    made = weyl.space(space)
    points = made.random_points(30, seed=3, dtype=torch.float64)
    return space, metric, points, made.distance(points[:, None], points[None], metric).numpy(), 1.0


EXACT = {
    "grid, f1": lambda: lattice("f1"),
    "grid, riemannian": lambda: lattice("riemannian"),
    "grid, finf": lambda: lattice("finf"),
    "cycle": circle,
    **{
        f"{space}, {metric}": lambda space=space, metric=metric: drawn(space, metric)
        for space, metric in [
            ("upper(2)", "f1"),
            ("upper(1)", "riemannian"),
            ("bounded(2)", "finf"),
            ("dual(2)", "riemannian"),
            ("spd(3)", "f1"),
            ("spd(3, det=1)", "riemannian"),
            ("hpd(2)", "weighted(2, 1)"),
            ("qpd(2)", "f1"),
            ("ball(1, 3)", "f1"),
            ("ball(2, 2)", "lp(3)"),
            ("antisymmetric(4)", "f1"),
            ("euclidean(3)", "riemannian"),
            ("hyperbolic(3)", "f1"),
            ("product(hyperbolic(2), sphere(2))", "f1"),
            ("power(euclidean(1), 2)", "f1"),
        ]
    },
}


@pytest.fixture
def few_steps(monkeypatch):
    """Enough where it does not matter how near the place is to the best."""
    monkeypatch.setattr(placing, "SCOUTING", 5)
    monkeypatch.setattr(placing, "STEPS", 15)


NARROW = ["grid, f1", "cycle", "upper(2), f1", "ball(2, 2), lp(3)"]


@pytest.mark.parametrize(
    "case, dtype",
    [*((case, torch.float64) for case in EXACT), *((case, torch.float32) for case in NARROW)],
)
def test_a_node_taken_out_comes_back(case, dtype):
    space, metric, points, g, scale = EXACT[case]()
    names = [f"n{row}" for row in range(len(points))]
    out = len(points) // 3
    rest = [row for row in range(len(points)) if row != out]
    known = weyl.Embedding(
        space, metric, torch.as_tensor(points)[rest].to(dtype), [names[row] for row in rest], scale=scale
    )
    found = known.add(names[out], {names[row]: g[out, row] for row in rest})
    d = found.distances([(names[out], names[row]) for row in rest])
    assert np.mean(np.abs(d / g[out, rest] - 1)) < 1e-3
    assert found.points.dtype == dtype and torch.equal(found.points[:-1], known.points)
    assert found.nodes == [*known.nodes, names[out]]


def small(space="upper(2)", dtype=torch.float64, names="abc", **more):
    points = weyl.space(space).random_points(len(names), seed=3, dtype=dtype)
    return weyl.Embedding(space, "f1", points, list(names), **more)


def test_distances_are_in_graph_units():
    embedding = small(scale=10.0)
    found = embedding.add("new", {"a": 10.0, "b": 12.0})
    assert found.distance("new", "a") == pytest.approx(10, rel=1e-3)
    assert found.distance("new", "b") == pytest.approx(12, rel=1e-3)
    assert found.scale == 10


@pytest.mark.usefixtures("few_steps")
def test_the_same_input_gives_the_same_bits():
    embedding = small(names="abcdefgh")
    goals = {name: 1.0 + index for index, name in enumerate("bdfh")}
    one = embedding.add("new", goals).points
    assert torch.equal(one, embedding.add("new", goals).points)
    state = torch.random.get_rng_state()
    torch.manual_seed(99)
    other = embedding.add("other", goals).points
    assert torch.equal(one, other)
    torch.random.set_rng_state(state)


@pytest.mark.usefixtures("few_steps")
def test_threads_change_no_bit():
    embedding = small(names=[f"n{i}" for i in range(300)])
    goals = {f"n{i}": 2.0 + i % 5 for i in range(300)}
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(embedding.add("new", goals).points)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert torch.equal(*found)


@pytest.mark.usefixtures("few_steps")
def test_what_was_measured_before_no_longer_holds():
    scores = weyl.evaluate(small(), nx.path_graph(["a", "b", "c"]))
    found = small(scores=scores, fingerprint="x", graph="path", seed=3).add("new", {"a": 1.0})
    assert (found.scores, found.fingerprint) == (None, "") and (found.graph, found.seed) == ("path", 3)


def test_nodes_can_be_added_to_added_nodes():
    embedding = small(names="a")
    for index in range(4):
        embedding = embedding.add(index, {"a": 1.0 + index, **({index - 1: 1.0} if index else {})})
    assert embedding.nodes == ["a", 0, 1, 2, 3]
    assert embedding.distance(2, 3) == pytest.approx(1, rel=0.01)


def test_contradictory_distances_find_a_middle():
    """Three points on a line cannot be 1, 1 and 9 apart; the loss is no worse than at either obvious place."""
    points = torch.tensor([[0.0], [9.0]], dtype=torch.float64)
    embedding = weyl.Embedding("euclidean(1)", "f1", points, ["a", "b"])
    x = embedding.add("new", {"a": 1.0, "b": 1.0}).points[-1].item()
    loss = (abs(abs(x) - 1) + abs(abs(x - 9) - 1)) / 2
    assert loss == pytest.approx(3.5, rel=1e-3)


GOALS = [
    {"a": 1e-300},
    {"a": 1e-6},
    {"a": 40.0, "b": 40.0, "c": 40.0},
    {"a": 100.0},
    {"a": 1.0, "b": 1000.0},
    {"a": 1e6},
    {"a": 1e300},
]


@pytest.mark.parametrize("goals", GOALS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "space",
    [
        "upper(2)",
        "bounded(2)",
        "dual(2)",
        "spd(2)",
        "ball(1, 2)",
        "euclidean(2)",
        "hyperbolic(2)",
        "sphere(2)",
        "product(hyperbolic(2), sphere(2))",
    ],
)
@pytest.mark.usefixtures("few_steps")
def test_distances_out_of_reach_still_give_a_point(space, dtype, goals):
    found = small(space, dtype).add("new", goals)
    assert found.space.why_not(found.points) is None
    assert np.isfinite(found.distances([("new", name) for name in goals])).all()


def test_a_point_that_the_dtype_cannot_hold_is_not_chosen():
    space = weyl.space("bounded(1)")
    points = torch.tensor([[[[1 - 1e-12, 0]]], [[[0.5, 0]]]], dtype=torch.float64)
    assert _held(space, points, torch.float64).tolist() == [True, True]
    assert _held(space, points, torch.float32).tolist() == [False, True]
    known = torch.zeros(1, 1, 1, 2, dtype=torch.float64)
    far = torch.tensor([25.0], dtype=torch.float64)
    wide, narrow = (
        place(space, space.norm("f1"), known, far, dtype) for dtype in (torch.float64, torch.float32)
    )
    d = [space.distance(known[0], point.double()).item() for point in (wide, narrow)]
    assert d[0] == pytest.approx(25, rel=1e-3) and d[1] < 20 and narrow.dtype == torch.float32


@pytest.mark.parametrize(
    "name, distances, line",
    [
        ("a", {"b": 1.0}, "add: there is a node 'a' already"),
        ("new", {}, "add: 'new' needs its distances to known nodes, at least one"),
        ("new", [("a", 1.0)], "add: 'new' needs its distances to known nodes, at least one"),
        ("new", None, "add: 'new' needs its distances to known nodes, at least one"),
        ("new", {"z": 1.0}, "no node 'z' among the 3 nodes"),
        ("new", {"a": 0}, "add: the distance to 'a' must be positive and finite, got 0"),
        ("new", {"a": 1.0, "b": -1.0}, "add: the distance to 'b' must be positive and finite, got -1.0"),
        ("new", {"a": float("nan")}, "add: the distance to 'a' must be positive and finite, got nan"),
        ("new", {"a": float("inf")}, "add: the distance to 'a' must be positive and finite, got inf"),
        ("new", {"a": "far"}, "add: the distance to 'a' must be positive and finite, got 'far'"),
        ("new", {"a": None}, "add: the distance to 'a' must be positive and finite, got None"),
        (["new"], {"a": 1.0}, r"add: \['new'\] cannot be a name: a list is not hashable"),
    ],
)
def test_what_cannot_be_placed_is_refused(name, distances, line):
    with pytest.raises(ValueError, match=line):
        small().add(name, distances)
