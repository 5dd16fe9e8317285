"""Functions of a curvature: value and both derivatives against many digits, through k = 0 and up to the cut locus."""

import mpmath as mp
import pytest
import torch

from accuracy import oracle
from weyl import space
from weyl.geometry import interpolated
from weyl.geometry.curved import SERIES_BELOW, arcsine, arctangent, polynomial

KS = [0.0]
for _size in (1e-290, 1e-30, 1e-12, 1e-6, 1e-3, 0.0099, 0.0101, 0.3, 1.0, 4.0):
    KS += [_size, -_size]
DIGITS = 60


def number(x):
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def exact_arcsine(s, k):
    root = mp.sqrt(abs(k))
    return s if k == 0 else (mp.asin(root * s) if k > 0 else mp.asinh(root * s)) / root


def exact_arctangent(t, k):
    root = mp.sqrt(abs(k))
    return t if k == 0 else (mp.atan(root * t) if k > 0 else mp.atanh(root * t)) / root


def slope_of_arcsine_in_k(s, k):
    """dθ/dk at a fixed sine; s³/6 at k = 0."""
    if abs(k * s * s) < mp.mpf("1e-12"):
        return s**3 / 6 + 3 * k * s**5 / 20
    return (s / mp.sqrt(1 - k * s * s) - exact_arcsine(s, k)) / (2 * k)


def slope_of_arctangent_in_k(t, k):
    if abs(k * t * t) < mp.mpf("1e-12"):
        return -(t**3) / 3 + 2 * k * t**5 / 5
    return (t / (1 + k * t * t) - exact_arctangent(t, k)) / (2 * k)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("s", [0.0, 1e-150, 1e-9, 1e-3, 0.0995, 0.1005, 0.3, 0.49, 0.99, 20.0])
def test_arcsine_and_its_derivatives(s, k):
    with mp.workdps(DIGITS):
        if k * s * s >= 1:
            return
        cosine = mp.sqrt(1 - mp.mpf(k) * mp.mpf(s) ** 2)
        value, in_k = exact_arcsine(mp.mpf(s), mp.mpf(k)), slope_of_arcsine_in_k(mp.mpf(s), mp.mpf(k))
    x, curvature = number(s), number(k)
    angle = arcsine(x, torch.tensor(float(cosine), dtype=torch.float64), curvature)
    angle.backward()
    assert float(angle.detach()) == pytest.approx(float(value), rel=4e-16, abs=1e-320)
    assert float(x.grad) == pytest.approx(float(1 / cosine), rel=1e-15)
    assert float(curvature.grad) == pytest.approx(float(in_k), rel=1e-12, abs=1e-320)


@pytest.mark.parametrize("k", [k for k in KS if k > 1e-10])
@pytest.mark.parametrize("cosine", [1e-3, 1e-9, 1e-15])
def test_arcsine_keeps_its_digits_at_the_cut_locus(cosine, k):
    """There θ = π/(2√k) - cosine/√k: the sine knows nothing of the second term, the cosine all."""
    angle = arcsine(number(k**-0.5), torch.tensor(cosine, dtype=torch.float64), number(k))
    left = torch.pi / 2 - float(angle.detach()) * k**0.5
    assert left == pytest.approx(cosine, rel=1e-6, abs=4e-16)


@pytest.mark.parametrize("k", [0.3, 1.0, 4.0])
def test_gradients_at_the_cut_locus_are_finite(k):
    sine, curvature = number(k**-0.5), number(k)
    angle = arcsine(sine, torch.tensor(0.0, dtype=torch.float64), curvature)
    angle.backward()
    assert float(angle.detach()) == pytest.approx(torch.pi / 2 / k**0.5, rel=1e-15)
    assert float(sine.grad) == 0 and curvature.grad.isfinite()


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("share", [0.0, 1e-150, 1e-9, 1e-3, 0.0995, 0.1005, 0.5, 0.9, -0.3, -0.9])
def test_arctangent_and_its_derivatives(share, k):
    """For k < 0 arguments are shares of the end 1/√-k, of 10 at most."""
    t = share * (min(10.0, (-k) ** -0.5) if k < 0 else 10.0)
    with mp.workdps(DIGITS):
        value = exact_arctangent(mp.mpf(t), mp.mpf(k))
        in_k = slope_of_arctangent_in_k(mp.mpf(t), mp.mpf(k))
        slope = 1 / (1 + mp.mpf(k) * mp.mpf(t) ** 2)
    x, curvature = number(t), number(k)
    angle = arctangent(x, curvature)
    angle.backward()
    assert float(angle.detach()) == pytest.approx(float(value), rel=1e-15, abs=1e-320)
    assert float(x.grad) == pytest.approx(float(slope), rel=1e-13)
    assert float(curvature.grad) == pytest.approx(float(in_k), rel=1e-9, abs=1e-320)


@pytest.mark.parametrize("k", [-0.25, -1.0, -9.0])
def test_arctangent_saturates_at_the_end_of_a_hyperbolic_space(k):
    for beyond in (1.0, 1.1, 100.0):
        t = number(beyond * (-k) ** -0.5)
        angle = arctangent(t, number(k))
        angle.backward()
        assert angle.isfinite() and t.grad.isfinite()
        assert 15 < float(angle.detach()) * (-k) ** 0.5 < 20
        assert float(arctangent(-t, number(k)).detach()) == -float(angle.detach())


def test_both_take_batches_and_are_odd():
    x = torch.tensor([-0.9, -0.5, -0.01, 0.0, 0.01, 0.5, 0.9], dtype=torch.float64)
    for k in (-1.0, -1e-9, 0.0, 1e-9, 1.0):
        k = torch.tensor(k, dtype=torch.float64)
        cosine = (1 - k * x.square()).sqrt()
        for values in (arcsine(x, cosine, k), arctangent(x, k)):
            assert values.shape == (7,)
            torch.testing.assert_close(values.flip(0), -values, rtol=1e-15, atol=0)
            assert (values.diff() > 0).all()
    one_by_one = torch.stack([arctangent(e, torch.tensor(0.5, dtype=torch.float64)) for e in x])
    torch.testing.assert_close(
        arctangent(x, torch.tensor(0.5, dtype=torch.float64)), one_by_one, rtol=1e-15, atol=0
    )


def test_the_series_meets_the_closed_form():
    """On both sides of the change of formula the values differ by what the argument differs, no more."""
    for sign in (1.0, -1.0):
        k = torch.tensor(sign, dtype=torch.float64)
        edge = torch.tensor(
            [SERIES_BELOW * (1 - 1e-12), SERIES_BELOW * (1 + 1e-12)], dtype=torch.float64
        ).sqrt()
        for values in (arcsine(edge, (1 - k * edge.square()).sqrt(), k), arctangent(edge, k)):
            assert float(values.diff()) == pytest.approx(float(edge.diff()), rel=0.02)


def test_polynomial():
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)
    assert polynomial([3.0, 0.0, 5.0], x).tolist() == [3.0, 8.0, 23.0]


# ── the interpolated space, with k a tensor ──────────────────────────────────────────────────────────────────────
POINTS = [-1.0, -0.3, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 0.3, 1.0]


@pytest.fixture(scope="module")
def pair():
    return space("bounded(2)").random_points(2, spread=0.6, seed=1, dtype=torch.float64)


def distance(k, pair, metric="f1"):
    return interpolated(2, k).distance(*pair, metric)


def exact_slope(k, pair, h=1e-12):
    """A central difference in 60 digits of the oracle's F1."""
    ends = [torch.tensor(k + step, dtype=torch.float64) for step in (h, -h)]
    with mp.workdps(DIGITS):
        values = [mp.fsum(oracle.vector_distance(interpolated(2, end), *pair)) for end in ends]
        return float((values[0] - values[1]) / (mp.mpf(float(ends[0])) - mp.mpf(float(ends[1]))))


@pytest.mark.parametrize("k", POINTS)
def test_the_derivative_of_distances_in_k(k, pair):
    curvature = number(k)
    distance(curvature, pair).backward()
    assert float(curvature.grad) == pytest.approx(exact_slope(k, pair), rel=1e-9)


def test_distances_and_derivatives_pass_smoothly_through_zero(pair):
    """Near 0 both are straight lines in k: no jump, no kink, where the sign of k changes."""
    ks, values, slopes = [-1e-3, -1e-6, -1e-10, 0.0, 1e-10, 1e-6, 1e-3], [], []
    for k in ks:
        curvature = number(k)
        value = distance(curvature, pair)
        value.backward()
        values.append(float(value.detach()))
        slopes.append(float(curvature.grad))
    middle, second = slopes[3], (slopes[6] - slopes[0]) / 2e-3
    for k, value, slope in zip(ks, values, slopes, strict=True):
        assert value == pytest.approx(values[3] + k * middle + k * k * second / 2, abs=2e-9)
        assert slope == pytest.approx(middle + k * second, abs=1e-5 if abs(k) > 1e-4 else 1e-9)
    for step in (1e-5, -1e-5):  # one-sided differences
        assert (float(distance(number(step), pair).detach()) - values[3]) / step == pytest.approx(
            middle, rel=1e-4
        )


@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf", "lp(3)"])
def test_gradients_at_k_zero_exactly(metric, pair):
    curvature, p = number(0.0), pair[0].clone().requires_grad_()
    distance(curvature, (p, pair[1]), metric).backward()
    assert curvature.grad.isfinite() and curvature.grad != 0 and p.grad.isfinite().all()
    flat = pair[0].clone().requires_grad_()
    chord = torch.linalg.svdvals(torch.view_as_complex(flat) - torch.view_as_complex(pair[1]))
    (2 * space("interpolated(2, k=0)").norm(metric)(chord)).backward()
    torch.testing.assert_close(p.grad, flat.grad)


@pytest.mark.parametrize("k", [-1.0, -1e-9, 0.0, 1e-9, 0.5])
def test_exp_log_and_retract_have_derivatives_in_k(k, pair):
    def values(k):
        made = interpolated(2, k)
        X = 0.3 * pair[1]
        moved = made.exp(pair[0], X)
        out = [
            moved,
            made.log(*pair),
            made.retract(pair[0], X),
            made.transport(*pair, X),
            made.inner(pair[0], X, X),
        ]
        weights = torch.Generator().manual_seed(0)
        return torch.stack(
            [(x * torch.randn(x.shape, generator=weights, dtype=torch.float64)).sum() for x in out]
        )

    for index in range(5):
        curvature = number(k)
        values(curvature)[index].backward()
        h = 1e-5
        if index == 2 and abs(k) < h:  # retract is bounded for k < 0, straight for k > 0: one-sided slopes
            assert curvature.grad.isfinite()
            continue
        ends = [float(values(torch.tensor(k + s, dtype=torch.float64))[index]) for s in (h, -h)]
        assert float(curvature.grad) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-7), (
            index
        )


def test_a_learned_curvature_is_a_parameter():
    made = space('interpolated(2, k="learn")')
    (k,) = made.parameters()
    assert float(k.detach()) == -1 and space("interpolated(2, k=-1)").parameters() == []
    p, q = space("bounded(2)").random_points(2, spread=0.5, seed=0, dtype=torch.float64)
    before = float(made.distance(p, q).detach())
    made.distance(p, q).backward()
    with torch.no_grad():
        k += 1.5  # through zero, in place
    assert made.chamber.factors[0].sign == 1
    assert float(made.distance(p, q).detach()) == float(interpolated(2, 0.5).distance(p, q)) != before
