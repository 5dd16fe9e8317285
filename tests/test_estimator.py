"""GraphEmbedder keeps the habits of scikit-learn: parameters stored, cloned and shown, results with a trailing _."""

import copy
import inspect
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import torch

import weyl
from weyl.tasks import reconstruction

FEW = {"steps": 30, "warmup": 5}


def points_of(graph, **asked):
    """An embedding of random points instead of a trained one."""
    made = weyl.graph(graph)
    points = weyl.space(asked["space"]).random_points(len(made), seed=asked["seed"])
    return weyl.Embedding(asked["space"], asked["metric"] or "f1", points, made.nodes)


@pytest.fixture
def asked(monkeypatch):
    """What `embed` was asked for, while it trains nothing."""
    calls = []

    def embed(graph, **given):
        calls.append({"graph": graph, **given})
        return points_of(graph, **given)

    monkeypatch.setattr(reconstruction, "embed", embed)
    return calls


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_parameter_is_one_of_embed_with_the_same_default():
    ours = inspect.signature(weyl.GraphEmbedder).parameters
    theirs = inspect.signature(weyl.embed).parameters
    assert {name: one.default for name, one in ours.items()} == {name: theirs[name].default for name in ours}
    about_files = {"checkpoint", "checkpoint_every", "resume", "log"}
    assert set(theirs) - set(ours) == {"graph"} | about_files


def test_the_constructor_only_stores():
    odd = {name: object() for name in inspect.signature(weyl.GraphEmbedder).parameters}
    embedder = weyl.GraphEmbedder(**odd)
    assert embedder.get_params() == embedder.get_params(deep=False) == vars(embedder) == odd


def test_importing_and_making_one_loads_no_torch():
    program = "import sys, weyl; weyl.GraphEmbedder(); print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "False"


def test_set_params_changes_what_it_names():
    embedder = weyl.GraphEmbedder()
    assert embedder.set_params(space="spd(3)", seed=4) is embedder
    assert embedder.get_params() == {**weyl.GraphEmbedder().get_params(), "space": "spd(3)", "seed": 4}
    assert embedder.set_params() is embedder


def test_set_params_refuses_other_names_and_changes_nothing():
    embedder = weyl.GraphEmbedder()
    with pytest.raises(ValueError, match=r"no parameter 'n_components'; there are space, metric, effort"):
        embedder.set_params(seed=4, n_components=2)
    assert embedder.seed == 0


def test_a_clone_has_the_same_parameters_and_no_result(asked):
    """What sklearn.base.clone does: the class with copies of get_params, and a look whether it kept them."""
    config = {"rate": 0.1}
    embedder = weyl.GraphEmbedder("upper(2)", config=config, seed=3).fit("cycle(5)")
    params = {name: copy.deepcopy(value) for name, value in embedder.get_params(deep=False).items()}
    clone = type(embedder)(**params)
    assert all(clone.get_params(deep=False)[name] is params[name] for name in params)
    assert clone.get_params() == embedder.get_params() and clone.config is not config
    assert not hasattr(clone, "embedding_") and not clone.__sklearn_is_fitted__()


def test_it_shows_what_differs_from_the_defaults():
    assert repr(weyl.GraphEmbedder()) == "GraphEmbedder()"
    changed = weyl.GraphEmbedder("upper(2)", metric=None, seed=7, time_limit=2.5)
    assert repr(changed) == "GraphEmbedder(space='upper(2)', seed=7, time_limit=2.5)"


# ── fitting ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_fit_asks_for_what_the_parameters_say(asked):
    graph = nx.path_graph(["a", "b", "c"])
    embedder = weyl.GraphEmbedder("spd(2)", "riemannian", seed=5, config=FEW)
    assert embedder.fit(graph) is embedder and embedder.fit(graph, y=[1, 2, 3]) is embedder
    assert asked == [{"graph": graph, **embedder.get_params()}] * 2
    assert embedder.embedding_.nodes == ["a", "b", "c"] and embedder.embedding_.space.name == "spd(2)"


def test_fit_transform_gives_flat_features(asked):
    embedder = weyl.GraphEmbedder("upper(2)")
    features = embedder.fit_transform("cycle(7)", None)
    assert features.shape == (7, 6) and np.array_equal(features, embedder.embedding_.flat())


def test_transform_gives_the_rows_of_a_graph(asked):
    embedder = weyl.GraphEmbedder("upper(2)").fit(nx.path_graph(["a", "b", "c", "d"]))
    features = embedder.embedding_.flat()
    assert np.array_equal(embedder.transform(nx.path_graph(["c", "a"])), features[[2, 0]])
    with pytest.raises(ValueError, match="no node 'x' among the 4 nodes"):
        embedder.transform(nx.path_graph(["a", "x"]))


def test_transform_wants_a_fit_first():
    with pytest.raises(ValueError, match=r"GraphEmbedder\(seed=3\): not fitted yet, call fit\(graph\) first"):
        weyl.GraphEmbedder(seed=3).transform("cycle(3)")


def test_a_second_fit_replaces_the_first(asked):
    embedder = weyl.GraphEmbedder("upper(2)").fit("cycle(5)")
    assert len(embedder.fit("cycle(6)").embedding_) == 6


def test_a_fitted_one_can_be_pickled(asked):
    embedder = weyl.GraphEmbedder("upper(2)", seed=1).fit("cycle(5)")
    before = embedder.embedding_.distance(0, 2)
    again = pickle.loads(pickle.dumps(embedder))
    assert again.get_params() == embedder.get_params()
    assert torch.equal(again.embedding_.points, embedder.embedding_.points)
    assert again.embedding_.distance(0, 2) == before


# ── for real ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_grid_is_embedded():
    embedder = weyl.GraphEmbedder("upper(2)", config={**FEW, "steps": 300})
    features = embedder.fit_transform("grid(3,3)")
    assert features.shape == (9, 6) and np.isfinite(features).all()
    assert embedder.embedding_.scores.average_distortion < 0.1
    straight = weyl.embed("grid(3,3)", "upper(2)", config={**FEW, "steps": 300})
    assert torch.equal(straight.points, embedder.embedding_.points)


def test_bad_parameters_are_met_when_fitting():
    with pytest.raises(ValueError, match="uper"):
        weyl.GraphEmbedder("uper(2)").fit("cycle(5)")
    with pytest.raises(ValueError, match="effort"):
        weyl.GraphEmbedder("upper(2)", effort="lazy").fit("cycle(5)")
