"""Learned curvature, weights and unit: slopes against differences of the loss that the geometry measures."""

import math

import numpy as np
import pytest
import torch

import weyl
from weyl.geometry.product import Power, Product

LEARNED = 'interpolated(2, k="learn")'
SPACES = [
    LEARNED,
    'ball(2, 3, k="learn")',
    'ball(3, 2, field="C", k="learn")',
    'ball(1, 2, field="H", k="learn")',
    'antisymmetric(4, k="learn")',
    f"product(hyperbolic(2), {LEARNED}, upper(2))",
    'product(ball(1, 2, k="learn"), interpolated(1, k="learn"))',
    'power(interpolated(1, k="learn"), 3)',
]
GRAPH = "grid(2,4)"
H = 1e-5


def curved(space):
    """The factors that learn a curvature."""
    if isinstance(space, Product):
        return [leaf for factor in space.factors for leaf in curved(factor)]
    if isinstance(space, Power):
        return curved(space.factor)
    return [space] if space.parameters() else []


def measured_loss(space, norm, xi, unit):
    """The mean of (d/g - 1)² over all pairs, of the points at normal coordinates xi."""
    points = space.exp_o(xi)
    i, j = np.triu_indices(len(xi), 1)
    g = torch.from_numpy(np.asarray(weyl.graph_distances(GRAPH), float)[i, j])
    d = unit * space.distance(points[i], points[j], norm)
    return float((d.detach() / g - 1).square().mean())


def slopes(trainer, space, metric, xi, unit=1.0, learn_unit=False):
    """What the trainer finds for its learned numbers at these points, without moving anything."""
    run = trainer(
        GRAPH, space, metric, points=space.exp_o(xi).detach(), batch=10_000, unit=unit, learn_unit=learn_unit,
        dtype="float64", objective="relative-squared", steps=1,
    )  # fmt: skip
    run.learned.step = lambda moving, rate: None
    run.run()
    return run


def coordinates(space, seed=0, spread=0.8):
    o = space.origin().expand(8, *space.point_shape)
    X = space.random_tangents(o, torch.Generator().manual_seed(seed))
    return spread * X / X.flatten(1).norm(dim=1).reshape(-1, *[1] * len(space.point_shape))


@torch.no_grad()
def difference(parameter, place, loss):
    flat = parameter.view(-1)
    before = float(flat[place])
    ends = []
    for step in (H, -H):
        flat[place] = before + step
        ends.append(loss())
    flat[place] = before
    return (ends[0] - ends[1]) / (2 * H)


@pytest.mark.parametrize("metric", ["riemannian", "f1"])
@pytest.mark.parametrize("k", [-1.0, -0.3, -1e-9, 0.0, 0.4])
@pytest.mark.parametrize("text", SPACES)
def test_slope_in_the_curvature(trainer, text, k, metric):
    """At fixed normal coordinates: the distances change, and the points move along."""
    space = weyl.space(text)
    factors = curved(space)
    with torch.no_grad():
        for number, factor in enumerate(factors):
            factor.curvature.fill_(k * (1 + 0.3 * number))
    xi, norm = coordinates(space), space.norm(metric)
    run = slopes(trainer, space, metric, xi)
    found = [float(factor.curvature.grad) for factor in factors]
    expected = [difference(f.curvature, 0, lambda: measured_loss(space, norm, xi, 1.0)) for f in factors]
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert len(run.learned.values) == len(factors) and max(map(abs, expected)) > 1e-4


@pytest.mark.parametrize("text", ["upper(3)", "spd(3)", LEARNED, "product(hyperbolic(2), spd(2))"])
def test_slope_in_the_weights(trainer, text):
    space = weyl.space(text)
    xi = coordinates(space)
    run = slopes(trainer, space, "weighted", xi)
    norm = run.kernel.norm
    (raw,) = norm.parameters()
    expected = [difference(raw, j, lambda: measured_loss(space, norm, xi, 1.0)) for j in range(len(raw))]
    assert raw.grad.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("text", ["upper(2)", "sphere(3)", LEARNED])
@pytest.mark.parametrize("unit", [1.0, 2.5])
def test_slope_in_the_unit(trainer, text, unit):
    space = weyl.space(text)
    xi, norm = coordinates(space), space.norm("f1")
    run = slopes(trainer, space, "f1", xi, unit, learn_unit=True)
    ends = [measured_loss(space, norm, xi, unit * math.exp(step)) for step in (H, -H)]
    assert float(run.learned.log_unit.grad) == pytest.approx((ends[0] - ends[1]) / (2 * H), rel=1e-6)


@pytest.mark.parametrize("text", [LEARNED, f"product({LEARNED}, upper(1))"])
def test_slope_in_the_curvature_counts_the_unit(trainer, text):
    space = weyl.space(text)
    (factor,) = curved(space)
    xi, norm = coordinates(space), space.norm("f1")
    slopes(trainer, space, "f1", xi, unit=2.5)
    expected = difference(factor.curvature, 0, lambda: measured_loss(space, norm, xi, 2.5))
    assert float(factor.curvature.grad) == pytest.approx(expected, rel=1e-5)


# ── what comes of it ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", [LEARNED, 'ball(2, 2, k="learn")', 'power(interpolated(1, k="learn"), 2)'])
def test_curvature_passes_zero_and_points_stay_inside(trainer, text):
    """Driven through zero both ways by hand: normal coordinates stay, points stay points."""
    space = weyl.space(text)
    run = trainer(GRAPH, space, steps=1000, spread=1.0, dtype="float64")
    (k,) = space.parameters()
    for goal in (0.3, -3.0, 0.2, -1.0):
        while abs(float(k.detach()) - goal) > 0.06:
            before = space.log_o(run.moving.points())
            k.grad = (k.detach() - goal).sign()
            run.learned.step(run.moving, 0.05)
            after = run.moving.points()
            assert space.why_not(after) is None
            assert torch.allclose(space.log_o(after), before, atol=1e-9)


def test_a_tree_is_learned_to_bend_and_a_sphere_to_close(trainer):
    """Curvature goes the way that the graph asks for."""
    fields = {"steps": 120, "batch": 8192, "learned_rate": 0.04, "objective": "relative-squared"}
    tree = trainer("tree(3,2)", 'ball(1, 2, k="learn")', "riemannian", **fields).run()
    closed = trainer("cycle(12)", 'ball(1, 2, k="learn")', "riemannian", **fields).run()
    assert float(tree.space.k) < -1.0 < float(closed.space.k)


def test_learning_gains(trainer, distortion):
    """Weights, curvature and unit together end lower than none of them."""
    fields = {"steps": 250, "warmup": 20, "batch": 8192, "learned_rate": 0.04}
    plain = trainer("cycle(9)", "bounded(2)", "f1", **fields).run()
    learned = trainer("cycle(9)", LEARNED, "weighted", unit=1.0, learn_unit=True, **fields).run()
    assert distortion(learned, "cycle(9)") < 0.9 * distortion(plain, "cycle(9)")
    assert learned.unit != 1 and learned.space.name != "bounded(2)" and "weighted(" in learned.norm.text


def test_weights_stay_those_of_a_norm(trainer):
    run = trainer("cycle(9)", "upper(3)", "weighted", steps=300, learned_rate=0.2)
    run.run()
    weights = run.kernel.norm_layout.weights().detach()
    assert (weights > 0).all() and (weights.diff() <= 0).all()


def test_one_curvature_of_a_power_is_one_number(trainer):
    run = trainer(space='power(interpolated(1, k="learn"), 3)')
    assert [x.numel() for x in run.learned.parameters] == [1]


def test_a_factor_that_stands_twice_is_learned_once(trainer):
    factor = weyl.space('ball(1, 2, k="learn")')
    run = trainer(space=Product(factor, factor))
    assert len(run.learned.parameters) == 1


def test_a_given_unit_is_kept_to_the_bit(trainer):
    assert trainer(unit=0.3, steps=5).run().unit == 0.3


def test_nothing_learned_costs_nothing(trainer):
    run = trainer()
    run.learned.kernel = None  # never looked at
    run.run()
    assert run.learned.values == [] and run.learned.moments == {}
