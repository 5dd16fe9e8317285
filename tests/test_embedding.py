"""Embedding: distances in graph units as geometry computes them, names as users write them, files that hold it all."""

import numpy as np
import pytest
import torch
from scipy.linalg import logm

import weyl
from weyl import storage
from weyl.geometry import METRICS
from weyl.scores import Scores

SPACES = [
    "upper(3)",
    "bounded(2)",
    "dual(2)",
    "interpolated(2, k=-0.3)",
    "spd(3)",
    "spd(3, det=1)",
    "hpd(2)",
    "qpd(2)",
    "ball(2, 3)",
    'ball(1, 2, field="H")',
    "antisymmetric(4)",
    "euclidean(3)",
    "hyperbolic(3)",
    "sphere(2)",
    "complex_hyperbolic(2)",
    "product(upper(2), euclidean(2), sphere(2))",
    'product(hyperbolic(2), hyperbolic(3), combine="pythagoras")',
    "power(hyperbolic(2), 3)",
]
NAMES = ["a", 7, ("x", 1), None, 2.5, b"raw", frozenset({1, "y"}), "ö b"]


def embedding_in(space="upper(2)", metric="f1", names=NAMES, dtype=torch.float64, seed=0, **more):
    points = weyl.space(space).random_points(len(names), seed=seed, dtype=dtype)
    return weyl.Embedding(space, metric, points, names, **more)


def same(one, other):
    """Two embeddings that agree in everything."""
    for name in ("metric", "nodes", "scale", "graph", "fingerprint", "config", "scores", "seed", "training"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.space.name == other.space.name and one.versions == other.versions
    assert one.points.dtype == other.points.dtype and torch.equal(one.points, other.points)
    return True


# ── distances ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("space", SPACES)
def test_distances_are_those_of_geometry_in_graph_units(space, dtype):
    embedding = embedding_in(space, dtype=dtype, scale=2.5)
    made, points = weyl.space(space), embedding.points.double()
    pairs = [(a, b) for a in NAMES for b in NAMES]
    rows = torch.tensor([[NAMES.index(name) for name in pair] for pair in pairs])
    p, q = points[rows[:, 0]], points[rows[:, 1]]
    expected = 2.5 * made.distance(p, q, "f1").numpy()
    vectors = 2.5 * made.vector_distance(p, q).numpy()
    assert embedding.distances(pairs) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert embedding.vector_distances(pairs) == pytest.approx(vectors, rel=1e-9, abs=1e-9)
    assert embedding.distance("a", 7) == pytest.approx(expected[1], rel=1e-9)
    assert embedding.distance("a", "a") == 0


@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf", "fmin", "lp(1.5)", "weighted(3, 2, 0.5)"])
def test_every_metric_measures(metric):
    assert metric.split("(")[0] in METRICS
    embedding = embedding_in("upper(3)", metric)
    p, q = embedding.points[:1], embedding.points[1:]
    expected = embedding.space.distance(p, q, metric).numpy()
    pairs = [("a", other) for other in NAMES[1:]]
    assert embedding.distances(pairs) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype, digits", [(torch.float64, 1e-13), (torch.float32, 1e-7)])
def test_components_far_apart_are_measured_to_the_last_digits(dtype, digits):
    """Where v has a gap above 12 the kernel errs by e^gap in the last digit; geometry does not."""
    space = weyl.space("upper(3)")
    p = space.random_points(40, seed=1, dtype=torch.float64)
    X = space.random_tangent(p, seed=2)
    X *= 15 / space.inner(p, X, X).sqrt().reshape(-1, 1, 1, 1)
    points = torch.cat([space.exp(p, X), space.exp(p, -X)]).to(dtype)
    embedding = weyl.Embedding(space, "f1", points, range(80))
    v = space.vector_distance(points[:40].double(), points[40:].double()).numpy()
    assert np.ptp(v, axis=1).max() > 20 and (np.ptp(v, axis=1) > 12).sum() > 10
    pairs = [(row, row + 40) for row in range(40)]
    assert np.abs(embedding.vector_distances(pairs) / v - 1)[:, 0].max() < digits
    assert embedding.distances(pairs) == pytest.approx(v.sum(1), rel=digits)


def test_pairs_may_come_in_any_collection():
    embedding = embedding_in(names=range(5))
    expected = embedding.distances([(0, 1), (0, 4)])
    for pairs in (
        [[0, 1], [0, 4]],
        ((0, 1), (0, 4)),
        iter([(0, 1), (0, 4)]),
        np.array([[0, 1], [0, 4]]),
        torch.tensor([[0, 1], [0, 4]]),
        list(np.array([[0, 1], [0, 4]])),
    ):
        assert np.array_equal(embedding.distances(pairs), expected)


def test_no_pairs_have_no_distances():
    embedding = embedding_in("spd(3)")
    assert embedding.distances([]).shape == (0,) and embedding.vector_distances([]).shape == (0, 3)


@pytest.mark.parametrize("pairs", [["ab"], [b"ab"], ["a", "b"], [("a",)], [("a", "a", "a")], [3], [{"a", 7}]])
def test_what_is_no_pair_of_names_is_refused(pairs):
    with pytest.raises(ValueError, match="expected pairs of node names, such as"):
        embedding_in().distances(pairs)


def test_many_pairs_are_measured_in_blocks(monkeypatch):
    from weyl import embedding as room

    whole = embedding_in(names=range(40)).distances([(i, j) for i in range(40) for j in range(40)])
    monkeypatch.setattr(room, "BLOCK", 37)
    monkeypatch.setattr(room, "WIDEST_GAP", 1.0)  # so that some pairs of every block go to geometry
    parts = embedding_in(names=range(40)).distances([(i, j) for i in range(40) for j in range(40)])
    assert parts == pytest.approx(whole, rel=1e-12, abs=1e-12)


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("space", ["upper(2)", "sphere(2)", "euclidean(2)"])
def test_neighbors_are_the_nearest_others(space):
    embedding = embedding_in(space, names=[f"n{i}" for i in range(50)], scale=3.0)
    d = embedding.space.distance(embedding.points[17:18], embedding.points).numpy() * 3
    order = [row for row in d.argsort(kind="stable").tolist() if row != 17]
    for k in (1, 7, 49, 100):
        names, distances = embedding.neighbors("n17", k)
        assert names == [f"n{row}" for row in order[:k]]
        assert distances == pytest.approx(d[order[:k]], rel=1e-9)


def test_equally_near_nodes_come_in_row_order():
    points = torch.tensor([[0.0], [1.0], [-1.0], [2.0], [1.0], [0.0]])
    embedding = weyl.Embedding("euclidean(1)", "f1", points, list("abcdef"))
    names, distances = embedding.neighbors("a")
    assert names == ["f", "b", "c", "e", "d"] and distances.tolist() == [0, 1, 1, 1, 2]


def test_a_node_alone_has_no_neighbors():
    names, distances = embedding_in(names=["a"]).neighbors("a")
    assert names == [] and distances.shape == (0,)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_neighbors_need_a_count(k):
    with pytest.raises(ValueError, match="k must be a whole number, at least 1, got"):
        embedding_in().neighbors("a", k)


def test_neighbors_take_a_count_out_of_an_array():
    assert len(embedding_in().neighbors("a", np.int64(3))[0]) == 3


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "name, line",
    [
        ("Adm", "no node 'Adm'; did you mean 'Adam'?"),
        ("7", "no node '7'; there is 7, of type int, not str"),
        (99, "no node 99 among the 5 nodes: 'Adam', 'Eve', 7, …"),
        ([1], "no node [1]: a name cannot be a list"),
    ],
)
def test_unknown_nodes_are_named_with_those_like_them(name, line):
    embedding = embedding_in(names=["Adam", "Eve", 7, "Kain", "Abel"])
    for ask in (
        lambda: embedding.row(name),
        lambda: embedding.distance("Eve", name),
        lambda: embedding.distance(name, "Eve"),
        lambda: embedding.neighbors(name),
        lambda: (
            embedding.add("new", {"Eve": 1.0, name: 2.0}) if isinstance(name, str) else embedding.row(name)
        ),
    ):
        with pytest.raises(ValueError) as problem:
            ask()
        assert str(problem.value) == line


def test_small_embeddings_list_their_nodes():
    with pytest.raises(ValueError, match=r"^no node 'z' among the 2 nodes: 'a', 'b'$"):
        embedding_in(names=["a", "b"]).row("z")


@pytest.mark.parametrize(
    "text, name", [("a", "a"), ("7", 7), ("('x', 1)", ("x", 1)), ("None", None), ("2.5", 2.5)]
)
def test_a_shell_names_nodes_by_their_text(text, name):
    assert embedding_in().named(text) == name


def test_a_text_that_two_nodes_have_names_none():
    embedding = embedding_in(names=[1, ("1",), "x", b"1"])
    assert embedding.named("1") == 1
    with pytest.raises(ValueError, match="no node 'y'"):
        embedding.named("y")


def test_text_wins_over_what_reads_like_it():
    assert embedding_in(names=[7, "7"]).named("7") == "7"


# ── what is no embedding ─────────────────────────────────────────────────────────────────────────────────────────────
def points_of(space, count=2, dtype=torch.float64):
    return weyl.space(space).random_points(count, seed=0, dtype=dtype)


@pytest.mark.parametrize(
    "change, line",
    [
        ({"nodes": ["a"]}, "1 node names for 2 points"),
        ({"nodes": ["a", "a"]}, "two nodes have the name 'a'"),
        ({"nodes": [1, True]}, "two nodes have the name 1"),
        ({"nodes": [], "points": torch.zeros(0, 2, 2, 2)}, "no nodes: it needs at least one"),
        ({"points": torch.zeros(2, 2, 2)}, r"expected points \(n, 2, 2, 2\) of upper\(2\), got \(2, 2, 2\)"),
        ({"points": torch.zeros(2, 2, 2, 2)}, "point 0 of 2"),
        ({"points": torch.full((2, 2, 2, 2), torch.nan)}, "NaN"),
        ({"points": torch.ones(2, 2, 2, 2, dtype=torch.int64)}, "expected points in float32 or float64"),
        ({"points": torch.ones(2, 2, 2, 2).half()}, "expected points in float32 or float64"),
        ({"scale": 0}, "the scale must be positive and finite, got 0"),
        ({"scale": float("nan")}, "the scale must be positive and finite, got nan"),
        ({"space": "uper(2)"}, "upper"),
        ({"metric": "f2"}, "unknown metric 'f2'"),
    ],
)
def test_what_makes_no_embedding_is_refused(change, line):
    fields = {"space": "upper(2)", "metric": "f1", "points": points_of("upper(2)"), "nodes": ["a", "b"]}
    with pytest.raises(ValueError, match=line):
        weyl.Embedding(**{**fields, **change})


def test_points_come_as_arrays_and_complex_numbers_too():
    points = points_of("upper(2)")
    expected = weyl.Embedding("upper(2)", "f1", points, ["a", "b"])
    for given in (points.numpy(), torch.view_as_complex(points), torch.view_as_complex(points).numpy()):
        assert same(weyl.Embedding("upper(2)", "f1", given, ["a", "b"]), expected)


def test_an_embedding_keeps_its_own_points():
    points, names = points_of("upper(2)"), ["a", "b"]
    embedding = weyl.Embedding("upper(2)", "f1", points, names)
    before = embedding.points.clone()
    points.zero_()
    names.clear()
    assert torch.equal(embedding.points, before) and embedding.nodes == ["a", "b"]
    assert not embedding.points.requires_grad


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────
FIELDS = {
    "scale": 0.1,
    "graph": "karate",
    "fingerprint": "f" * 64,
    "config": {"rate": 0.05, "steps": 100, "start": None, "clip": [1, 2]},
    "seed": 3,
    "training": {"seconds": 1.5, "epochs": 7},
    "versions": {"weyl": "0.0.1", "torch": "1"},
}
SCORES = Scores(
    average_distortion=0.0123,
    worst_distortion=float("inf"),
    mean_average_precision=None,
    sampled=True,
    nodes=5,
    pairs=10,
    intervals={"average_distortion": (0.0, 0.5), "worst_distortion": (2.0, float("inf"))},
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("space", SPACES)
def test_what_is_saved_is_loaded(tmp_path, space, dtype):
    embedding = embedding_in(space, dtype=dtype, scores=SCORES, **FIELDS)
    embedding.save(tmp_path / "a.weyl")
    again = weyl.load(tmp_path / "a.weyl")
    assert same(again, embedding)
    pairs = [("a", other) for other in NAMES]
    assert np.array_equal(again.distances(pairs), embedding.distances(pairs))


@pytest.mark.parametrize("metric", ["riemannian", "finf", "lp(1.25)", "weighted(2, 1)", " f1 "])
def test_metrics_are_loaded(tmp_path, metric):
    embedding = embedding_in("upper(2)", metric)
    embedding.save(tmp_path / "a.weyl")
    again = weyl.load(tmp_path / "a.weyl")
    assert again.distance("a", 7) == embedding.distance("a", 7)


def test_learned_weights_become_numbers(tmp_path):
    space = weyl.space("product(upper(2), euclidean(2))")
    norm = space.norm("weighted")
    (raw,) = norm.parameters()
    raw.data = torch.tensor([0.3, -1.7, 0.01], dtype=torch.float64)
    points = points_of("product(upper(2), euclidean(2))")
    expected = norm(space.vector_distance(points[0], points[1])).item()
    embedding = weyl.Embedding(space, norm, points, ["a", "b"])
    assert embedding.distance("a", "b") == pytest.approx(expected, rel=1e-12)
    raw.data += 1  # the trainer goes on, the embedding does not
    embedding.save(tmp_path / "a.weyl")
    again = weyl.load(tmp_path / "a.weyl")
    assert again.metric == embedding.metric and again.metric.startswith("weighted(")
    assert again.distance("a", "b") == pytest.approx(expected, rel=1e-12)


def test_learned_curvature_becomes_a_number(tmp_path):
    space = weyl.space('product(interpolated(2, k="learn"), ball(1, 2, k="learn"))')
    for parameter, value in zip(space.parameters(), (-0.123456789012345, 0.25), strict=True):
        parameter.data.fill_(value)
    points = space.random_points(2, seed=0, dtype=torch.float64)
    expected = space.distance(points[0], points[1]).item()
    embedding = weyl.Embedding(space, "f1", points, ["a", "b"])
    assert embedding.space.parameters() == []
    embedding.save(tmp_path / "a.weyl")
    for parameter in space.parameters():
        parameter.data.fill_(-2.0)
    again = weyl.load(tmp_path / "a.weyl")
    assert again.space.name == "product(interpolated(2, k=-0.123456789012345), ball(1, 2, k=0.25))"
    assert embedding.distance("a", "b") == again.distance("a", "b") == pytest.approx(expected, rel=1e-12)


def test_a_file_is_loaded_in_another_dtype(tmp_path):
    embedding = embedding_in(dtype=torch.float32)
    embedding.save(tmp_path / "a.weyl")
    wide = weyl.load(tmp_path / "a.weyl", dtype=torch.float64, device="cpu")
    assert wide.points.dtype == torch.float64 and torch.equal(wide.points, embedding.points.double())
    assert wide.distance("a", 7) == embedding.distance("a", 7)
    wide.save(tmp_path / "b.weyl")
    narrow = weyl.load(tmp_path / "b.weyl", dtype=torch.float32)
    assert same(narrow, embedding)


def test_points_that_a_dtype_cannot_hold_are_refused(tmp_path):
    near_the_boundary = torch.tensor([[[[1 - 1e-12, 0.0]]], [[[0.0, 0.0]]]], dtype=torch.float64)
    embedding = weyl.Embedding("bounded(1)", "f1", near_the_boundary, ["a", "b"])
    embedding.save(tmp_path / "a.weyl")
    with pytest.raises(ValueError, match=r"outside the ball.*, in torch.float32; keep torch.float64"):
        embedding.to(torch.float32)
    with pytest.raises(storage.FileProblem, match=r"a.weyl: .*outside the ball.* keep torch.float64"):
        weyl.load(tmp_path / "a.weyl", dtype=torch.float32)
    assert weyl.load(tmp_path / "a.weyl").distance("a", "b") == embedding.distance("a", "b")


def test_an_embedding_in_another_dtype_is_a_new_one():
    embedding = embedding_in(scores=SCORES, **FIELDS)
    narrow = embedding.to(torch.float32)
    assert narrow.points.dtype == torch.float32 and embedding.points.dtype == torch.float64
    assert narrow.scores == SCORES and narrow.nodes == NAMES
    assert embedding.to().points.dtype == torch.float64


def test_with_scores():
    embedding = embedding_in()
    scored = embedding.with_scores(SCORES)
    assert scored.scores == SCORES and embedding.scores is None
    assert torch.equal(scored.points, embedding.points)


def test_what_an_embedding_says_of_itself():
    embedding = embedding_in(graph="karate", scores=SCORES)
    assert repr(embedding) == "<Embedding of karate: 8 nodes in upper(2), f1, average distortion 1.230%>"
    assert repr(embedding_in()) == "<Embedding: 8 nodes in upper(2), f1>"
    assert embedding.versions["weyl"] == weyl.__version__ and embedding.versions["torch"]
    assert len(embedding) == 8 and ("x", 1) in embedding and "b" not in embedding


# ── features ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [1, 2, 3])
def test_features_of_the_half_space_are_the_logarithm_in_positive_definite_matrices(n):
    embedding = embedding_in(f"upper({n})", names=range(6), scale=1.5)
    features = embedding.flat()
    assert features.shape == (6, n * (n + 1))
    upper = np.triu_indices(n)
    for row, point in enumerate(embedding.points.numpy()):
        X, Y = point[..., 0], point[..., 1]
        inverse = np.linalg.inv(Y)
        image = np.block([[Y + X @ inverse @ X, X @ inverse], [inverse @ X, inverse]])
        logarithm = np.real(logm(image))
        U, V = logarithm[:n, :n], logarithm[:n, n:]
        assert logarithm[n:, n:] == pytest.approx(-U, abs=1e-9)
        expected = 1.5 * np.concatenate([U[upper], V[upper]])
        assert features[row] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("space", [one for one in SPACES if not one.startswith("upper")])
def test_other_features_are_as_long_as_the_point_is_far(space):
    embedding = embedding_in(space, scale=2.0)
    features = embedding.flat()
    assert features.shape == (len(NAMES), embedding.space.dim)
    o = embedding.space.basepoint(torch.float64).expand_as(embedding.points)
    v = embedding.space.vector_distance(o, embedding.points)
    assert np.linalg.norm(features, axis=1) == pytest.approx(2 * v.norm(dim=-1).numpy(), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("space", SPACES)
def test_features_tell_points_apart_and_vanish_at_the_basepoint(space):
    made = weyl.space(space)
    o = made.basepoint(torch.float64)
    points = torch.cat([o[None], made.random_points(6, seed=1, dtype=torch.float64)])
    features = weyl.Embedding(space, "riemannian", points, range(7)).flat()
    assert features[0] == pytest.approx(0, abs=1e-12)
    assert np.linalg.matrix_rank(features[1:]) == min(6, made.dim)


def test_features_of_flat_space_are_its_points():
    embedding = embedding_in("euclidean(3)")
    features = embedding.flat()
    gram = embedding.points.numpy() @ embedding.points.numpy().T
    assert features @ features.T == pytest.approx(gram, abs=1e-12)
