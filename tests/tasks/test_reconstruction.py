"""weyl.embed: any graph in, an embedding with its scores out."""

import logging
import math
import signal

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import coo_array

import weyl
from weyl.tasks.reconstruction import Interrupted
from weyl.training.config import Config


def short(steps=60, **more):
    """Settings of a short run, whatever is planned for long ones."""
    return {"steps": steps, "warmup": min(20, steps // 10), "rate": 0.1, "starts": 1, **more}


SHORT = short()
SPACES = [
    "upper(2)", "bounded(2)", "dual(2)", "interpolated(2, k=-0.5)", 'interpolated(2, k="learn")', "spd(3)",
    "spd(3, det=1)", "hpd(2)", "qpd(2)", "ball(2, 3)", 'ball(1, 2, field="C")', 'ball(1, 1, field="H", k=1)',
    "antisymmetric(4)", "euclidean(3)", "hyperbolic(3)", "sphere(3)", "complex_hyperbolic(2)",
    "quaternionic_hyperbolic(1)", "product(hyperbolic(2), euclidean(2))", "power(hyperbolic(2), 2)",
    'product(upper(1), sphere(2), combine="pythagoras")',
]  # fmt: skip


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr("weyl.training.trainer.LOOK", 0.0)
    monkeypatch.setattr("weyl.training.trainer.WORK_A_CALL", 0)


@pytest.mark.parametrize("space", SPACES)
def test_every_space_gains(space, always, caplog):
    """Quick effort on a small graph: no NaN, no setback, lower at the end than at the start."""
    seen = []

    def callback(state):
        if state.step == 1:
            seen.append(state.loss)

    graph = "cartesian(tree(2,2), grid(3))"
    embedding = weyl.embed(graph, space, effort="quick", config=short(150), callback=callback, threads=1)
    scores = embedding.scores
    assert 0 < scores.average_distortion < 0.8 * seen[0] and math.isfinite(scores.worst_distortion)
    assert embedding.training["setbacks"] == 0 and embedding.training["complete"]
    assert embedding.points.dtype == torch.float64 and not caplog.records
    assert scores.average_distortion == pytest.approx(weyl.evaluate(embedding, graph).average_distortion)


@pytest.mark.parametrize("metric", ["riemannian", "finf", "fmin", "lp(3)", "weighted", "weighted(2, 1)"])
def test_every_metric_gains(metric):
    start = weyl.embed("grid(3,3)", "upper(2)", metric, config=short(1))
    end = weyl.embed("grid(3,3)", "upper(2)", metric, config=short(250))
    assert end.scores.average_distortion < 0.6 * start.scores.average_distortion


def test_upper_4_and_f1_where_nobody_says():
    embedding = weyl.embed("grid(2,2)", config=SHORT)
    assert (embedding.space.name, embedding.metric) == ("upper(4)", "f1")
    assert embedding.graph == "grid(2,2)" and embedding.seed == 0


# ── what a graph may be ──────────────────────────────────────────────────────────────────────────────────────────────
def test_networkx_with_names():
    graph = nx.relabel_nodes(nx.path_graph(4), dict(enumerate(["Zürich", "Köln", "Orléans", "São Paulo"])))
    embedding = weyl.embed(graph, "upper(2)", config=short(400))
    assert embedding.nodes == ["Zürich", "Köln", "Orléans", "São Paulo"]
    assert embedding.distance("Zürich", "São Paulo") == pytest.approx(3, rel=0.01)
    assert embedding.neighbors("Köln", k=1)[0][0] in ("Zürich", "Orléans")


def test_sparse_matrices_edge_arrays_and_expressions_are_one_graph():
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    matrix = coo_array((np.ones(4), edges.T), shape=(5, 5))
    found = [
        weyl.embed(one, "upper(2)", config=SHORT) for one in (edges, matrix, matrix + matrix.T, "grid(5)")
    ]
    assert all(torch.equal(one.points, found[0].points) for one in found)
    assert [list(one.nodes) for one in found[:3]] == [[0, 1, 2, 3, 4]] * 3


def test_a_matrix_of_distances_in_miles():
    """A unit is found and kept; distances come back in miles."""
    random = np.random.default_rng(0)
    places = 1e6 * random.random((8, 2))
    miles = np.abs(places[:, None] - places[None]).sum(-1)  # as a taxi goes
    embedding = weyl.embed(miles, "upper(2)", config=short(800))
    assert embedding.scale > 1000 and embedding.scores.average_distortion < 0.05
    pairs = [(0, 1), (2, 5)]
    assert embedding.distances(pairs) == pytest.approx([miles[0, 1], miles[2, 5]], rel=0.2)
    assert embedding.scores.mean_average_precision is None, "every pair is an edge"


def test_components_are_trained_and_warned_of_once(caplog):
    graph = nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(3))
    with caplog.at_level(logging.INFO, "weyl"):
        embedding = weyl.embed(graph, "upper(2)", config=short(400, starts=2))
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1 and "2 components of 4, 3 nodes" in warnings[0]
    assert embedding.scores.pairs == 6 + 3 and embedding.scores.average_distortion < 0.02
    assert len(embedding) == 7


def test_the_largest_component_alone(caplog):
    graph = nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(5))
    embedding = weyl.embed(graph, "upper(2)", component="largest", config=SHORT)
    assert embedding.nodes == [3, 4, 5, 6, 7] and not caplog.records
    assert any("largest component" in note for note in embedding.training["notes"])


def test_a_connected_graph_is_no_warning(caplog):
    weyl.embed("grid(2,2)", "upper(2)", config=SHORT)
    assert not caplog.records


def test_the_smallest_graph():
    embedding = weyl.embed(np.array([[0, 1]]), "upper(2)", config=short(400))
    assert embedding.distance(0, 1) == pytest.approx(1, rel=1e-3)


# ── seeds, threads, repeating ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("space, metric", [("upper(2)", "f1"), ('interpolated(2, k="learn")', "weighted")])
def test_a_seed_gives_the_same_bits(space, metric, starts):
    config = {**SHORT, "starts": starts}
    one, two = (weyl.embed("tree(2,3)", space, metric, seed=5, threads=t, config=config) for t in (1, 2))
    assert torch.equal(one.points, two.points) and one.scores == two.scores
    assert (one.space.name, one.metric) == (two.space.name, two.metric)
    other = weyl.embed("tree(2,3)", space, metric, seed=6, config=config)
    assert not torch.equal(one.points, other.points)


def test_a_space_that_is_given_stays_as_it_is():
    """What is learned belongs to the embedding: the same objects give the same bits again."""
    space = weyl.space('interpolated(2, k="learn")')
    metric = space.norm("weighted")
    one, two = (weyl.embed("grid(3,3)", space, metric, config=SHORT) for _ in range(2))
    assert torch.equal(one.points, two.points) and one.metric == two.metric
    assert float(space.k.detach()) == -1 != float(one.space.k)


def test_an_embeddings_config_repeats_its_run():
    """Through the file, with all that was asked for."""
    config = {**SHORT, "rate": 0.07, "unit": 1.5, "betas": [0.8, 0.9]}
    first = weyl.embed(
        "grid(3,3)", "upper(2)", "finf", seed=3, dtype="float64", effort="quick", config=config
    )
    again = weyl.embed("grid(3,3)", config=first.config)
    assert torch.equal(first.points, again.points) and first.config == again.config and again.seed == 3
    assert (again.space.name, again.metric) == ("upper(2)", "finf")


def test_config_goes_before_the_arguments(always):
    def callback(state):
        state.stop = True

    config = {"space": "upper( 2 )", "effort": "quick", "seed": 4}
    embedding = weyl.embed("grid(2,2)", "upper(3)", config=config, callback=callback)
    assert embedding.space.name == embedding.config["space"] == "upper(2)" and embedding.seed == 4
    quick = weyl.embed("grid(2,2)", "upper(2)", seed=4, effort="quick", callback=callback)
    assert embedding.config == quick.config and torch.equal(embedding.points, quick.points)


@pytest.mark.parametrize("seed", [3, 4])
def test_many_starts_find_what_one_does_not(seed):
    """A path in a line gets stuck from most starts."""
    losses = {}
    for starts in (1, 12):
        config = short(2000, starts=starts, ranking=0.0, rate=0.05)
        losses[starts] = weyl.embed(
            "grid(25)", "euclidean(1)", "riemannian", seed=seed, config=config
        ).scores.average_distortion
    assert losses[12] < 0.01 < losses[1]


def test_numbers_and_dtypes_of_other_libraries():
    embedding = weyl.embed(
        "grid(2,2)",
        "upper(2)",
        seed=np.int64(3),
        dtype=torch.float64,
        device=torch.device("cpu"),
        config=SHORT,
    )
    assert embedding.seed == 3 and embedding.config["dtype"] == "float64"


# ── warm starts ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_grown_graph_starts_from_its_embedding():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    old = weyl.embed(graph, "upper(2)", config=short(600))
    grown = graph.copy()
    grown.add_edges_from([(0, "new"), ("new", "newer")])
    warm = weyl.embed(grown, start=old, config={"steps": 150})
    cold = weyl.embed(grown, "upper(2)", config=short(150))
    assert warm.nodes[-2:] == ["new", "newer"] and (warm.space.name, warm.metric) == ("upper(2)", "f1")
    assert warm.scores.average_distortion < 0.7 * cold.scores.average_distortion
    moved = warm.space.distance(warm.points[:16], old.points)
    assert moved.max() < 1.0, "what was placed stays about where it was"


def test_a_warm_start_keeps_the_scale():
    miles = np.array([[0, 1, 500.0], [1, 2, 700.0], [2, 3, 100.0]])
    old = weyl.embed(miles, "upper(2)", config=short(300))
    warm = weyl.embed(miles, start=old, config={"steps": 30})
    assert warm.scale == old.scale != 1
    assert warm.scores.average_distortion < 0.05


def test_a_warm_start_goes_on_learning_a_curvature():
    text = 'interpolated(2, k="learn")'
    old = weyl.embed("cycle(8)", text, config=short(150, learned_rate=0.05))
    warm = weyl.embed("cycle(8)", text, start=old, config={"steps": 1, "learned_rate": 1e-9})
    assert float(warm.space.k) == pytest.approx(float(old.space.k), abs=1e-6) and float(old.space.k) != -1


@pytest.mark.parametrize("start, problem", [("old.weyl", "got str; weyl.load reads a file"), (3, "got int")])
def test_a_start_that_is_none(start, problem):
    with pytest.raises(ValueError, match=f"^start: expected an embedding, {problem}"):
        weyl.embed("grid(2,2)", start=start)


def test_a_start_in_another_space():
    old = weyl.embed("grid(2,2)", "upper(2)", config=SHORT)
    with pytest.raises(ValueError, match="ask for the same space"):
        weyl.embed("grid(2,2)", "bounded(2)", start=old)


# ── callbacks, limits, interruptions ─────────────────────────────────────────────────────────────────────────────────
def test_a_callback_stops_a_run(always):
    def callback(state):
        state.stop = state.step == 12

    embedding = weyl.embed("grid(3,3)", "upper(2)", config=short(10**6), callback=callback)
    assert not embedding.training["complete"] and embedding.training["steps"] == 13
    assert embedding.scores.average_distortion > 0


def test_a_callback_is_called_in_the_shortest_run():
    seen = []
    weyl.embed("grid(2,2)", "upper(2)", config=short(1), callback=seen.append)
    assert seen[-1].progress == 1


def test_a_callback_that_fails_says_so(always):
    def callback(state):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weyl.embed("grid(2,2)", "upper(2)", config=SHORT, callback=callback)


@pytest.mark.parametrize("starts", [1, 4])
def test_a_time_limit_is_kept_roughly(starts):
    config = short(10**8, starts=starts)
    embedding = weyl.embed("grid(3,3)", "upper(2)", time_limit=1.0, config=config)
    assert embedding.training["seconds_in_all"] < 20 and embedding.training["complete"]
    assert embedding.scores.average_distortion < 0.2


@pytest.fixture
def hears():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_keeps_the_best_so_far(hears, always, tmp_path):
    def callback(state):
        if state.step == 300:
            signal.raise_signal(signal.SIGINT)

    checkpoint = tmp_path / "run.checkpoint"
    with pytest.raises(Interrupted) as stopped:
        weyl.embed("grid(3,3)", "upper(2)", config=short(500), callback=callback, checkpoint=checkpoint)
    found = stopped.value.embedding
    assert found.scores is None and not found.training["complete"] and found.training["steps"] == 301
    assert weyl.evaluate(found, "grid(3,3)").average_distortion < 0.2
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    resumed = weyl.embed("grid(3,3)", "upper(2)", config=short(500), checkpoint=checkpoint, resume=True)
    whole = weyl.embed("grid(3,3)", "upper(2)", config=short(500))
    assert torch.equal(resumed.points, whole.points) and resumed.scores == whole.scores


def test_ctrl_c_while_starts_are_tried_keeps_the_best_of_them(hears, monkeypatch, always):
    plain, calls = weyl.tasks.reconstruction.Trainer.run, []

    def run(self, **fields):
        calls.append(self)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return plain(self, **fields)

    monkeypatch.setattr("weyl.tasks.reconstruction.Trainer.run", run)
    with pytest.raises(Interrupted) as stopped:
        weyl.embed("grid(3,3)", "upper(2)", config=short(1000, starts=5))
    assert len(calls) == 3 and len(stopped.value.embedding) == 9


def test_ctrl_c_while_scores_are_taken_keeps_the_embedding(hears, monkeypatch):
    def evaluate(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("weyl.tasks.reconstruction.evaluate", evaluate)
    with pytest.raises(Interrupted) as stopped:
        weyl.embed("grid(3,3)", "upper(2)", config=SHORT)
    assert stopped.value.embedding.training["complete"]


def test_resuming_where_there_is_nothing_yet_begins(tmp_path):
    """So that one command serves a job that may be started again at any time."""
    checkpoint = tmp_path / "run.checkpoint"
    resumed = weyl.embed("grid(3,3)", "upper(2)", config=SHORT, checkpoint=checkpoint, resume=True)
    assert torch.equal(resumed.points, weyl.embed("grid(3,3)", "upper(2)", config=SHORT).points)


def test_resuming_does_not_try_starts_again(tmp_path, monkeypatch, hears, always):
    fields = {"config": short(450, starts=3), "checkpoint": tmp_path / "run.checkpoint"}

    def callback(state):
        if state.step == 300:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        weyl.embed("grid(3,3)", "upper(2)", callback=callback, **fields)
    whole = weyl.embed("grid(3,3)", "upper(2)", config=fields["config"])
    calls, plain = [], weyl.tasks.reconstruction.Trainer.run
    monkeypatch.setattr(
        "weyl.tasks.reconstruction.Trainer.run", lambda self, **f: calls.append(1) or plain(self, **f)
    )
    resumed = weyl.embed("grid(3,3)", "upper(2)", resume=True, **fields)
    assert len(calls) == 1 and torch.equal(resumed.points, whole.points)


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "options, problem",
    [
        ({"space": "uper(2)"}, "uper.*upper"),
        ({"space": "upper(0)"}, "upper|rank"),
        ({"metric": "f3"}, "f3"),
        ({"metric": "fmin", "space": "euclidean(2)"}, "fmin"),
        ({"metric": "fmin", "space": 'interpolated(2, k="learn")'}, "fmin changes with the curvature"),
        ({"effort": "quik"}, "effort: expected quick or normal or best, got 'quik'"),
        ({"recipe": "papr"}, "recipe: expected default or paper, got 'papr'"),
        ({"seed": -1}, "seed: expected a whole number, at least 0, got -1"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"seed": True}, "seed: expected a whole number"),
        ({"dtype": "float16"}, "dtype: expected float32 or float64, got 'float16'"),
        ({"dtype": torch.int32}, "dtype: expected float32 or float64, got 'int32'"),
        ({"device": "gpu"}, "no device 'gpu'; expected auto, cpu or cuda"),
        ({"device": "meta"}, "no device 'meta'"),
        ({"threads": 0}, "threads must be a whole number, at least 1, got 0"),
        ({"threads": 1.5}, "threads must be a whole number"),
        ({"threads": "2"}, "threads must be a whole number"),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
        ({"time_limit": math.nan}, "time_limit must be"),
        ({"time_limit": math.inf}, "time_limit must be"),
        ({"time_limit": "5"}, "time_limit must be"),
        ({"component": "biggest"}, "component must be 'largest' or 'all', got 'biggest'"),
        ({"config": {"rat": 1}}, "config: no field 'rat'; did you mean rate"),
        ({"config": {"rate": -1}}, "rate: expected a positive number, got -1"),
        ({"config": {"space": 5}}, "expected the text of a space, got int"),
        ({"resume": True}, "resume=True needs a checkpoint"),
        ({"checkpoint": "missing/run.checkpoint"}, "there is no folder missing"),
        ({"graph": "gird(3,3)"}, "gird.*grid"),
        ({"graph": np.zeros((0, 2), np.int64)}, "edge"),
        ({"graph": nx.empty_graph(3)}, "no edges"),
        ({"graph": nx.Graph([(0, 1, {"weight": 2.0})]), "config": {"ranking": 1.0}}, "ranking needs edges of one"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_before_any_training(options, problem, monkeypatch):
    monkeypatch.setattr("weyl.tasks.reconstruction.Trainer.run", None)
    with pytest.raises(ValueError, match=problem) as found:
        weyl.embed(**{"graph": "grid(2,2)", "space": "upper(2)", **options})
    assert "\n" not in str(found.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there():
    with pytest.raises(ValueError, match="torch sees no CUDA device; take --device cpu"):
        weyl.embed("grid(2,2)", device="cuda")


# ── the paper's recipe ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_papers_recipe_runs_and_gains():
    config = {"steps": 400}
    start = weyl.embed("grid(3,3)", "upper(2)", recipe="paper", config={"steps": 1})
    end = weyl.embed("grid(3,3)", "upper(2)", recipe="paper", config=config)
    assert end.scale == 1 and end.config["schedule"] == "plateau"
    assert end.scores.average_distortion < 0.3 * start.scores.average_distortion


def test_what_is_kept_of_a_run():
    embedding = weyl.embed("grid(3,3)", "upper(2)", config=short(450))
    kept = embedding.training
    assert kept["steps"] == 450 and kept["pairs_seen"] == 450 * 36 and kept["epochs"] == 450
    assert [step for step, _ in kept["losses"]] == [200, 400, 450] and kept["loss"] == kept["losses"][-1][1]
    assert set(embedding.config) == set(Config().to_json())
    assert embedding.fingerprint == weyl.graph("grid(3,3)").fingerprint
