"""geoopt both ways: our spaces train with its optimisers, its manifolds compute as spaces of ours."""

import subprocess
import sys
import warnings

import pytest
import torch

import weyl
from weyl import LawBroken, check_space, convert, space
from weyl.geometry import product
from weyl.geometry.laws import LAWS, Sample

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # geoopt's use of torch.jit
    geoopt = pytest.importorskip("geoopt")
    from geoopt.manifolds.siegel.vvd_metrics import SiegelMetricType

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SPACES = [
    "upper(2)",
    "bounded(2)",
    "dual(2)",
    "spd(2)",
    "spd(3, det=1)",
    "hpd(2)",
    'ball(1, 2, field="H")',
    "antisymmetric(3)",
    "euclidean(3)",
    "hyperbolic(3)",
    "sphere(3)",
    "product(upper(2), hyperbolic(3))",
    "power(spd(2), 2)",
]


def draw(made, count, seed=0, dtype=torch.float64):
    return made.random_points(count, spread=min(1.0, made.reach() / 8), seed=seed, dtype=dtype)


# ── our spaces for geoopt ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("text", SPACES)
def test_a_manifold_computes_what_the_space_computes(text):
    manifold, made = weyl.geoopt_manifold(text), space(text)
    p, q = draw(made, (2, 4))
    X, Y = (made.random_tangent(p, seed=seed) / 4 for seed in (1, 2))
    assert isinstance(manifold, geoopt.Manifold) and manifold.name == text
    assert torch.equal(manifold.dist(p, q), made.distance(p, q))
    assert torch.equal(manifold.inner(p, X, Y), made.inner(p, X, Y))
    assert torch.equal(manifold.inner(p, X), made.inner(p, X, X))
    torch.testing.assert_close(manifold.expmap(p, X), made.exp(p, X))
    torch.testing.assert_close(manifold.retr(p, X), made.retract(p, X))
    torch.testing.assert_close(manifold.logmap(p, q), made.log(p, q))
    torch.testing.assert_close(manifold.transp(p, q, X), made.transport(p, q, X))
    torch.testing.assert_close(manifold.egrad2rgrad(p, X), made.riemannian_gradient(p, X))
    assert torch.equal(manifold.projx(p), made.project(p))
    kept = (4, *[1] * len(made.point_shape))
    assert (
        manifold.inner(p, X, Y, keepdim=True).shape == kept
        and manifold.dist(p, q, keepdim=True).shape == kept
    )
    assert manifold.norm(p, X).shape == (4,)
    torch.testing.assert_close(manifold.norm(p, X).square(), made.inner(p, X, X))


@pytest.mark.parametrize("text", SPACES)
def test_a_manifold_checks_points_and_tangent_vectors(text):
    manifold, made = weyl.geoopt_manifold(text), space(text)
    p = draw(made, 3)
    X = made.random_tangent(p, seed=3)
    assert manifold.check_point_on_manifold(p) and manifold.check_vector_on_tangent(p, X)
    manifold.assert_check_point_on_manifold(p)
    ok, reason = manifold.check_point_on_manifold(p * float("nan"), explain=True)
    assert not ok and "NaN" in reason
    noise = torch.randn(p.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    tangent = manifold.proju(p, noise)
    assert manifold.check_vector_on_tangent(p, tangent)
    torch.testing.assert_close(manifold.proju(p, tangent), tangent, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(manifold.proju(p, X), X, rtol=1e-10, atol=1e-10)
    if made.dim < noise[0].numel():
        assert not manifold.check_vector_on_tangent(p, noise)
        off = noise - tangent
        nearly = tangent * 1e3 + off * (
            2e-5 / off.abs().max()
        )  # off by less than the relative tolerance allows
        assert manifold.check_vector_on_tangent(p, nearly, explain=True) == (True, None)
    assert manifold.check_point_on_manifold(manifold.projx(noise))


@pytest.mark.parametrize("text", SPACES)
def test_a_manifold_draws_points(text):
    manifold, made = weyl.geoopt_manifold(text), space(text)
    size = (5, *made.point_shape)
    for points in (
        manifold.random(*size, seed=0, spread=0.1),
        manifold.random_naive(*size, spread=0.1),
        manifold.origin(*size),
    ):
        assert points.shape == size and manifold.check_point_on_manifold(points)
    assert torch.equal(manifold.origin(size), manifold.origin(*size))
    assert torch.equal(manifold.origin(*size)[0], made.basepoint())
    with pytest.raises(ValueError, match="expected a size ending in"):
        manifold.random(5, 7, 9)


def test_a_metric_can_be_chosen():
    p, q = draw(space("upper(2)"), 2)
    for metric in ("riemannian", "finf", "fmin"):
        manifold = weyl.geoopt_manifold("upper(2)", metric)
        assert torch.equal(manifold.dist(p, q), space("upper(2)").distance(p, q, metric))
    with pytest.raises(ValueError, match="no norm here"):
        weyl.geoopt_manifold("euclidean(2)", "fmin")


def test_what_is_learned_belongs_to_the_manifold():
    manifold = weyl.geoopt_manifold('interpolated(2, k="learn")', "weighted")
    assert len(list(manifold.parameters())) == 2
    p, q = draw(space("interpolated(2, k=-1)"), 2)
    manifold.dist(p, q).backward()
    assert all((parameter.grad != 0).any() for parameter in manifold.parameters())


def cycle_distortion(manifold, points):
    n = len(points)
    i, j = torch.triu_indices(n, n, offset=1)
    target = torch.minimum(j - i, n - (j - i)).to(points.dtype)
    return ((manifold.dist(points[i], points[j]) - target).abs() / target).mean()


@pytest.mark.parametrize(
    "text",
    ["upper(2)", "product(upper(1), hyperbolic(2), spd(2))", "spd(2, det=1)", "bounded(2)", "hyperbolic(2)"],
)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_training_with_geoopt_keeps_the_points_valid(text, optimizer):
    manifold, made = weyl.geoopt_manifold(text), space(text)
    start = made.random_points(6, spread=0.3, seed=0, dtype=torch.float64)
    points = geoopt.ManifoldParameter(start, manifold=manifold)
    if optimizer == "adam":
        optimizer = geoopt.optim.RiemannianAdam([points], lr=0.1)
    else:
        optimizer = geoopt.optim.RiemannianSGD([points], lr=0.2, momentum=0.5)
    before = float(cycle_distortion(manifold, points).detach())
    for _ in range(40):
        optimizer.zero_grad()
        cycle_distortion(manifold, points).backward()
        optimizer.step()
        assert made.why_not(points.detach().as_subclass(torch.Tensor)) is None
    after = float(cycle_distortion(manifold, points).detach())
    assert after < 0.6 * before
    if "det" in text:
        torch.testing.assert_close(
            torch.linalg.det(points.detach().as_subclass(torch.Tensor)), torch.ones(6).double()
        )


def test_training_in_single_precision_and_from_equal_points():
    manifold = weyl.geoopt_manifold("upper(2)")
    points = geoopt.ManifoldParameter(manifold.origin(4, 2, 2, 2).float(), manifold=manifold)
    with torch.no_grad():
        points[0] = draw(manifold.space, 1, dtype=torch.float32)[0]
    optimizer = geoopt.optim.RiemannianAdam([points], lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        cycle_distortion(manifold, points).backward()
        assert points.grad.isfinite().all()
        optimizer.step()
    assert points.dtype == torch.float32 and manifold.check_point_on_manifold(points)


def test_one_riemannian_step_by_hand():
    """SGD moves by the retraction of minus the Riemannian gradient."""
    manifold, made = weyl.geoopt_manifold("bounded(2)", "riemannian"), space("bounded(2)")
    p, q = draw(made, 2)
    points = geoopt.ManifoldParameter(p.clone(), manifold=manifold)
    manifold.dist(points, q).backward()
    G = made.riemannian_gradient(p, points.grad)
    geoopt.optim.RiemannianSGD([points], lr=0.1).step()
    torch.testing.assert_close(points.detach().as_subclass(torch.Tensor), made.retract(p, -0.1 * G))
    assert float(made.inner(p, G, G)) == pytest.approx(1)  # a distance has slope one


# ── geoopt's manifolds as spaces ─────────────────────────────────────────────────────────────────────────────────
MANIFOLDS = {  # manifold, point shape, dimension, complex; laws that geoopt itself does not keep to our tolerance
    "Euclidean": (geoopt.Euclidean(1), (3,), 3, False, set()),
    "Euclidean matrices": (geoopt.Euclidean(2), (2, 3), 6, False, set()),
    "PoincareBall": (geoopt.PoincareBall(), (3,), 3, False, {"retraction_is_of_second_order"}),
    "PoincareBall c=2": (geoopt.PoincareBall(c=2.0), (3,), 3, False, {"retraction_is_of_second_order"}),
    "SphereProjection": (geoopt.SphereProjection(), (2,), 2, False, {"retraction_is_of_second_order"}),
    "SymmetricPositiveDefinite": (geoopt.SymmetricPositiveDefinite(), (2, 2), 3, False, set()),
    "Lorentz": (geoopt.Lorentz(), (4,), 3, False,
                {"distance_to_itself_is_zero", "metric_is_the_distance_of_small_steps", "exp_and_log_are_inverse",
                 "retraction_is_of_second_order", "mean_is_where_the_logs_cancel"}),
    "Sphere": (geoopt.Sphere(), (3,), 2, False,
               {"distance_to_itself_is_zero", "metric_is_the_distance_of_small_steps", "exp_and_log_are_inverse",
                "transport_keeps_inner_products", "retraction_is_of_second_order", "mean_is_where_the_logs_cancel"}),
}  # fmt: skip


def as_space(name):
    return weyl.from_geoopt(*MANIFOLDS[name][:4])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", MANIFOLDS)
def test_a_geoopt_manifold_keeps_the_laws_it_can(name, dtype):
    sample, broken = Sample(as_space(name), dtype, 0), {}
    for law in LAWS:
        try:
            law(sample)
        except (LawBroken, ValueError) as error:
            broken[law.__name__] = str(error)
    assert set(broken) <= MANIFOLDS[name][4], broken


def test_check_space_takes_a_geoopt_manifold():
    assert check_space(as_space("Euclidean")) == [law.__name__ for law in LAWS]
    with pytest.raises(LawBroken, match="retraction_is_of_second_order"):
        check_space(as_space("PoincareBall"))


def test_distances_agree_with_ours():
    points = 0.3 * torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theirs = as_space("PoincareBall").distance(*points)
    ours = space("hyperbolic(3)").distance(*convert(points, "poincare_ball(3)", "hyperbolic(3)"))
    torch.testing.assert_close(theirs, ours)
    pair = space("spd(2)").random_points((2, 5), seed=0, dtype=torch.float64)
    torch.testing.assert_close(
        as_space("SymmetricPositiveDefinite").distance(*pair), space("spd(2)").distance(*pair, "riemannian")
    )


def test_complex_manifolds_of_geoopt():
    """Siegel space after geoopt: the vector distance has one component, so every metric is its F1."""
    theirs = weyl.from_geoopt(geoopt.UpperHalf(SiegelMetricType("fone")), (2, 2), 6, complex_points=True)
    ours = space("upper(2)")
    p, q = ours.random_points((2, 3), seed=0, dtype=torch.complex128)
    assert theirs.point_shape == (2, 2, 2) and theirs.complex_points
    torch.testing.assert_close(theirs.distance(p, q), ours.distance(p, q, "f1"), rtol=1e-4, atol=1e-5)
    assert torch.equal(theirs.distance(torch.view_as_real(p), torch.view_as_real(q)), theirs.distance(p, q))
    assert theirs.project(p).dtype == torch.complex128
    with pytest.raises(ValueError, match="geoopt offers no expmap here"):
        theirs.exp(p, p)


def test_what_geoopt_does_not_have_is_said():
    theirs = as_space("PoincareBall")
    assert (
        theirs.rank == 1 and theirs.dim == 3 and theirs.point_shape == (3,) and "PoincareBall" in repr(theirs)
    )
    with pytest.raises(ValueError, match="geoopt knows no isometries"):
        theirs.random_isometry(seed=0)
    with pytest.raises(ValueError, match="act takes an isometry of geoopt PoincareBall"):
        theirs.act(None, torch.zeros(3))
    with pytest.raises(TypeError, match=r"^from_geoopt: expected a geoopt.Manifold, got str$"):
        weyl.from_geoopt("PoincareBall", (3,), 3)
    with pytest.raises(ValueError, match=r"expected a space such as upper\(2\)"):
        product(theirs)
    with pytest.raises(ValueError, match=r"^Points: .* has no frames"):
        weyl.nn.Points(theirs, 3)


def test_a_wrapped_manifold_is_a_copy():
    """Computing in float64 must not change the user's own manifold."""
    manifold = geoopt.PoincareBall(c=1.0, learnable=True).float()
    theirs = weyl.from_geoopt(manifold, (2,), 2)
    assert manifold.c.dtype == torch.float32 and theirs.manifold.c.dtype == torch.float64


def test_points_outside_are_refused_by_number():
    theirs = as_space("PoincareBall")
    good, bad = torch.zeros(3, dtype=torch.float64), 2 * torch.ones(3, dtype=torch.float64)
    assert theirs.why_not(good) is None
    assert theirs.why_not(bad) is not None and theirs.why_not(bad).isprintable()
    with pytest.raises(ValueError, match="PoincareBall"):
        theirs.distance(good, bad)
    assert "point 2 of 3" in theirs.why_not(torch.stack([good, good, bad]))


def test_a_space_made_for_geoopt_comes_back():
    """There and back: the laws that need no frames hold."""
    again = weyl.from_geoopt(weyl.geoopt_manifold("upper(2)", "riemannian"), (2, 2, 2), 6)
    assert check_space(again) == [law.__name__ for law in LAWS]


def test_without_geoopt_the_message_says_how_to_get_it():
    program = "import sys; sys.modules['geoopt'] = None; import weyl; weyl.geoopt_manifold"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError") and "pip install 'weyl[geoopt]'" in last
