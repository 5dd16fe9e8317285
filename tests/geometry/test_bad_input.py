"""What is wrong with an argument is said in one line that names the place and what is expected."""

import math

import numpy as np
import pytest
import torch

import weyl
from weyl import space
from weyl.geometry import SPACES, interpolated
from weyl.nn import PairDistance, Points

NAN = float("nan")


def refuses(call, *words, kinds=(ValueError, TypeError)):
    """The call raises one printable line that holds all the words."""
    with pytest.raises(kinds) as caught:
        call()
    line = str(caught.value)
    assert line.isprintable() and 10 < len(line) < 300, line
    for word in words:
        assert word in line, line
    return line


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
EXPRESSIONS = {
    "upper(0)": ("upper(0)", "at least 1", "got 0"),
    "upper(-1)": ("upper(-1)", "at least 1"),
    "upper(2.0)": ("whole number", "2.0"),
    "upper(True)": ("whole number", "True"),
    'upper("2")': ("whole number", "'2'"),
    "upper": ("missing 'n'", "upper(n)"),
    "upper(2, 3)": ("at most 1 argument", "upper(n)"),
    "uper(4)": ("unknown space 'uper'", "'upper'", "weyl spaces"),
    "Upper(4)": ("'upper'",),
    "product(uper(4))": ("'upper'", "product(uper(4))"),
    "ball(2)": ("missing 'q'", "ball(p, q"),
    "ball(2, 0)": ("q must be a whole number, at least 1",),
    'ball(2, 3, field="Q")': ('"R", "C" or "H"', "'Q'"),
    "ball(2, 3, feild=3)": ("'field'",),
    "ball(2, 3, k=True)": ("k must be a number",),
    'ball(2, 3, k="x")': ('"learn"', "'x'"),
    "interpolated(2, k=learn)": ('"learn"',),
    "interpolated(2, k=nan)": ("finite",),
    "interpolated(2, k=1e400)": ("too large",),
    "spd(2, det=2)": ("det is 1 or left out", "got 2"),
    "spd(1, det=1)": ("at least 2",),
    "antisymmetric(1)": ("at least 2",),
    "euclidean(0)": ("dimension must be a whole number, at least 1",),
    "hyperbolic(0)": ("dimension must be a whole number, at least 1",),
    "sphere(0)": ("dimension must be a whole number, at least 1",),
    "complex_hyperbolic(0)": ("dimension must be a whole number, at least 1",),
    "quaternionic_hyperbolic(0)": ("dimension must be a whole number, at least 1",),
    "product()": ("at least one factor",),
    "product(3)": ("upper(2)", "got 3"),
    'product(upper(2), combine="x")': ("'concatenate' or 'pythagoras'", "'x'"),
    "power(upper(2), 0)": ("at least 1",),
    "power(3, upper(2))": ("upper(2)",),
    "power(upper(2), 2.5)": ("whole number",),
    "upper(4": ("not closed",),
    "": ("empty",),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    refuses(lambda: space(text), *EXPRESSIONS[text], kinds=ValueError)


@pytest.mark.parametrize("thing", [3, None, ["upper(4)"]])
def test_what_is_no_expression(thing):
    refuses(lambda: space(thing), "text of a space", type(thing).__name__)


def test_every_constructor_refuses_a_size_of_zero():
    for name, constructor in SPACES.items():
        arguments = {"product": (), "power": (space("upper(1)"), 0), "ball": (0, 1)}.get(name, (0,))
        with pytest.raises(ValueError, match="at least"):
            constructor(*arguments)


@pytest.mark.parametrize("k", [torch.tensor([1.0, 2.0]), torch.tensor(NAN), torch.tensor(math.inf)])
def test_a_curvature_is_one_finite_number(k):
    refuses(lambda: interpolated(2, k), "one finite number")


METRICS = {
    "f2": ("upper(2)", "unknown metric 'f2'", "f1, finf, fmin, lp, riemannian, weighted"),
    "F1": ("'f1'",),
    "lp": ("missing 'p'",),
    "lp(0.5)": ("at least 1", "triangle"),
    "lp(1, 2)": ("at most 1",),
    "weighted(1)": ("1 weights for 2 components",),
    "weighted(1, 2)": ("must not increase",),
    "weighted(1, -2)": ("not negative",),
    "weighted(0, 0)": ("above zero",),
    "f1(2)": ("f1",),
    "upper(2)": ("unknown metric 'upper'",),
}


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric):
    made = space("upper(2)")
    p = made.basepoint()
    refuses(lambda: made.norm(metric), *METRICS[metric])
    refuses(lambda: made.distance(p, p, metric), *METRICS[metric])
    refuses(lambda: PairDistance(made, metric), *METRICS[metric])


def test_a_metric_is_text():
    refuses(lambda: space("upper(2)").norm(3), "int")


# ── points ───────────────────────────────────────────────────────────────────────────────────────────────────────
UPPER = space("upper(2)")
P, Q = UPPER.random_points(2, seed=0, dtype=torch.float64)
X = UPPER.random_tangent(P, seed=1)
ASYMMETRIC = torch.zeros_like(P)
ASYMMETRIC[0, 1, 0] = 1.0

BAD_POINTS = {  # words that say why
    "another shape": (P[:1], ("upper(2)", "2, 2, 2", "(1, 2, 2)")),
    "no shape": (torch.tensor(1.0, dtype=torch.float64), ("upper(2)", "2, 2, 2", "()")),
    "asymmetric": (P + ASYMMETRIC, ("upper(2)", "not symmetric")),
    "negative definite": (-P, ("positive definite",)),
    "indefinite": (P * torch.tensor([1.0, 0.0], dtype=torch.float64) + 0 * P, ("positive definite",)),
    "NaN": (P * NAN, ("upper(2)", "NaN or infinite")),
    "one infinite entry": (P.index_fill(0, torch.tensor([0]), math.inf), ("upper(2)", "NaN or infinite")),
    "another precision": (P.float(), ("upper(2)", "float32", "float64")),
    "an array": (P.numpy(), ("upper(2)", "ndarray", "torch.as_tensor")),
    "a list": (P.tolist(), ("upper(2)", "list")),
    "half precision": (P.half(), ("float16",)),
    "integers": (P.to(torch.int64), ("int64",)),
    "truth values": (P > 0, ("bool",)),
    "nothing": (None, ("upper(2)", "NoneType")),
}
CALLS = {  # with the bad point in every place
    "distance, left": lambda bad: UPPER.distance(bad, Q),
    "distance, right": lambda bad: UPPER.distance(Q, bad),
    "vector_distance": lambda bad: UPPER.vector_distance(Q, bad),
    "exp": lambda bad: UPPER.exp(bad, X),
    "log, at": lambda bad: UPPER.log(bad, Q),
    "log, of": lambda bad: UPPER.log(Q, bad),
    "geodesic": lambda bad: UPPER.geodesic(Q, bad, 0.5),
    "retract": lambda bad: UPPER.retract(bad, X),
    "transport": lambda bad: UPPER.transport(Q, bad, X),
    "inner": lambda bad: UPPER.inner(bad, X, X),
    "riemannian_gradient": lambda bad: UPPER.riemannian_gradient(bad, X),
    "reflect, at": lambda bad: UPPER.reflect(bad, Q),
    "reflect, of": lambda bad: UPPER.reflect(Q, bad),
    "random_tangent": lambda bad: UPPER.random_tangent(bad, seed=0),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("what", BAD_POINTS)
def test_points_of_every_operation(what, call):
    bad, words = BAD_POINTS[what]
    if what == "another precision" and call == "random_tangent":
        return  # a point of its own
    refuses(lambda: CALLS[call](bad), *words)


@pytest.mark.parametrize("what", BAD_POINTS)
def test_why_not_says_the_same_and_raises_nothing(what):
    bad, words = BAD_POINTS[what]
    reason = UPPER.why_not(bad)
    if what == "another precision":
        assert reason is None
    else:
        assert all(word in reason for word in words) and reason.isprintable(), reason


@pytest.mark.parametrize(
    "X, words",
    [
        (X[:1], ("2, 2, 2", "(1, 2, 2)")),
        (X + ASYMMETRIC, ("not symmetric",)),
        (X * NAN, ("NaN",)),
        (X.float(), ("float32", "float64")),
        (X.numpy(), ("ndarray",)),
    ],
)
def test_tangent_vectors(X, words):
    for call in (
        UPPER.exp,
        UPPER.retract,
        lambda p, X: UPPER.transport(p, Q, X),
        lambda p, X: UPPER.inner(p, X, X),
    ):
        refuses(lambda call=call: call(P, X), "upper(2)", *words)


def test_a_bad_point_of_a_batch_is_counted():
    batch = torch.stack([P, Q, -P])
    refuses(lambda: UPPER.distance(batch, Q), "point 2 of 3")
    refuses(lambda: UPPER.log(batch, Q), "point 2 of 3")
    assert "point 2" in UPPER.why_not(batch)
    batch[1, 0, 0, 0] = NAN
    refuses(lambda: UPPER.distance(Q, batch), "point 1 of 3", "NaN")


def test_batches_that_do_not_broadcast():
    refuses(lambda: UPPER.distance(P.expand(3, 2, 2, 2), Q.expand(2, 2, 2, 2)), "upper(2)", kinds=ValueError)
    refuses(lambda: UPPER.exp(P.expand(3, 2, 2, 2), X.expand(2, 2, 2, 2)), "upper(2)", kinds=ValueError)


@pytest.mark.parametrize("t", [torch.linspace(0, 1, 3), torch.zeros(3, 1)])
def test_times_that_do_not_broadcast(t):
    ends = (x.expand(5, 2, 2, 2) for x in (P, Q))
    if t.ndim == 1:
        refuses(lambda: UPPER.geodesic(*ends, t), "upper(2)", "(3,)", "(5,)", kinds=ValueError)
    else:
        assert UPPER.geodesic(*ends, t).shape == (3, 5, 2, 2, 2)


OUTSIDE = {  # space: a matrix of the right shape that is no point, and a word
    "bounded(2)": (torch.eye(2).double() + 0j, "singular value|ball|outside"),
    "interpolated(2, k=-4)": (0.6 * torch.eye(2).double() + 0j, "singular value|ball|outside"),
    "ball(2, 3)": (torch.ones(2, 3).double(), "singular value|ball|outside"),
    'ball(1, 2, field="H")': (torch.ones(1, 2, 4).double(), "singular value|ball|outside"),
    "antisymmetric(2)": (
        torch.tensor([[0.0, 1.1], [-1.1, 0.0]]).double() + 0j,
        "singular value|ball|outside",
    ),
    "spd(2)": (-torch.eye(2).double(), "positive definite"),
    "hpd(2)": (torch.tensor([[1.0, 2j], [-2j, 1.0]]).to(torch.complex128), "positive definite"),
    "qpd(1)": (torch.tensor([[[-1.0, 0.0, 0.0, 0.0]]]).double(), "positive definite"),
    "spd(2, det=1)": (2 * torch.eye(2).double(), "determinant"),
    "sphere(2)": (torch.tensor([2.0, 0.0, 0.0]).double(), "length"),
    "product(upper(1), ball(1, 2))": (
        torch.tensor([0.0, 1.0, 2.0, 0.0]).double(),
        "singular value|ball|outside",
    ),
    "power(sphere(1), 2)": (torch.tensor([[1.0, 0.0], [0.0, 0.5]]).double(), "length"),
}


@pytest.mark.parametrize("text", OUTSIDE)
@pytest.mark.parametrize(
    "operation", ["distance", "vector_distance", "log", "reflect", "exp", "retract", "inner"]
)
def test_points_outside_are_refused_on_both_sides(text, operation):
    made = space(text)
    bad, word = OUTSIDE[text]
    o = made.basepoint(dtype=bad.dtype)
    X = 0 * o
    calls = {
        "exp": [lambda: made.exp(bad, X)],
        "retract": [lambda: made.retract(bad, X)],
        "inner": [lambda: made.inner(bad, X, X)],
    }.get(operation, [lambda: getattr(made, operation)(bad, o), lambda: getattr(made, operation)(o, bad)])
    for call in calls:
        with pytest.raises(ValueError, match=word) as caught:
            call()
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", OUTSIDE)
def test_why_not_explains_points_outside_and_project_mends_them(text):
    made = space(text)
    bad, word = OUTSIDE[text]
    with pytest.raises(AssertionError, match=word):
        assert made.why_not(bad) is None, made.why_not(bad)
    assert made.why_not(made.project(bad)) is None


@pytest.mark.parametrize(
    "text, structure",
    [
        ("upper(2)", "symmetric"),
        ("bounded(2)", "symmetric"),
        ("spd(2)", "Hermitian"),
        ("hpd(2)", "Hermitian"),
        ("antisymmetric(2)", "antisymmetric"),
    ],
)
def test_matrices_of_the_wrong_kind(text, structure):
    made = space(text)
    bad = made.basepoint(dtype=torch.float64).clone()
    bad[0, 1] += 0.1
    if text == "antisymmetric(2)":
        bad[0, 0] += 0.1
    assert structure in refuses(lambda: made.distance(bad, bad), text)
    assert structure in made.why_not(bad)
    nearly = made.basepoint(dtype=torch.float64).clone()
    nearly[0, 1] += 1e-16  # rounding is forgiven, and mended
    made.distance(nearly, nearly)


@pytest.mark.parametrize(
    "text", ["upper(2)", "spd(2)", "hpd(2)", "antisymmetric(3)", "product(upper(1), upper(2))"]
)
def test_rounding_in_a_tangent_vector_that_vanishes_is_forgiven(text):
    """The mean of the logs at a Fréchet mean is nothing but rounding, and rounding is not symmetric."""
    made = space(text)
    p = made.random_points(seed=0, dtype=torch.float64)[0]
    noise = 1e-17 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert float(made.inner(p, noise, noise)) < 1e-30
    assert float(made.distance(made.exp(p, noise), p)) < 1e-14
    assert made.retract(p, noise).isfinite().all() and made.transport(p, p, noise).isfinite().all()


def test_complex_numbers_where_points_are_real():
    for text in ("spd(2)", "hyperbolic(2)", 'ball(1, 2, field="H")'):
        made = space(text)
        z = torch.zeros(made.point_shape, dtype=torch.complex128)
        refuses(lambda made=made, z=z: made.distance(z, z), text, "real", "complex128")
        refuses(lambda made=made: made.random_points(2, dtype=torch.complex128), text, "complex128")
        refuses(lambda made=made: made.basepoint(dtype=torch.complex128), text, "complex128")


# ── other arguments ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("margin", [2, 1, -0.1, NAN, "a"])
def test_project_margin(margin):
    refuses(lambda: UPPER.project(P, margin=margin), "upper(2): project: margin", "[0, 1)", str(margin))


@pytest.mark.parametrize("bad", [P * NAN, P.numpy(), P.to(torch.int64), P[:1]])
def test_project_takes_any_finite_storage(bad):
    refuses(lambda: UPPER.project(bad), "upper(2)")


def test_gradients_must_be_finite():
    refuses(lambda: UPPER.riemannian_gradient(P, P * NAN), "upper(2)", "NaN")


@pytest.mark.parametrize(
    "weights",
    [
        torch.ones(3),
        torch.tensor([1.0, -1.0]),
        torch.zeros(2),
        torch.tensor([NAN, 1.0]),
        torch.ones(2, 1),
        "ab",
    ],
)
def test_mean_weights(weights):
    refuses(lambda: UPPER.mean(torch.stack([P, Q]), weights), "upper(2): mean", "weights")


def test_mean_weights_as_a_list():
    """Taken as numbers, or refused like any other weights."""
    points = torch.stack([P, Q])
    try:
        mean = UPPER.mean(points, [1.0, 3.0])
    except (ValueError, TypeError):
        refuses(lambda: UPPER.mean(points, [1.0, 3.0]), "mean", "weights")
    else:
        torch.testing.assert_close(mean, UPPER.mean(points, torch.tensor([1.0, 3.0])))


def test_mean_needs_points():
    refuses(lambda: UPPER.mean(P), "upper(2)", kinds=ValueError)
    refuses(lambda: UPPER.mean(P[None][:0]), "mean", kinds=ValueError)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.bool, "float64"])
def test_dtypes_of_what_is_drawn(dtype):
    refuses(lambda: UPPER.random_points(2, dtype=dtype), "upper(2)", "float64")
    refuses(lambda: UPPER.basepoint(dtype=dtype), "upper(2)", "float64")


@pytest.mark.parametrize("count", [-1, 2.5, (2, -1), True, "3", None])
def test_how_many_points_are_drawn(count):
    refuses(lambda: UPPER.random_points(count), "random_points", "whole number")


@pytest.mark.parametrize("spread", [NAN, math.inf, -1.0, "wide", None])
def test_the_spread_of_what_is_drawn(spread):
    refuses(lambda: UPPER.random_points(2, spread=spread), "upper(2): spread")
    refuses(lambda: UPPER.random_isometry(spread=spread), "upper(2): spread")


@pytest.mark.parametrize("seed", [1.5, "a", True, 2**64, -(2**64), [1]])
def test_the_seed_of_what_is_drawn(seed):
    for call in (UPPER.random_points, UPPER.random_isometry, lambda seed: UPPER.random_tangent(P, seed=seed)):
        refuses(lambda call=call: call(seed=seed), "upper(2): seed", "whole number", str(seed))


def test_numbers_of_numpy_are_numbers():
    assert (
        space("upper(2)").random_points(np.int64(2), seed=np.int64(3), spread=np.float32(0.5)).shape[0] == 2
    )
    assert SPACES["upper"](np.int64(3)).name == "upper(3)"


# ── beyond what can be stored ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize(
    "text", ["upper(2)", "bounded(2)", "spd(2)", "spd(3, det=1)", "hyperbolic(2)", "ball(2, 3)"]
)
def test_points_drawn_too_far_are_refused(text, dtype):
    refuses(lambda: space(text).random_points(50, spread=1e4, seed=0, dtype=dtype), text, "10000", str(dtype))


@pytest.mark.parametrize("text", ["upper(2)", "spd(2)", "hyperbolic(2)"])
def test_points_reached_too_far_are_refused(text):
    made = space(text)
    p, q = made.random_points(2, seed=0, dtype=torch.float64)
    X = made.log(p, q)
    for call in (
        lambda: made.exp(p, 1e5 * X),
        lambda: made.geodesic(p, q, 1e5),
        lambda: made.exp(p.float(), 1e5 * X.float()),
    ):
        refuses(call, text, "farther than torch.float")


def test_distances_beyond_the_largest_number_are_refused():
    made = space("spd(2)")
    one = torch.eye(2, dtype=torch.float64)
    assert float(made.distance(1e150 * one, 1e-150 * one, "finf")) == pytest.approx(300 * math.log(10))
    for call in (made.distance, made.vector_distance):
        refuses(lambda call=call: call(1e300 * one, 1e-300 * one), "spd(2)", "too far apart")


@pytest.mark.parametrize("t", [NAN, math.inf, "a", None, torch.tensor([0.5, NAN])])
def test_times(t):
    refuses(lambda: UPPER.geodesic(P, Q, t), "upper(2): t", kinds=ValueError)


def test_isometries_of_another_space():
    for g in (3, None, space("upper(3)").random_isometry(seed=0), UPPER.frame(P)):
        refuses(lambda g=g: UPPER.act(g, P), "upper(2): act takes an isometry of upper(2)", kinds=ValueError)


# ── torch modules ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [-1, 2.5, True, "3", None])
def test_how_many_points_a_module_holds(n):
    refuses(lambda: Points("upper(2)", n), "Points", "whole number")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_set_takes_as_many_points_as_there_are(count):
    refuses(
        lambda: Points("upper(2)", 3).set(P.expand(count, 2, 2, 2)), "(3, 2, 2, 2)", f"({count}, 2, 2, 2)"
    )


def test_the_space_of_a_module():
    refuses(lambda: Points("uper(2)", 3), "'upper'")
    refuses(lambda: PairDistance("uper(2)"), "'upper'")


def test_names_that_weyl_does_not_offer():
    with pytest.raises(AttributeError, match=r"no attribute 'spaces'.*space"):
        weyl.spaces  # noqa: B018
