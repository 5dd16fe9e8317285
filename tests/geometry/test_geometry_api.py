"""What the operations of a space promise: shapes, dtypes, forms of storage, seeds, and the figures of precision."""

import math

import pytest
import torch

from weyl import space
from weyl.geometry import Space
from weyl.geometry.matrix_ball import MatrixBall
from weyl.nn import Points

SPACES = [
    "upper(2)",
    "upper(3)",
    "bounded(2)",
    "dual(2)",
    "interpolated(2, k=0)",
    "spd(3)",
    "spd(3, det=1)",
    "hpd(2)",
    "qpd(2)",
    "ball(2, 3)",
    'ball(3, 2, field="C")',
    'ball(1, 2, field="H")',
    "antisymmetric(4)",
    "euclidean(3)",
    "hyperbolic(3)",
    "sphere(3)",
    "product(upper(2), hyperbolic(3), sphere(2))",
    "power(spd(2), 2)",
]
CURVED_DOWN = [text for text in SPACES if "dual" not in text and "sphere" not in text]
COMPLEX = [text for text in SPACES if space(text).complex_points]


def reachable(made):
    """A spread that stays well inside the injectivity radius."""
    return min(1.0, made.reach() / 8)


def points(made, count, seed=0, dtype=torch.float64):
    return made.random_points(count, spread=reachable(made), seed=seed, dtype=dtype)


def tangent(made, p, length=1.0, seed=0):
    """Tangent vectors of exactly this length."""
    X = made.random_tangent(p, seed=seed)
    size = made.inner(p, X, X).sqrt()
    return X * (length / size).reshape(*size.shape, *[1] * len(made.point_shape))


# ── shapes and dtypes ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("text", SPACES)
def test_shapes_broadcast_and_dtypes_stay(text, dtype):
    made = space(text)
    assert isinstance(made, Space) and repr(made) == made.name == text
    p, q = points(made, (2, 1, 3), 1, dtype), points(made, (4, 1), 2, dtype)
    X, Y = made.random_tangent(p, seed=3), made.random_tangent(q, seed=4)
    batch, shape, length = (2, 4, 3), made.point_shape, made.chamber.length
    g = made.random_isometry(seed=5, spread=reachable(made))
    results = {
        "distance": (made.distance(p, q), batch),
        "vector_distance": (made.vector_distance(p, q), (*batch, length)),
        "inner": (made.inner(q, 0.1 * X, Y), batch),
        "exp": (made.exp(q, 0.1 * X), (*batch, *shape)),
        "log": (made.log(p, q), (*batch, *shape)),
        "geodesic": (made.geodesic(p, q, 0.5), (*batch, *shape)),
        "retract": (made.retract(q, 0.1 * X), (*batch, *shape)),
        "transport": (made.transport(p, q, X), (*batch, *shape)),
        "reflect": (made.reflect(p, q), (*batch, *shape)),
        "riemannian_gradient": (made.riemannian_gradient(p, X), (2, 1, 3, *shape)),
        "random_tangent": (X, (2, 1, 3, *shape)),
        "project": (made.project(p), (2, 1, 3, *shape)),
        "act": (made.act(g, p), (2, 1, 3, *shape)),
        "mean": (made.mean(p), (1, 3, *shape)),
        "basepoint": (made.basepoint(dtype=dtype), shape),
    }
    for name, (result, expected) in results.items():
        assert result.shape == expected, name
        assert result.dtype == dtype, name
        assert result.isfinite().all(), name
    assert made.distance(p[0, 0, 0], q[0, 0]).shape == ()
    assert made.rank <= length and made.dim <= math.prod(shape)


@pytest.mark.parametrize("text", SPACES)
def test_nothing_in_nothing_out(text):
    made = space(text)
    p = points(made, 0)
    assert p.shape == (0, *made.point_shape) and made.why_not(p) is None
    X = made.random_tangent(p, seed=0)
    for result in (
        made.exp(p, X),
        made.log(p, p),
        made.transport(p, p, X),
        made.reflect(p, p),
        made.project(p),
    ):
        assert result.shape == p.shape
    assert made.distance(p, p).shape == (0,) and made.inner(p, X, X).shape == (0,)


@pytest.mark.parametrize("text", COMPLEX)
def test_complex_in_complex_out(text):
    made = space(text)
    p, q = (torch.view_as_complex(x.contiguous()) for x in points(made, 2))
    X = made.random_tangent(p, seed=1)
    assert X.is_complex()
    g = made.random_isometry(seed=2, spread=reachable(made))
    for result, real in [
        (made.exp(p, X / 4), made.exp(torch.view_as_real(p), torch.view_as_real(X / 4))),
        (made.log(p, q), made.log(torch.view_as_real(p), torch.view_as_real(q))),
        (made.transport(p, q, X), made.transport(*map(torch.view_as_real, (p, q, X)))),
        (
            made.riemannian_gradient(p, X),
            made.riemannian_gradient(torch.view_as_real(p), torch.view_as_real(X)),
        ),
        (made.project(p), made.project(torch.view_as_real(p))),
        (made.act(g, p), made.act(g, torch.view_as_real(p))),
        (made.mean(torch.stack([p, q])), made.mean(torch.view_as_real(torch.stack([p, q])))),
        (made.basepoint(dtype=torch.complex128), made.basepoint(dtype=torch.float64)),
    ]:
        assert result.dtype == torch.complex128 and result.shape == made.point_shape[:-1]
        assert torch.equal(torch.view_as_real(result.resolve_conj()), real)
    assert made.distance(p, q).dtype == torch.float64 and not made.inner(p, X, X).is_complex()
    single = made.distance(p.to(torch.complex64), q.to(torch.complex64))
    assert single.dtype == torch.float32 and float(single) == pytest.approx(
        float(made.distance(p, q)), rel=1e-4
    )
    assert made.random_points(2, seed=0, dtype=torch.complex64).dtype == torch.complex64
    assert made.why_not(p) is None
    sign = (
        -1 if text.startswith("upper") else 1
    )  # conjugation is an isometry, of the upper half space with a sign
    lazy = made.distance(sign * p.conj(), (sign * q).conj())  # a lazy conjugate is a value like any other
    assert float(lazy) == pytest.approx(float(made.distance(p, q)))


@pytest.mark.parametrize("text", COMPLEX)
def test_gradients_of_complex_points(text):
    made = space(text)
    p, q = (torch.view_as_complex(x.contiguous()) for x in points(made, 2))
    p, real = p.clone().requires_grad_(), torch.view_as_real(p).clone().requires_grad_()
    made.distance(p, q).backward()
    made.distance(real, torch.view_as_real(q)).backward()
    assert torch.equal(torch.view_as_real(p.grad.resolve_conj()), real.grad)


def test_quaternionic_points_have_a_last_axis_of_four():
    for text, shape in [
        ("qpd(2)", (2, 2, 4)),
        ('ball(1, 3, field="H")', (1, 3, 4)),
        ("quaternionic_hyperbolic(3)", (1, 3, 4)),
    ]:
        assert space(text).point_shape == shape and not space(text).complex_points
    made = space("qpd(2)")
    p = points(made, 3)
    torch.testing.assert_close(p[..., 0], p[..., 0].mT)  # Hermitian: the real part symmetric,
    torch.testing.assert_close(p[..., 1:], -p[..., 1:].transpose(1, 2))  # the three others antisymmetric
    i, j, k = (torch.eye(4, dtype=torch.float64)[n] for n in (1, 2, 3))
    one = space('ball(1, 1, field="H")')
    for unit in (i, j, k):  # all directions are alike
        assert float(
            one.distance(torch.zeros(1, 1, 4, dtype=torch.float64), 0.5 * unit[None, None])
        ) == pytest.approx(2 * math.atanh(0.5))


def test_the_point_shapes():
    shapes = {
        "upper(3)": (3, 3, 2), "spd(3)": (3, 3), "hpd(3)": (3, 3, 2), "ball(2, 3)": (2, 3),
        'ball(2, 3, field="C")': (2, 3, 2), "antisymmetric(3)": (3, 3, 2), "euclidean(3)": (3,), "hyperbolic(3)": (3,),
        "sphere(3)": (4,), "complex_hyperbolic(3)": (1, 3, 2), "product(upper(2), spd(2), sphere(1))": (14,),
        "power(upper(2), 3)": (3, 2, 2, 2), "power(product(sphere(1), sphere(1)), 3)": (3, 4),
    }  # fmt: skip
    assert {text: space(text).point_shape for text in shapes} == shapes


def test_arguments_are_not_changed():
    made = space("upper(2)")
    p, q = points(made, 2)
    before = p.clone()
    made.exp(p, made.log(p, q))
    made.mean(torch.stack([p, q]))
    made.project(p)
    assert torch.equal(p, before) and not p.requires_grad


def test_views_and_strides_do_not_matter():
    made = space("upper(2)")
    p, q = points(made, (2, 5))
    strided = torch.stack([p, q], -1)[..., 0]
    assert not strided.is_contiguous() and torch.equal(made.distance(strided, q), made.distance(p, q))
    z = torch.view_as_complex(p.contiguous())
    torch.testing.assert_close(made.exp(z.mT, torch.zeros_like(z).mT), z)
    assert torch.equal(made.distance(z.conj().conj(), z), torch.zeros(5, dtype=torch.float64))


@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf"])
@pytest.mark.parametrize("text", SPACES)
def test_both_ends_of_a_distance_have_their_gradients(text, metric):
    """The gradient at q of d(p, q) is the one at q of d(q, p); along the geodesic both point away from the other."""
    made = space(text)
    p, q = (x.clone().requires_grad_() for x in points(made, (2, 3), seed=3))
    forth = torch.autograd.grad(made.distance(p, q, metric).sum(), (p, q))
    back = torch.autograd.grad(made.distance(q, p, metric).sum(), (p, q))
    for one, other in zip(forth, back, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
    p, q = p.detach(), q.detach()
    for at, to, grad in ((p, q, forth[0]), (q, p, forth[1])):
        slope = made.inner(at, made.riemannian_gradient(at, grad), made.log(at, to))
        torch.testing.assert_close(slope, -made.distance(p, q, metric))  # norms are homogeneous of degree one


@pytest.mark.parametrize("text", SPACES)
def test_inference_mode_changes_nothing(text):
    made = space(text)

    def results():
        p, q = points(made, 2, seed=4)
        X = made.random_tangent(p, seed=5)
        found = [made.distance(p, q), made.log(p, q), made.exp(p, X), made.transport(p, q, X)]
        return [
            *found,
            made.riemannian_gradient(p, X),
            made.mean(torch.stack([p, q])),
            Points(made, 3, seed=6)(),
        ]

    with torch.inference_mode():
        inside = results()
    for ours, expected in zip(inside, results(), strict=True):
        torch.testing.assert_close(ours, expected.detach(), rtol=1e-13, atol=1e-13)


SMOOTH = ("exp", "retract", "inner", "riemannian_gradient", "reflect")  # no spectral function in them
SPECTRAL = ("distance", "log", "transport")
OF_MATRICES = ("upper", "bounded", "dual", "interpolated", "pd", "ball", "antisymmetric")


@pytest.mark.parametrize("operation", SMOOTH + SPECTRAL)
@pytest.mark.parametrize("text", SPACES)
def test_second_derivatives_are_right_or_refused(text, operation):
    """Against differences of the first ones; never a part of the truth."""
    made = space(text)
    p, q = points(made, 2, seed=5)
    X = tangent(made, p, 0.5, seed=6)
    weights = torch.Generator().manual_seed(7)
    calls = {
        "exp": lambda at: made.exp(at, X),
        "retract": lambda at: made.retract(at, X),
        "inner": lambda at: made.inner(at, X, X),
        "riemannian_gradient": lambda at: made.riemannian_gradient(at, X),
        "reflect": lambda at: made.reflect(at, q),
        "distance": lambda at: made.distance(at, q, "riemannian"),
        "log": lambda at: made.log(at, q),
        "transport": lambda at: made.transport(at, q, X),
    }
    mixed = torch.randn(calls[operation](p).shape, generator=weights, dtype=torch.float64)
    E, F = (made.structured(torch.randn(p.shape, generator=weights, dtype=torch.float64)) for _ in range(2))

    def slope(at):
        value = (calls[operation](at) * mixed).sum() + 0 * at.sum()
        return (torch.autograd.grad(value, at, create_graph=True)[0] * F).sum()

    at = p.clone().requires_grad_()
    first = slope(at) + 0 * at.sum()
    if operation in SPECTRAL and any(name in text for name in OF_MATRICES):
        with pytest.raises(RuntimeError, match="differentiated once"):
            torch.autograd.grad(first, at)
        return
    (second,) = torch.autograd.grad(first, at)
    ends = [float(slope((p + h * E).requires_grad_()).detach()) for h in (1e-5, -1e-5)]
    assert float((second * E).sum()) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-6)


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_seeds_reproduce(text):
    made = space(text)
    p = points(made, 4, seed=7)
    assert torch.equal(p, points(made, 4, seed=7)) and not torch.equal(p, points(made, 4, seed=8))
    assert torch.equal(points(made, (2, 2), seed=7).flatten(0, 1), p)
    torch.testing.assert_close(points(made, 4, seed=7, dtype=torch.float32), p.float(), rtol=0, atol=1e-6)
    assert torch.equal(made.random_tangent(p, seed=1), made.random_tangent(p, seed=1))
    assert not torch.equal(made.random_tangent(p, seed=1), made.random_tangent(p, seed=2))
    g, h = (made.random_isometry(seed=3) for _ in range(2))
    assert torch.equal(made.act(g, p), made.act(h, p))
    assert not torch.equal(made.act(made.random_isometry(seed=4), p), made.act(g, p))
    state = torch.random.get_rng_state()
    assert not torch.equal(made.random_points(2), made.random_points(2))
    assert torch.equal(torch.random.get_rng_state(), state)  # torch's own generator is left alone


@pytest.mark.parametrize("spread", [1e-3, 0.1, 0.5])
@pytest.mark.parametrize("text", SPACES)
def test_random_points_have_their_spread(text, spread):
    made = space(text)
    spread = spread * reachable(made)
    p = made.random_points(600, spread=spread, seed=1, dtype=torch.float64)
    squares = made.distance(made.basepoint(dtype=torch.float64), p, "riemannian").square()
    assert float(squares.mean().sqrt()) == pytest.approx(spread, rel=0.1)
    center = made.mean(p[:200])
    assert float(made.distance(made.basepoint(dtype=torch.float64), center, "riemannian")) < 0.2 * spread


@pytest.mark.parametrize("text", SPACES)
def test_random_tangents_are_isotropic(text):
    made = space(text)
    p = points(made, 1, seed=2)[0].expand(1500, *made.point_shape)
    X = made.random_tangent(p, seed=3)
    assert float(made.inner(p, X, X).mean()) == pytest.approx(made.dim, rel=0.1)
    gram = made.inner(p[0], X[:300, None], X[None, :300])
    values = torch.linalg.eigvalsh(gram)
    assert (
        int((values > 1e-6 * values[-1]).sum()) == made.dim
    )  # they span the tangent space, and nothing more
    for Y in X[:3]:  # the variance in every direction is the same: E ⟨X, Y⟩² = ⟨Y, Y⟩
        variance = made.inner(p[3:], X[3:], Y.expand_as(X[3:])).square().mean()
        assert float(variance) == pytest.approx(float(made.inner(p[0], Y, Y)), rel=0.25)


def test_the_default_dtype_is_torchs():
    made = space("upper(2)")
    assert made.random_points(2).dtype == made.basepoint().dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert made.random_points(2).dtype == made.basepoint().dtype == torch.float64
        assert made.distance(*made.random_points(2, seed=0).float()).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


# ── isometries ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_isometries_carry_all_of_the_geometry(text):
    made = space(text)
    p, q = points(made, (2, 3))
    g = made.random_isometry(seed=4, spread=reachable(made))
    gp, gq = made.act(g, p), made.act(g, q)
    assert float((gp - p).abs().max()) > 1e-2
    torch.testing.assert_close(made.vector_distance(gp, gq), made.vector_distance(p, q))
    X = made.log(p, q)
    torch.testing.assert_close(made.inner(gp, made.log(gp, gq), made.log(gp, gq)), made.inner(p, X, X))
    torch.testing.assert_close(
        made.act(g, made.geodesic(p, q, 0.3)), made.geodesic(gp, gq, 0.3), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(made.act(g, made.reflect(p, q)), made.reflect(gp, gq), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(made.act(g, made.mean(p)), made.mean(gp), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("text", SPACES)
def test_inverses_undo_isometries(text):
    made = space(text)
    p = points(made, 3)
    q, steps = p, made.random_isometry(seed=4, spread=reachable(made)).motion
    for step in reversed(steps):
        q = made.move(step, q)
    assert float((q - p).abs().max()) > 1e-2
    for step in steps:
        q = made.move(made.inverse(step), q)
    torch.testing.assert_close(q, p, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("text", CURVED_DOWN)
def test_isometries_move_the_basepoint_by_their_spread(text):
    made = space(text)
    o = made.basepoint(dtype=torch.float64)
    moved = torch.stack([made.act(made.random_isometry(seed=s, spread=0.5), o) for s in range(60)])
    mean_square = made.distance(o, moved, "riemannian").square().mean()
    assert float(mean_square.sqrt()) == pytest.approx(0.5, rel=0.3)


# ── curves ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_geodesics_broadcast_in_time(text):
    made = space(text)
    p, q = points(made, (2, 3))
    times = torch.linspace(0, 1, 5, dtype=torch.float64)
    curve = made.geodesic(p[0], q[0], times)
    assert curve.shape == (5, *made.point_shape)
    torch.testing.assert_close(curve[0], p[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(curve[-1], q[0], rtol=1e-10, atol=1e-10)
    assert made.geodesic(p, q, times[:, None]).shape == (5, 3, *made.point_shape)
    torch.testing.assert_close(made.geodesic(p, q, times[:, None])[:, 0], curve)
    torch.testing.assert_close(
        made.geodesic(p, q, torch.tensor([0.0, 0.5, 1.0]))[1], made.geodesic(p[1], q[1], 0.5)
    )
    middle = made.geodesic(p, q, 0.5)
    torch.testing.assert_close(
        made.distance(p, middle, "f1"), made.distance(middle, q, "f1"), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(made.reflect(middle, p), q, rtol=1e-8, atol=1e-8)
    beyond = made.geodesic(p, q, -1.0)  # extrapolated: the reflection of q at p
    torch.testing.assert_close(beyond, made.reflect(p, q), rtol=1e-8, atol=1e-8)


LONG = [  # spaces without an end, and tangent lengths up to 5
    pytest.param(text, length, id=f"{text}-{length}") for text in CURVED_DOWN for length in (1e-6, 1.0, 5.0)
]


@pytest.mark.parametrize("far", [1.0, 6.0, 12.0])
@pytest.mark.parametrize("text", CURVED_DOWN)
def test_the_differential_of_log_is_the_inverse_of_that_of_exp(text, far):
    """At o, where components of v are nearly equal: ξ → ⟨log_o(exp_o(ξ)), η⟩ has the gradient η."""
    made = space(text)
    o, length = made.origin(), made.chamber.length
    v = far * made.v_scale / 2 if isinstance(made, MatrixBall) else far
    nearly = v * torch.linspace(1, 0.9, length, dtype=torch.float64)
    if made.rank < length:
        nearly = nearly - nearly.mean()
    xi = made.flat_o(nearly).requires_grad_()
    eta = tangent(made, o, 1.0, seed=7)
    (gradient,) = torch.autograd.grad((made.log_o(made.exp_o(xi)) * eta).sum(), xi)
    torch.testing.assert_close(made.pull(o, gradient), eta, rtol=0, atol=1e-13 * math.exp(1.2 * far))


@pytest.mark.parametrize("text, length", LONG)
def test_log_is_the_inverse_of_exp(text, length):
    """To 1e-9, relative to |X| in the metric at p."""
    made = space(text)
    p = points(made, 20, seed=5)
    X = tangent(made, p, length, seed=6)
    error = made.log(p, made.exp(p, X)) - X
    assert float(made.inner(p, error, error).clamp(min=0).sqrt().max()) < 1e-9 * max(length, 1)
    torch.testing.assert_close(
        made.distance(p, made.exp(p, X), "riemannian"),
        torch.full((20,), length).double(),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("text, error", [("upper(1)", 1e-12), ("upper(2)", 2e-8), ("hyperbolic(3)", 1e-12)])
def test_log_keeps_the_digits_that_far_points_still_have(text, error):
    """At distance 20 the imaginary part of a point is e^-20 beside a real part of 1: it must not be a difference."""
    made = space(text)
    p = points(made, 50, seed=3)
    X = tangent(made, p, 20.0, seed=4)
    off = made.log(p, made.exp(p, X)) - X
    assert float(made.inner(p, off, off).clamp(min=0).sqrt().max()) < 20 * error


@pytest.mark.parametrize("text, length", LONG)
def test_geodesics_have_constant_speed(text, length):
    made = space(text)
    p = points(made, 10, seed=7)
    q = made.exp(p, tangent(made, p, length, seed=8))
    for t in (0.1, 0.5, 0.9):
        at = made.geodesic(p, q, t)
        assert float((made.distance(p, at, "riemannian") - t * length).abs().max()) < 1e-9 * max(length, 1)
        assert float((made.distance(at, q, "riemannian") - (1 - t) * length).abs().max()) < 1e-9 * max(
            length, 1
        )


@pytest.mark.parametrize("text, length", LONG)
def test_transport_is_isometric(text, length):
    """To 1e-10: lengths and angles of vectors carried over a distance of up to 5."""
    made = space(text)
    p = points(made, 10, seed=9)
    q = made.exp(p, tangent(made, p, length, seed=10))
    X, Y = (tangent(made, p, 1.0, seed=s) for s in (11, 12))
    there = [made.transport(p, q, V) for V in (X, Y)]
    for one, other in [(0, 0), (0, 1), (1, 1)]:
        before = made.inner(p, (X, Y)[one], (X, Y)[other])
        assert float((made.inner(q, there[one], there[other]) - before).abs().max()) < 1e-10
    back = made.transport(q, p, there[0]) - X
    assert float(made.inner(p, back, back).clamp(min=0).sqrt().max()) < 1e-8


@pytest.mark.parametrize("text", ["dual(2)", "sphere(3)", "ball(2, 3, k=2)", 'ball(1, 2, field="H", k=1)'])
def test_compact_spaces_up_to_their_cut_locus(text):
    made = space(text)
    o = made.basepoint(dtype=torch.float64)
    for share in (0.5, 0.9, 0.99):
        v = torch.linspace(1, 0.3, made.chamber.length, dtype=torch.float64) * share * made.reach()
        q = made.exp(o, made.flat_o(v))
        torch.testing.assert_close(made.vector_distance(o, q), v, rtol=1e-10, atol=0)
        torch.testing.assert_close(made.log(o, q), made.flat_o(v), rtol=1e-9, atol=1e-9)
    first = torch.eye(made.chamber.length, dtype=torch.float64)[0]
    past = made.exp(o, made.flat_o(1.5 * made.reach() * first))  # the other way round is shorter
    torch.testing.assert_close(
        made.vector_distance(o, past), 0.5 * made.reach() * first, rtol=1e-9, atol=1e-9
    )


def test_log_at_the_cut_locus_is_refused_with_a_reason():
    sphere = space("sphere(2)")
    o = sphere.basepoint(dtype=torch.float64)
    for call in (
        lambda: sphere.log(o, -o),
        lambda: sphere.geodesic(o, -o, 0.5),
        lambda: sphere.log(torch.stack([o, o]), torch.stack([o, -o])),
    ):
        with pytest.raises(ValueError, match=r"sphere\(2\).*cut locus") as caught:
            call()
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["sphere(2)", "dual(1)"])
def test_transport_to_the_cut_locus_is_refused_with_a_reason(text):
    made = space(text)
    o = made.basepoint(dtype=torch.float64)
    p, q = (o, -o) if text == "sphere(2)" else (o + torch.tensor([1.0, 0.0]), o - torch.tensor([1.0, 0.0]))
    with pytest.raises(ValueError, match="cut locus"):
        made.transport(p, q, made.random_tangent(p, seed=0))


def test_log_at_the_cut_locus_of_a_dual():
    """p and q with Id + kp*q singular: no unique geodesic, whatever the frame of p."""
    dual = space("dual(1)")
    o = dual.basepoint(dtype=torch.complex128)
    for z in (0.5, 1.0, 2.0j):
        p = o + z
        q = -1 / p.conj()  # the antipode
        assert float(dual.distance(p, q)) == pytest.approx(torch.pi, rel=1e-7)
        with pytest.raises(ValueError, match="cut locus"):
            dual.log(p, q)


# ── means ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_the_mean_of_two_points_lies_between_them(text):
    made = space(text)
    p, q = points(made, 2)
    pair = torch.stack([p, q])
    torch.testing.assert_close(made.mean(pair), made.geodesic(p, q, 0.5), rtol=1e-8, atol=1e-8)
    weights = torch.tensor([1.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(made.mean(pair, weights), made.geodesic(p, q, 0.75), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(made.mean(pair, 7 * weights), made.mean(pair, weights), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(made.mean(pair, torch.tensor([1, 0])), p, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(made.mean(pair[:1]), p, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", SPACES)
def test_the_mean_minimises_the_weighted_squares(text):
    made = space(text)
    p = points(made, 6, seed=13)
    weights = torch.tensor([3.0, 1.0, 0.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    center = made.mean(p, weights)
    logs = made.log(center.expand_as(p), p) * weights.reshape(-1, *[1] * len(made.point_shape))
    pull = made.project_tangent(center, logs.sum(0))
    assert float(made.inner(center, pull, pull).sqrt()) < 1e-9

    def cost(at):
        return float((weights * made.distance(at, p, "riemannian").square()).sum())

    for seed in range(4):
        assert cost(made.exp(center, tangent(made, center, 0.05, seed))) > cost(center)


def test_the_mean_of_a_batch_is_the_mean_of_each():
    made = space("upper(2)")
    p = made.random_points((5, 3), seed=0, dtype=torch.float64)
    each = torch.stack([made.mean(p[:, i]) for i in range(3)])
    torch.testing.assert_close(made.mean(p), each, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("text", ["upper(2)", "hyperbolic(3)", "spd(3)"])
def test_the_mean_of_far_points_converges(text):
    made = space(text)
    p = made.random_points(8, spread=6.0, seed=1, dtype=torch.float64)
    center = made.mean(p)
    pull = made.project_tangent(center, made.log(center.expand_as(p), p).mean(0))
    assert float(made.inner(center, pull, pull).sqrt()) < 1e-7


def test_means_in_matrix_spaces_by_hand():
    """Diagonal matrices: the geometric mean, entry by entry."""
    made = space("spd(2)")
    entries = torch.tensor([[1.0, 4.0], [9.0, 1.0], [3.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(made.mean(entries.diag_embed()), entries.log().mean(0).exp().diag())


# ── projection ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_projections_land_inside_at_their_margin(text, dtype):
    made = space(text)
    noise = 5 * torch.randn(30, *made.point_shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    noise = torch.cat([noise, torch.zeros_like(noise[:1]), -noise[:1], 1e-6 * noise[:2]])
    for margin in (0.0, 1e-3, 0.3):
        inside = made.project(noise, margin=margin)
        assert inside.dtype == dtype and inside.isfinite().all()
        assert made.why_not(inside) is None
        again = made.project(inside, margin=margin)
        torch.testing.assert_close(again, inside, rtol=1e-5 if dtype == torch.float32 else 1e-9, atol=1e-6)
        assert made.distance(inside[:1], inside).isfinite().all()
    p = points(made, 5, dtype=dtype)
    torch.testing.assert_close(made.project(p), p, rtol=1e-6, atol=1e-6)


def test_the_margin_is_relative_to_the_boundary():
    ball = space("ball(2, 3, k=-4)")
    noise = 5 * torch.randn(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.linalg.svdvals(ball.project(noise, margin=0.1)).tolist() == pytest.approx([0.45, 0.45])
    spd = space("spd(2)")
    p = torch.diag(torch.tensor([10.0, -1.0], dtype=torch.float64))
    torch.testing.assert_close(spd.project(p, margin=0.1), torch.diag(torch.tensor([10.0, 1.0]).double()))
    kept = torch.diag(torch.tensor([10.0, 1.5], dtype=torch.float64))
    assert torch.equal(spd.project(kept, margin=0.1), kept)
    lopsided = torch.tensor([[2.0, 1.0], [0.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(spd.project(lopsided), (lopsided + lopsided.mT) / 2)
    one = space("spd(2, det=1)").project(torch.diag(torch.tensor([8.0, 2.0], dtype=torch.float64)))
    torch.testing.assert_close(one, torch.diag(torch.tensor([2.0, 0.5], dtype=torch.float64)))


@pytest.mark.parametrize("text", SPACES)
def test_projections_have_their_gradients(text):
    """Through no eigenvector: inside, outside, and where all eigen- or singular values are equal."""
    made = space(text)
    o = made.basepoint(dtype=torch.float64)
    noise = torch.randn(made.point_shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    equal = made.flat_o(torch.ones(made.chamber.length, dtype=torch.float64))
    weights = torch.randn(made.point_shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    for raw in (o, points(made, 1)[0], 3 * noise, 3 * equal, 0.1 * equal - 3 * o):
        raw = raw.clone().requires_grad_()
        made.project(raw, margin=0.1).sum().backward()
        assert raw.grad.isfinite().all()
    raw = (3 * noise).requires_grad_()
    (gradient,) = torch.autograd.grad((made.project(raw, margin=0.1) * weights).sum(), raw)
    for seed in range(3):
        E = torch.randn(raw.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        ends = [(made.project(raw.detach() + h * E, margin=0.1) * weights).sum() for h in (1e-6, -1e-6)]
        assert float((gradient * E).sum()) == pytest.approx(float(ends[0] - ends[1]) / 2e-6, abs=1e-7)


# ── single precision, far and degenerate points ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_single_precision_is_double_precision_rounded(text):
    made = space(text)
    p, q = points(made, (2, 5), dtype=torch.float32)
    wide = made.distance(p.double(), q.double())
    assert torch.equal(made.distance(p, q), wide.float())
    X = made.log(p, q)
    torch.testing.assert_close(made.exp(p, X), made.exp(p.double(), X.double()).float(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("text", SPACES)
def test_pairs_drawn_at_every_degeneracy_stay_finite(text):
    """Equal points, points on a wall of the chamber, rank-deficient differences, hair's breadths, far points."""
    made = space(text)
    o = made.basepoint(dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    far = min(30.0, 0.45 * made.reach())
    for dtype in (torch.float64, torch.float32):
        vectors = []
        for _ in range(40):
            v = torch.rand(made.chamber.length, generator=generator, dtype=torch.float64)
            kind = int(torch.randint(5, (1,), generator=generator))
            size = far * float(10 ** (-12 * torch.rand(1, generator=generator)))
            v = [v, v * 0 + 1, (v > 0.5).double(), v * 0, v.round(decimals=1)][kind] * size
            vectors.append(made.chamber.fold(v))
        v = torch.stack(vectors)
        if "det" in text:
            v = v - v.mean(-1, keepdim=True)
        if dtype == torch.float32:
            v = v * min(1.0, 8.0 / far)
        p = made.project(made.exp(o, made.flat_o(v)).to(dtype))
        q = made.project(points(made, 40, seed=1).to(dtype))
        q[::2] = p[::2]
        for metric in ("riemannian", "f1", "finf"):
            a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
            value = made.distance(a, b, metric)
            value.sum().backward()
            assert value.isfinite().all() and a.grad.isfinite().all() and b.grad.isfinite().all(), metric
            G = made.riemannian_gradient(p, a.grad)
            size = made.inner(p, G, G) if G.abs().max() > 0 else torch.zeros(1)
            if metric == "riemannian":
                assert float(size.max()) < 1 + (1e-6 if dtype == torch.float64 else 0.2)
