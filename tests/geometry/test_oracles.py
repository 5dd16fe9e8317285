"""Distances against many-digit arithmetic, from the same rounded points and by other formulas than ours."""

import mpmath as mp
import pytest
import torch

from accuracy import oracle
from weyl import space

RELATIVE = {torch.float64: 1e-12, torch.float32: 1e-5}
METRICS = ("riemannian", "f1", "finf")
DTYPES = {"float64": torch.float64, "float32": torch.float32}

#          case: (smallest component, gap) in float64, in float32
DENSE = {
    "near": ((5e-9, 1e-8), (5e-5, 1e-4)),
    "moderate": ((0.5, 1.0), (0.5, 1.0)),
    "gap": ((0.3, 25.0), (0.1, 10.0)),
    "far together": ((298.0, 4.0), (58.0, 4.0)),
}
NEAR = {case: DENSE[case] for case in ("near", "moderate")}
BALL = NEAR | {"gap": ((0.3, 10.0), (0.1, 4.0))}
DUAL = {"near": DENSE["near"], "moderate": ((0.2, 0.8), (0.2, 0.8)), "almost cut": ((0.1, 3.0), (0.1, 3.0))}
ROUND = {case: DENSE[case] for case in ("near", "moderate", "far together")}
CASES = {
    "upper(1)": ROUND,
    "upper(2)": DENSE,
    "upper(3)": DENSE,
    "upper(5)": NEAR,
    "upper(8)": {"gap": DENSE["gap"]},
    "bounded(1)": NEAR,
    "bounded(2)": BALL,
    "bounded(3)": BALL,
    "dual(1)": DUAL,
    "dual(2)": DUAL,
    "dual(3)": DUAL,
    "spd(2)": DENSE,
    "spd(3)": DENSE,
    "hpd(2)": DENSE,
    "hpd(3)": DENSE,
    "qpd(2)": DENSE,
    "ball(2, 3)": BALL,
    'ball(3, 2, field="C")': NEAR,
    'ball(2, 2, field="H")': NEAR,
    "antisymmetric(5)": NEAR,
    "interpolated(2, k=-0.3)": BALL,
    "interpolated(2, k=0)": NEAR,
    "interpolated(2, k=0.3)": DUAL,
    "sphere(3)": NEAR,
    "hyperbolic(1)": ROUND,
    "hyperbolic(2)": ROUND,
    "hyperbolic(4)": ROUND,
}
EVERY_CASE = [
    pytest.param(text, dtype, case, id=f"{text}-{dtype}-{case}")
    for text, cases in CASES.items()
    for dtype in DTYPES
    for case in cases
]


def pair(text, scale, gap, dtype, seed):
    """Two points at about the vector distance (scale + gap, …, scale), moved by an isometry, rounded."""
    made = space(text)
    length = made.chamber.length
    v = scale + gap * torch.linspace(1, 0, length, dtype=torch.float64)
    o = made.origin()
    g = made.random_isometry(seed=seed, spread=min(1.0, made.reach() / 8))
    return made.act(g, o).to(dtype), made.act(g, made.exp(o, made.flat_o(v))).to(dtype)


def size(v, metric):
    sizes = [abs(x) for x in v]
    if metric == "finf":
        return max(sizes)
    return mp.fsum(sizes) if metric == "f1" else mp.sqrt(mp.fsum(x * x for x in sizes))


@pytest.mark.parametrize("text, dtype, case", EVERY_CASE)
def test_distances_have_their_digits(text, dtype, case):
    made, index = space(text), list(DTYPES).index(dtype)
    scale, gap = CASES[text][case][index]
    for seed in (0, 1):
        p, q = pair(text, scale, gap, DTYPES[dtype], seed)
        with mp.workdps(60 + int(1.5 * (scale + gap))):
            truth = oracle.vector_distance(made, p, q)
        for metric in METRICS:
            ours, right = float(made.distance(p, q, metric)), size(truth, metric)
            assert abs(ours - right) <= RELATIVE[DTYPES[dtype]] * right, (metric, seed)


@pytest.mark.parametrize("gap", [6.0, 9.0, 12.0])
@pytest.mark.parametrize(
    "text", ["upper(2)", "upper(4)", "bounded(3)", "spd(3)", "hpd(2)", "qpd(2)", "ball(2, 3)"]
)
def test_gaps_that_float64_alone_blurs_keep_the_last_digits(text, gap):
    """There the float64 chord errs by up to eps e^gap, between 1e-13 and 1e-11: twofold arithmetic has to take over."""
    made = space(text)
    gap /= 1 + text.startswith("ball")
    for seed in range(4):
        p, q = pair(text, 0.3, gap, torch.float64, seed)
        with mp.workdps(60):
            truth = oracle.vector_distance(made, p, q)
        for metric in METRICS:
            ours, right = float(made.distance(p, q, metric)), size(truth, metric)
            assert abs(ours - right) <= 5e-14 * right, (metric, seed)


@pytest.mark.parametrize("apart", [1e-6, 1.0])
@pytest.mark.parametrize("text", ["upper(2)", "upper(3)", "bounded(2)", "spd(3)", "hpd(2)"])
def test_near_points_far_from_o_keep_their_digits(text, apart):
    """Their chord is small, but each of its factors has a condition of e^gap."""
    made = space(text)
    length = made.chamber.length
    v = 14.0 * torch.linspace(1, 0, length, dtype=torch.float64)
    for seed in range(4):
        p = made.act(made.random_isometry(seed=seed), made.exp(made.origin(), made.flat_o(v)))
        X = made.random_tangent(p, seed=seed)
        q = made.exp(p, X * (apart / made.inner(p, X, X).sqrt()))
        with mp.workdps(60):
            truth = oracle.vector_distance(made, p, q)
        for metric in METRICS:
            ours, right = float(made.distance(p, q, metric)), size(truth, metric)
            assert abs(ours - right) <= 1e-12 * right, (metric, seed)


@pytest.mark.parametrize("text", ["upper(3)", "bounded(2)", "dual(2)", "spd(3)", "hpd(2)", "hyperbolic(3)"])
def test_every_component_and_its_order(text):
    made = space(text)
    p, q = made.random_points(2, spread=min(1.0, made.reach() / 8), seed=2, dtype=torch.float64)
    with mp.workdps(60):
        truth = oracle.vector_distance(made, p, q)
    assert made.vector_distance(p, q).tolist() == pytest.approx(
        [float(x) for x in truth], rel=1e-13, abs=1e-14
    )


# ── upper half space: the determinants ───────────────────────────────────────────────────────────────────────────
def cross_ratio(p, q):
    X, Y = (mp.matrix(torch.view_as_complex(x.contiguous()).tolist()) for x in (p, q))
    R = (X - Y) * mp.inverse(X - Y.conjugate()) * (X - Y).conjugate() * mp.inverse(X.conjugate() - Y)
    return R, mp.eye(X.rows)


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_f1_is_a_logarithm_of_determinants(n, spread):
    """F1 = log det(Id + √R) - log det(Id - √R): no eigenvalues at all."""
    made = space(f"upper({n})")
    p, q = made.random_points(2, spread=spread, seed=n, dtype=torch.float64)
    with mp.workdps(60):
        R, one = cross_ratio(p, q)
        root = mp.sqrtm(R)
        f1 = mp.log(mp.re(mp.det(one + root))) - mp.log(mp.re(mp.det(one - root)))
    assert float(made.distance(p, q, "f1")) == pytest.approx(float(f1), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_lower_bound_by_the_determinant(n):
    """log((1 + √det R)/(1 - √det R)) ≤ d for every norm that is at least finf; equal for n = 1."""
    made = space(f"upper({n})")
    for seed in range(5):
        p, q = made.random_points(2, spread=1.5, seed=seed, dtype=torch.float64)
        with mp.workdps(40):
            R, _ = cross_ratio(p, q)
            root = mp.sqrt(mp.re(mp.det(R)))
            bound = float(mp.log((1 + root) / (1 - root)))
        for metric in METRICS:
            distance = float(made.distance(p, q, metric))
            assert bound <= distance * (1 + 1e-12)
            if n == 1:
                assert bound == pytest.approx(distance, rel=1e-12)


# ── what has no oracle in accuracy/ ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("field", ["R", "C"])
def test_free_balls_against_the_invariant_of_two_points(field):
    """cosh²θ: eigenvalues of (Id - P*P)⁻¹(Id - P*Q)(Id - Q*Q)⁻¹(Id - Q*P)."""
    made = space(f'ball(2, 3, field="{field}")')
    p, q = made.random_points(2, spread=1.5, seed=3, dtype=torch.float64)
    P, Q = (made.field.matrix(x).mH for x in (p, q))  # 3 × 2, so that the invariant is 2 × 2
    one = torch.eye(2, dtype=P.dtype)
    left, right = torch.linalg.inv(one - P.mH @ P), torch.linalg.inv(one - Q.mH @ Q)
    values = torch.linalg.eigvals(left @ (one - P.mH @ Q) @ right @ (one - Q.mH @ P))
    theta = torch.acosh(values.real.sort(descending=True).values.sqrt())
    v = made.vector_distance(p, q)
    torch.testing.assert_close(v, theta * (1 if field == "R" else 2))


@pytest.mark.parametrize("text, k", [('ball(1, 2, field="H")', -1), ('ball(1, 2, field="H", k=2)', 2)])
def test_quaternionic_lines_by_hand(text, k):
    """cos²(√k v/2) = |1 + k⟨p, q⟩|²/((1 + k|p|²)(1 + k|q|²)) with the Hermitian product of quaternions."""
    made = space(text)
    p, q = made.random_points(2, spread=0.3, seed=4, dtype=torch.float64)[:, 0]

    def product(a, b):  # Hamilton's table
        a0, a1, a2, a3 = a.unbind(-1)
        b0, b1, b2, b3 = b.unbind(-1)
        return torch.stack(
            [
                a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
                a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
                a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
                a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
            ],
            -1,
        )

    conjugate = torch.tensor([1.0, -1.0, -1.0, -1.0], dtype=torch.float64)
    inner = product(q, p * conjugate).sum(0) * k
    inner[0] += 1
    ratio = inner.square().sum() / ((1 + k * p.square().sum()) * (1 + k * q.square().sum()))
    angle = torch.acosh(ratio.sqrt()) if k < 0 else torch.acos(ratio.sqrt())
    v = made.vector_distance(p[None], q[None])
    assert float(v) == pytest.approx(2 * float(angle) / abs(k) ** 0.5, rel=1e-12)


def test_quaternionic_matrices_by_their_traces():
    """P⁻¹Q of qpd(2) as complex 4 × 4: each e^v twice."""
    made = space("qpd(2)")
    p, q = made.random_points(2, seed=5, dtype=torch.float64)
    P, Q = (made.field.matrix(x) for x in (p, q))
    values = torch.linalg.eigvals(torch.linalg.solve(P, Q)).real.sort(descending=True).values
    assert float((values[::2] / values[1::2] - 1).abs().max()) < 1e-12
    torch.testing.assert_close(made.vector_distance(p, q), values[::2].log())


def test_spheres_and_flat_spaces_by_hand():
    made = space("sphere(3)")
    p, q = made.random_points(2, spread=0.7, seed=6, dtype=torch.float64)
    assert float(made.distance(p, q)) == pytest.approx(float(torch.acos((p * q).sum())), rel=1e-13)
    assert float(made.distance(p, -p)) == pytest.approx(torch.pi, rel=1e-15)
    flat = space("euclidean(3)")
    p, q = flat.random_points(2, seed=7, dtype=torch.float64)
    assert float(flat.distance(p, q)) == float((p - q).norm())


def test_antisymmetric_balls_against_rank_one():
    """DIII(3) is complex hyperbolic space: z ↦ the matrix of the cross product, up to the scale of v."""
    made, other = space("antisymmetric(3)"), space('ball(1, 3, field="C")')
    z = other.random_points(2, spread=1.0, seed=8, dtype=torch.complex128)[:, 0]
    Z = torch.zeros(2, 3, 3, dtype=torch.complex128)
    for i, j, k in [(0, 1, 2), (1, 2, 0), (2, 0, 1)]:
        Z[:, i, j], Z[:, j, i] = z[:, k], -z[:, k]
    torch.testing.assert_close(made.vector_distance(*Z), other.vector_distance(*z[:, None]))
