"""The same point in another model: distances kept, round trips, and the models that are no spaces of ours by hand."""

import pytest
import torch

from weyl import convert, space
from weyl.geometry.convert import path

ISOMETRIC = [
    ("upper(1)", "bounded(1)"),
    ("upper(3)", "bounded(3)"),
    ("upper(1)", "hyperbolic(2)"),
    ("upper(2)", "interpolated(2, k=-1)"),
    ("bounded(1)", 'ball(1, 1, field="C")'),
    ("bounded(1)", "hyperbolic(2)"),
    ("bounded(1)", "ball(1, 2)"),
    ("dual(2)", "interpolated(2, k=1)"),
    ("hyperbolic(1)", "ball(1, 1)"),
    ("hyperbolic(2)", "ball(1, 2)"),
    ("hyperbolic(4)", "ball(1, 4)"),
    ("complex_hyperbolic(2)", 'ball(1, 2, field="C")'),
    ("complex_hyperbolic(1)", "upper(1)"),
    ("quaternionic_hyperbolic(2)", 'ball(1, 2, field="H")'),
]
BOTH_WAYS = [pair for one, other in ISOMETRIC for pair in ((one, other), (other, one))]
EMBEDDINGS = {  # (source, target): what becomes of v
    ("upper(2)", "spd(4)"): lambda v: torch.cat([v, -v.flip(-1)], -1),
    ("bounded(2)", "spd(4)"): lambda v: torch.cat([v, -v.flip(-1)], -1),
    ("spd(2)", "upper(2)"): lambda v: v.abs().sort(-1, descending=True).values,
    ("spd(3, det=1)", "spd(3)"): lambda v: v,
    ("hpd(2)", "spd(4)"): lambda v: v.repeat_interleave(2, -1),
    ("hpd(2, det=1)", "hpd(2)"): lambda v: v,
    ("qpd(2)", "hpd(4)"): lambda v: v.repeat_interleave(2, -1),
    ("qpd(2, det=1)", "spd(8)"): lambda v: v.repeat_interleave(4, -1),
}


def draw(text, count=4, spread=1.0, seed=0, dtype=torch.float64):
    return space(text).random_points((2, count), spread=spread, seed=seed, dtype=dtype)


@pytest.mark.parametrize("source, target", BOTH_WAYS)
def test_vector_distances_are_kept(source, target):
    points = draw(source)
    moved = convert(points, source, target)
    assert moved.shape == (2, 4, *space(target).point_shape) and moved.dtype == torch.float64
    assert space(target).why_not(moved) is None
    torch.testing.assert_close(space(target).vector_distance(*moved), space(source).vector_distance(*points))
    back = convert(moved, target, source)
    torch.testing.assert_close(back, points, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("source, target", EMBEDDINGS)
def test_embeddings_change_vector_distances_as_they_say(source, target):
    points = draw(source, spread=0.7)
    moved = convert(points, source, target)
    assert space(target).why_not(moved) is None
    expected = EMBEDDINGS[source, target](space(source).vector_distance(*points))
    torch.testing.assert_close(space(target).vector_distance(*moved), expected)


@pytest.mark.parametrize("metric, factor", [("riemannian", 2**0.5), ("f1", 2), ("finf", 1)])
def test_siegel_space_in_positive_definite_matrices_grows_by_the_stated_factor(metric, factor):
    points = draw("upper(2)")
    moved = convert(points, "upper(2)", "spd(4)")
    torch.testing.assert_close(
        space("spd(4)").distance(*moved, metric), factor * space("upper(2)").distance(*points, metric)
    )
    assert space("spd(4, det=1)").why_not(moved) is None
    J = torch.zeros(4, 4, dtype=torch.float64)
    J[:2, 2:], J[2:, :2] = torch.eye(2), -torch.eye(2)
    torch.testing.assert_close(moved @ J @ moved, J.expand_as(moved))  # symplectic
    logarithm = space("spd(4)").log(torch.eye(4, dtype=torch.float64).expand_as(moved), moved)
    U, V = logarithm[..., :2, :2], logarithm[..., :2, 2:]  # [[U, V], [V, -U]]: the flat features
    torch.testing.assert_close(logarithm[..., 2:, 2:], -U)
    torch.testing.assert_close(V, V.mT)


# ── the formulas, by hand ────────────────────────────────────────────────────────────────────────────────────────
def test_cayley_at_known_points():
    one = torch.eye(2, dtype=torch.complex128)
    torch.testing.assert_close(convert(1j * one, "upper(2)", "bounded(2)"), 0 * one)
    torch.testing.assert_close(convert(3j * one, "upper(2)", "bounded(2)"), 0.5 * one)
    torch.testing.assert_close(convert((1 + 1j) * one, "upper(2)", "bounded(2)"), one / (1 + 2j))
    torch.testing.assert_close(convert(0.5 * one, "bounded(2)", "upper(2)"), 3j * one)


def test_the_basepoint_goes_to_the_basepoint():
    for source, target in [*BOTH_WAYS, *EMBEDDINGS]:
        o = space(source).basepoint(dtype=torch.float64)
        torch.testing.assert_close(
            convert(o, source, target), space(target).basepoint(dtype=torch.float64), rtol=0, atol=1e-15
        )


def test_the_hyperboloid():
    points = draw("hyperbolic(3)", spread=2.0)
    sheet = convert(points, "hyperbolic(3)", "hyperboloid(3)")
    assert sheet.shape == (2, 4, 4)
    form = torch.tensor([1.0, -1.0, -1.0, -1.0], dtype=torch.float64)
    torch.testing.assert_close((form * sheet * sheet).sum(-1), torch.ones(2, 4, dtype=torch.float64))
    distances = torch.acosh((form * sheet[0] * sheet[1]).sum(-1))
    torch.testing.assert_close(space("hyperbolic(3)").distance(*points), distances)
    torch.testing.assert_close(convert(sheet, "hyperboloid(3)", "hyperbolic(3)"), points)
    x, log_y = 0.7, 0.4
    (t, a, b) = convert(
        torch.tensor([x, log_y], dtype=torch.float64), "hyperbolic(2)", "hyperboloid(2)"
    ).tolist()
    y = torch.tensor(log_y).double().exp().item()
    assert (t, a, b) == pytest.approx(((1 + x * x + y * y) / (2 * y), x / y, (x * x + y * y - 1) / (2 * y)))


def test_the_poincare_ball():
    points = draw("hyperbolic(3)", spread=2.0)
    p, q = convert(points, "hyperbolic(3)", "poincare_ball(3)")
    assert (p.norm(dim=-1) < 1).all()
    ratio = (p - q).square().sum(-1) / ((1 - p.square().sum(-1)) * (1 - q.square().sum(-1)))
    torch.testing.assert_close(space("hyperbolic(3)").distance(*points), torch.acosh(1 + 2 * ratio))
    back = convert(torch.stack([p, q]), "poincare_ball(3)", "hyperbolic(3)")
    torch.testing.assert_close(back, points)


def test_models_of_hyperbolic_space_one_from_another():
    p = 0.3 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sheet = convert(p, "poincare_ball(3)", "hyperboloid(3)")
    square = p.square().sum(-1, keepdim=True)
    torch.testing.assert_close(sheet, torch.cat([1 + square, 2 * p], -1) / (1 - square))
    klein = convert(p, "poincare_ball(3)", "ball(1, 3)")
    torch.testing.assert_close(klein, (2 * p / (1 + square)).unsqueeze(-2))
    torch.testing.assert_close(convert(klein, "ball(1, 3)", "poincare_ball(3)"), p)


def test_far_points_of_the_hyperboloid_keep_their_heights():
    """(t, x, z) → y = 1/(t - z): the difference cancels where z > 0, and is not formed there."""
    for log_y in (-12.0, 12.0):
        p = torch.tensor([0.5, log_y], dtype=torch.float64)
        back = convert(convert(p, "hyperbolic(2)", "hyperboloid(2)"), "hyperboloid(2)", "hyperbolic(2)")
        assert back.tolist() == pytest.approx([0.5, log_y], rel=1e-10)


def test_the_sphere_covers_its_ball_twice():
    """Gnomonic: x and -x are one point of ball(1, n, k=1), so d becomes the smaller of d and π - d."""
    points = space("sphere(2)").random_points((2, 40), spread=3.0, seed=0, dtype=torch.float64)
    points = points[:, (points[..., 0].abs() > 0.05).all(0)]
    moved = convert(points, "sphere(2)", "ball(1, 2, k=1)")
    torch.testing.assert_close(convert(-points, "sphere(2)", "ball(1, 2, k=1)"), moved)
    d = space("sphere(2)").distance(*points)
    torch.testing.assert_close(space("ball(1, 2, k=1)").distance(*moved), torch.minimum(d, torch.pi - d))
    assert (d > torch.pi / 2).any() and (d < torch.pi / 2).any()


def test_siegel_to_spd_by_hand():
    Z = torch.tensor([[[2.0, 3.0]]], dtype=torch.float64)  # 2 + 3i
    expected = torch.tensor([[3 + 4 / 3, 2 / 3], [2 / 3, 1 / 3]], dtype=torch.float64)
    torch.testing.assert_close(convert(Z, "upper(1)", "spd(2)"), expected)


# ── forms and dtypes ─────────────────────────────────────────────────────────────────────────────────────────────
def test_complex_comes_back_complex_and_real_comes_back_real():
    p = space("upper(2)").random_points(3, seed=0, dtype=torch.complex128)
    moved = convert(p, "upper(2)", "bounded(2)")
    assert moved.dtype == torch.complex128 and moved.shape == (3, 2, 2)
    real = convert(torch.view_as_real(p), "upper(2)", "bounded(2)")
    assert real.dtype == torch.float64 and torch.equal(torch.view_as_real(moved), real)
    assert convert(p, "upper(2)", "spd(4)").dtype == torch.float64
    point = p[0, :1, :1].imag.abs() * 1j
    assert convert(point, "upper(1)", "hyperbolic(2)").dtype == torch.float64


@pytest.mark.parametrize(
    "source, target", [("upper(2)", "bounded(2)"), ("hyperbolic(2)", "poincare_ball(2)")]
)
def test_single_precision_is_kept(source, target):
    p = draw(source, dtype=torch.float32)
    moved = convert(p, source, target)
    assert moved.dtype == torch.float32
    torch.testing.assert_close(moved.double(), convert(p.double(), source, target), rtol=0, atol=1e-6)
    assert convert(moved, target, source).dtype == torch.float32
    if space(source).complex_points:
        assert convert(torch.view_as_complex(p), source, target).dtype == torch.complex64


def test_the_same_model_changes_nothing():
    for text in ("upper(2)", "spd(3)", "product(upper(2), euclidean(1))", "antisymmetric(3)", "sphere(2)"):
        p = draw(text)
        assert torch.equal(convert(p, text, text), p)


def test_names_are_read_as_expressions():
    p = draw("ball(1, 2)")
    for text in ("ball(1,2)", "ball(1, 2, k=-1)", ' ball( 1, q=2, field="R" )', "ball(q=2, p=1)"):
        torch.testing.assert_close(
            convert(p, text, "hyperbolic(2)"), convert(p, "ball(1, 2)", "hyperbolic(2)")
        )
    assert torch.equal(convert(p, space("ball(1, 2)"), space("ball(1, 2)")), p)


def test_gradients_pass_through():
    p = draw("upper(2)")[0].requires_grad_()
    moved = convert(p, "upper(2)", "bounded(2)")
    q = convert(draw("upper(2)")[1], "upper(2)", "bounded(2)")
    (there,) = torch.autograd.grad(space("bounded(2)").distance(moved, q).sum(), p)
    (here,) = torch.autograd.grad(space("upper(2)").distance(p, draw("upper(2)")[1]).sum(), p)
    torch.testing.assert_close(there, here)


def test_paths_are_short():
    assert path("upper(2)", "upper(2)") == []
    assert [name for name, _ in path("upper(2)", "spd(4)")] == ["spd(4)"]
    assert [name for name, _ in path("qpd(1)", "spd(4)")] == ["hpd(2)", "spd(4)"]
    assert path("upper(2)", "euclidean(2)") is None


# ── what cannot be converted ─────────────────────────────────────────────────────────────────────────────────────
REFUSED = {
    "an unknown target": (torch.eye(2) + 0j, "bounded(2)", "lower(2)", "unknown space 'lower'"),
    "an unknown source": (torch.eye(2) + 0j, "uper(2)", "bounded(2)", "uper"),
    "another rank": (1j * torch.eye(2), "upper(2)", "bounded(3)", "no way from upper"),
    "no relation": (torch.eye(2), "spd(2)", "hyperbolic(2)", "no way from spd"),
    "a product": (torch.zeros(4), "product(upper(1), upper(1))", "upper(2)", "no way from product"),
    "a power": (torch.zeros(2, 2), "power(hyperbolic(2), 2)", "upper(2)", "no way from power"),
    "a curvature in between": (
        torch.zeros(2, 2) + 0j,
        "interpolated(2)",
        "bounded(2)",
        "no way from interpolated",
    ),
    "a name that is none": (torch.zeros(2, 2) + 0j, "interpolated(2)", "None(2)", "unknown space 'None'"),
    "half a bracket": (torch.eye(2), "spd(2", "upper(2)", "not closed"),
    "no text": (torch.eye(2), 3, "upper(2)", "expected"),
    "a model without a dimension": (torch.zeros(2), "poincare_ball", "hyperbolic(2)", "poincare_ball"),
    "a point outside the half space": (-1j * torch.eye(2), "upper(2)", "bounded(2)", "positive definite"),
    "a point outside the domain": (
        2 * torch.eye(2) + 0j,
        "bounded(2)",
        "upper(2)",
        "outside|at least 1|below 1",
    ),
    "a point outside Klein's ball": (
        torch.ones(1, 2),
        "ball(1, 2)",
        "hyperbolic(2)",
        "outside|at least 1|below 1",
    ),
    "a point outside Poincaré's ball": (torch.ones(2), "poincare_ball(2)", "hyperbolic(2)", "poincare_ball"),
    "a point off the hyperboloid": (torch.zeros(3), "hyperboloid(2)", "hyperbolic(2)", "hyperboloid"),
    "a wrong shape": (torch.zeros(5), "poincare_ball(2)", "hyperbolic(2)", "shape"),
    "a wrong shape of the hyperboloid": (torch.ones(2), "hyperboloid(2)", "hyperbolic(2)", "shape"),
    "a wrong shape of a space": (torch.zeros(3), "hyperbolic(2)", "upper(1)", "shape"),
    "NaN": (torch.full((2,), float("nan")), "poincare_ball(2)", "hyperbolic(2)", "NaN"),
    "NaN in a space": (torch.full((2,), float("nan")), "hyperbolic(2)", "upper(1)", "NaN"),
    "integers": (torch.zeros(2, dtype=torch.int64), "poincare_ball(2)", "hyperbolic(2)", "int64"),
    "half precision": (torch.zeros(2).half(), "poincare_ball(2)", "hyperbolic(2)", "float16"),
    "an array": (torch.zeros(2).numpy(), "poincare_ball(2)", "hyperbolic(2)", "tensor"),
    "the equator of a sphere": (
        torch.tensor([0.0, 1.0, 0.0]),
        "sphere(2)",
        "ball(1, 2, k=1)",
        "sphere|chart|equator",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_one_line(what):
    p, source, target, message = REFUSED[what]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        convert(p, source, target)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300
    assert what == "a name that is none" or "None" not in str(caught.value)


FAR_OUT = {
    "upper(2)": (1j + 1e12) * torch.eye(2).to(torch.complex128) + 1e12 * torch.ones(2, 2),
    "hyperbolic(3)": torch.tensor([0.0, 0.0, 60.0]),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize(
    "source, target",
    [
        ("upper(2)", "bounded(2)"),
        ("upper(2)", "spd(4)"),
        ("hyperbolic(3)", "ball(1, 3)"),
        ("hyperbolic(3)", "poincare_ball(3)"),
    ],
)
def test_points_too_far_out_for_the_target_are_refused(source, target, dtype):
    """Rounding would put them on the boundary, or beyond."""
    far = FAR_OUT[source].to(dtype.to_complex() if FAR_OUT[source].is_complex() else dtype)
    assert space(source).why_not(far) is None
    with pytest.raises(ValueError, match=r"^convert: .*cannot hold points as far out") as caught:
        convert(far, source, target)
    assert target in str(caught.value) and str(caught.value).isprintable()
