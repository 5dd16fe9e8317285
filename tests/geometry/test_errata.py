"""Where the paper or its code is wrong: the values that tell the right formula from the printed one."""

import math

import numpy as np
import pytest
import torch

from weyl import convert, space, takagi
from weyl.expression import ExpressionError
from weyl.geometry import table


def complex_point(text, seed, spread=0.8):
    return space(text).random_points(spread=spread, seed=seed, dtype=torch.complex128)[0]


def symmetric(n, seed):
    generator = torch.Generator().manual_seed(seed)
    U = torch.complex(*torch.randn(2, n, n, generator=generator, dtype=torch.float64))
    return U + U.mT


def definite(M, sign):
    return bool((sign * torch.linalg.eigvalsh(M) > 0).all())


# ── the metric and the gradient of balls and duals ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize("k", [-4.0, -1.0, -0.3, 0.0, 0.7, 1.0])
def test_the_metric_of_the_family(k):
    """⟨U, V⟩ = 4 Re tr((Id + kZZ*)⁻¹ U (Id + kZ*Z)⁻¹ V*): mind the sides, and the factor 4."""
    made, one = space(f"interpolated(3, k={k})"), torch.eye(3, dtype=torch.complex128)
    Z, U, V = complex_point(made.name, 1, 0.5), symmetric(3, 2), symmetric(3, 3)
    left, right = torch.linalg.inv(one + k * Z @ Z.mH), torch.linalg.inv(one + k * Z.mH @ Z)
    expected = 4 * torch.trace(left @ U @ right @ V.mH).real
    torch.testing.assert_close(made.inner(Z, U, V), expected)
    if k:  # the factors swapped, as in existing code, are another number
        swapped = 4 * torch.trace(right @ U @ left @ V.mH).real
        assert abs(float(swapped - expected)) > 1e-3
    for h in (1e-3, 1e-4):
        length = made.distance(Z, Z + h * U, "riemannian").square() / h**2
        assert float(length / made.inner(Z, U, U)) == pytest.approx(1, abs=20 * h)


@pytest.mark.parametrize("k", [-4.0, -1.0, 0.7, 1.0])
def test_the_gradient_of_the_family(k):
    """¼ (Id + kZZ*) · gradient · (Id + kZ*Z); the printed A · gradient · A is not even symmetric."""
    made, one = space(f"interpolated(3, k={k})"), torch.eye(3, dtype=torch.complex128)
    Z, gradient = complex_point(made.name, 4, 0.5), symmetric(3, 5)
    A = one + k * Z.conj() @ Z
    right = (one + k * Z @ Z.conj()) @ gradient @ A / 4
    printed = A @ gradient @ A / 4
    torch.testing.assert_close(made.riemannian_gradient(Z, gradient), right)
    assert float((right - right.mT).abs().max()) < 1e-12
    assert float((printed - printed.mT).abs().max()) > 1e-2


@pytest.mark.parametrize("text", ["bounded(2)", "dual(2)", "interpolated(2, k=-0.3)", "upper(2)"])
@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf", "fmin"])
def test_the_gradient_against_differences_in_every_direction(text, metric):
    """No exponential, no frame: points are moved along coordinate lines, and tr(...) is written out."""
    made, one = space(text), torch.eye(2, dtype=torch.complex128)
    Z, W = complex_point(text, 6, 0.5).requires_grad_(), complex_point(text, 7, 0.5)
    made.distance(Z, W, metric).backward()
    G = made.riemannian_gradient(Z.detach(), Z.grad)
    Z = Z.detach()
    if text == "upper(2)":
        left = right = torch.linalg.inv(Z.imag.to(Z))
        weight = 1.0
    else:
        k = {"bounded(2)": -1.0, "dual(2)": 1.0}.get(text, -0.3)
        left, right, weight = torch.linalg.inv(one + k * Z @ Z.mH), torch.linalg.inv(one + k * Z.mH @ Z), 4.0
    for i, j in [(0, 0), (0, 1), (1, 1)]:
        for unit in (1.0, 1.0j):
            U = torch.zeros(2, 2, dtype=torch.complex128)
            U[i, j] = U[j, i] = unit
            ends = [made.distance(Z + h * U, W, metric) for h in (1e-6, -1e-6)]
            slope = float(ends[0] - ends[1]) / 2e-6
            assert float(weight * torch.trace(left @ G @ right @ U.mH).real) == pytest.approx(slope, abs=1e-7)


# ── k is the curvature ───────────────────────────────────────────────────────────────────────────────────────────
def cosine(k, x):
    return math.cos(math.sqrt(k) * x) if k > 0 else math.cosh(math.sqrt(-k) * x)


@pytest.mark.parametrize("k", [-4.0, -1.0, -0.3, 0.5, 1.0])
def test_right_triangles_of_interpolated_have_curvature_k(k):
    """cos(√k c) = cos(√k a) cos(√k b); with the paper's metric tr(A⁻¹UA⁻¹Ū) the curvature would be 4k."""
    made = space(f"interpolated(1, k={k})")
    p = complex_point(made.name, 8, 0.4)
    X = made.random_tangent(p, seed=9)
    Y = X * 1j  # the metric is conformal
    assert float(made.inner(p, X, Y)) == pytest.approx(0, abs=1e-14)
    X, Y = (t * V / made.inner(p, V, V).sqrt() for t, V in ((0.5, X), (0.3, Y)))
    c = float(made.distance(made.exp(p, X), made.exp(p, Y), "riemannian"))
    assert cosine(k, c) == pytest.approx(cosine(k, 0.5) * cosine(k, 0.3), rel=1e-12)
    assert abs(cosine(4 * k, c) - cosine(4 * k, 0.5) * cosine(4 * k, 0.3)) > 1e-3 * abs(k)


@pytest.mark.parametrize("k", [-1.0, -0.3, 0.0, 0.7])
def test_circles_of_interpolated_have_the_circumference_of_curvature_k(k):
    made, r, corners = space(f"interpolated(1, k={k})"), 0.6, 400
    angles = torch.arange(corners, dtype=torch.float64) * 2 * math.pi / corners
    X = torch.polar(torch.full_like(angles, r / 2), angles)[:, None, None]  # ⟨X, X⟩ = 4 |X|² at 0
    circle = made.exp(torch.zeros_like(X), X)
    polygon = float(made.distance(circle, circle.roll(1, 0), "riemannian").sum())
    root = math.sqrt(abs(k))
    radius = math.sin(root * r) / root if k > 0 else math.sinh(root * r) / root if k < 0 else r
    assert polygon == pytest.approx(2 * math.pi * radius, rel=1e-4)


def test_siegel_planes_have_curvature_minus_one():
    for text in ("upper(1)", "bounded(1)", "hyperbolic(2)", 'ball(1, 1, field="C")', "ball(1, 2)"):
        made = space(text)
        p = made.random_points(spread=0.5, seed=1, dtype=torch.float64)[0]
        X, Y = (made.random_tangent(p, seed=s) for s in (2, 3))
        X = X / made.inner(p, X, X).sqrt()
        Y = Y - made.inner(p, X, Y) * X
        Y = Y / made.inner(p, Y, Y).sqrt()
        c = float(made.distance(made.exp(p, 0.5 * X), made.exp(p, 0.3 * Y), "riemannian"))
        assert math.cosh(c) == pytest.approx(math.cosh(0.5) * math.cosh(0.3), rel=1e-12)


# ── isometries and models ────────────────────────────────────────────────────────────────────────────────────────
def test_the_cayley_transform_lands_in_the_upper_half_space():
    """i(Id + W)(Id - W)⁻¹; the printed i(W + Id)(W - Id)⁻¹ has a negative definite imaginary part."""
    W, one = complex_point("bounded(3)", 10, 1.0), torch.eye(3, dtype=torch.complex128)
    ours = convert(W, "bounded(3)", "upper(3)")
    torch.testing.assert_close(ours, 1j * (one + W) @ torch.linalg.inv(one - W))
    assert definite(ours.imag, 1) and space("upper(3)").why_not(ours) is None
    printed = 1j * (W + one) @ torch.linalg.inv(W - one)
    assert definite(printed.imag, -1)


def hermitian_root(M):
    values, Q = torch.linalg.eigh(M)
    return (Q * values.rsqrt()) @ Q.mH


@pytest.mark.parametrize("k", [-4.0, -1.0, 0.7, 1.0])
def test_the_isometry_that_brings_a_point_to_zero(k):
    """φ(X) = A (X - P)(Id + k P*X)⁻¹ B⁻¹ with A = (Id + kPP*)^-½, B = (Id + kP*P)^-½: k, not its sign."""
    made, one = space(f"interpolated(2, k={k})"), torch.eye(2, dtype=torch.complex128)
    P, X = complex_point(made.name, 11, 0.5), complex_point(made.name, 12, 0.5)

    def moved(k):
        A, B = hermitian_root(one + k * P @ P.mH), hermitian_root(one + k * P.mH @ P)
        return A @ (X - P) @ torch.linalg.inv(one + k * P.mH @ X) @ torch.linalg.inv(B)

    def from_zero(W):
        root, sigma = math.sqrt(abs(k)), torch.linalg.svdvals(W)
        return 2 * (torch.atanh(root * sigma) if k < 0 else torch.atan(root * sigma)) / root

    torch.testing.assert_close(made.vector_distance(P, X), from_zero(moved(k)))
    if abs(k) != 1:
        assert not torch.allclose(made.vector_distance(P, X), from_zero(moved(math.copysign(1, k))))
    g = made.random_isometry(seed=13, spread=0.3)
    torch.testing.assert_close(
        made.vector_distance(made.act(g, P), made.act(g, X)), made.vector_distance(P, X)
    )


def test_the_dual_adds_angles():
    """n = 1: the tangents p, x move by (x - p)/(1 + px); with the printed minus in (APX - A) they do not."""
    made = space("dual(1)")
    p, x = (torch.full((1, 1), t, dtype=torch.complex128) for t in (0.3, 0.7))
    assert float(made.distance(p, x)) == pytest.approx(2 * (math.atan(0.7) - math.atan(0.3)))
    assert float(made.distance(p, x)) != pytest.approx(2 * abs(math.atan((0.7 - 0.3) / (0.3 * 0.7 - 1))))


@pytest.mark.parametrize("k", [-4.0, -0.3, 0.7, 2.0])
def test_the_distance_from_zero(k):
    """Riemannian² = 4 Σ artanh²(√-k σ)/|k|: divided by |k|, the paper prints √|k|."""
    made = space(f"interpolated(3, k={k})")
    Z = complex_point(made.name, 14, 0.5)
    arc = torch.atanh if k < 0 else torch.atan
    angle = arc(math.sqrt(abs(k)) * torch.linalg.svdvals(Z)).square().sum()
    squared = made.distance(torch.zeros_like(Z), Z, "riemannian").square()
    torch.testing.assert_close(squared, 4 * angle / abs(k))


def test_the_dual_is_the_interpolated_space_at_one():
    """v = 2 atan σ from 0: twice the paper's, so that the curvature is 1 and k passes through zero smoothly."""
    Z = complex_point("dual(2)", 15, 0.5)
    v = space("dual(2)").vector_distance(torch.zeros_like(Z), Z)
    torch.testing.assert_close(v, 2 * torch.atan(torch.linalg.svdvals(Z)))
    assert torch.equal(v, space("interpolated(2, k=1)").vector_distance(torch.zeros_like(Z), Z))


def test_cross_ratio_eigenvalues_lie_in_zero_to_one():
    X, Y = (complex_point("upper(3)", seed, 1.5) for seed in (16, 17))
    R = (X - Y) @ torch.linalg.inv(X - Y.conj()) @ (X - Y).conj() @ torch.linalg.inv(X.conj() - Y)
    values = torch.linalg.eigvals(R)
    assert values.imag.abs().max() < 1e-12 and values.real.min() >= 0 and values.real.max() < 1
    v = 2 * torch.atanh(values.real.sort(descending=True).values.sqrt())
    torch.testing.assert_close(space("upper(3)").vector_distance(X, Y), v)


def test_the_projection_on_the_ball_keeps_the_takagi_vectors():
    """Z = K̄ D̃ K*, in our notation K D̃ Kᵀ: the same K, values clipped (the paper's Y is the point's name elsewhere)."""
    Z = 3 * symmetric(3, 18)
    K, values = takagi(Z)
    projected = space("bounded(3)").project(Z, margin=1e-3)
    torch.testing.assert_close(projected, (K * values.clamp(max=0.999).to(K)) @ K.mT)
    inner = torch.diag(torch.tensor([0.5, 0.2, 0.1])).to(Z)
    assert torch.equal(space("bounded(3)").project(inner), inner)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_dimensions_of_table_one(n):
    """CI has n(n+1), not 2n(n+1); SL(n, C)/SU(n) has n² - 1; AII starts at n = 2."""
    assert space(f"upper({n})").dim == space(f"bounded({n})").dim == space(f"dual({n})").dim == n * (n + 1)
    if n > 1:
        assert space(f"hpd({n}, det=1)").dim == n * n - 1
        assert space(f"spd({n}, det=1)").dim == n * (n + 1) // 2 - 1
        assert space(f"qpd({n}, det=1)").dim == (n - 1) * (2 * n + 1)
        assert space(f"antisymmetric({n})").dim == n * (n - 1)
    else:
        with pytest.raises(ExpressionError, match="at least 2"):
            space("qpd(1, det=1)")
    texts = {row.expression: row.dimension for row in table()}
    assert texts["upper(n)"] == texts["dual(n)"] == "n(n+1)" and texts["hpd(n, det=1)"] == "n²-1"


def test_fmin_at_rank_three():
    """3v₁ + 2v₂ + v₃: the paper prints twice that, existing code has [0, 2, 4] ascending and drops the last."""
    made = space("upper(3)")
    o = made.basepoint(dtype=torch.float64)
    for v in ([1.0, 1.0, 1.0], [3.0, 2.0, 1.0], [1.0, 0.0, 0.0]):
        q = made.exp(o, made.flat_o(torch.tensor(v, dtype=torch.float64)))
        assert float(made.distance(o, q, "fmin")) == pytest.approx(float(np.dot([3, 2, 1], v)))


def test_far_components_do_not_saturate():
    """log((1 + d)/(1 - d)) is infinite from 37, clamped at 12.2 in existing code; asinh is neither."""
    made = space("upper(2)")
    o = made.basepoint(dtype=torch.complex128)
    for far in (13.0, 40.0, 300.0, 650.0):
        q = o * torch.tensor([math.exp(far), math.exp(far - 1)], dtype=torch.float64).diag()
        assert made.vector_distance(o, q).tolist() == pytest.approx([far, far - 1], rel=1e-14)
