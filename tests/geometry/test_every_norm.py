"""Every norm on every kind of chamber: the axioms, what is refused and why, and how products combine."""

import itertools

import pytest
import torch

from weyl import convert, space
from weyl.expression import ExpressionError
from weyl.geometry import bind

METRICS = ["riemannian", "f1", "finf", "fmin", "lp(1)", "lp(1.5)", "lp(3)", "weighted", "weighted(2, 1)"]
SPACES = [
    "upper(3)",
    "dual(2)",
    "interpolated(2, k=0)",
    "interpolated(2, k=-4)",
    "spd(1)",
    "spd(3)",
    "spd(3, det=1)",
    "hpd(2, det=1)",
    "qpd(3, det=1)",
    "ball(2, 2)",
    "ball(2, 3)",
    'ball(2, 2, field="H")',
    "antisymmetric(5)",
    "euclidean(3)",
    "hyperbolic(3)",
    "sphere(2)",
    "product(upper(2), hyperbolic(3))",
    "product(spd(2, det=1), upper(2))",
    'product(upper(2), spd(3, det=1), combine="pythagoras")',
    "power(hyperbolic(2), 3)",
]
SMALL = 1e-12


def given_weights(chamber):
    """A metric text with one weight a component, decreasing in each factor."""
    weights = [2.0 / (1 + index) for factor in chamber.factors for index in range(factor.length)]
    return f"weighted({', '.join(map(str, weights))})"


def norms(text):
    """All the metrics that are norms on the chamber of a space, bound."""
    chamber = space(text).chamber
    for metric in METRICS:
        metric = given_weights(chamber) if metric == "weighted(2, 1)" else metric
        try:
            yield bind(metric, chamber)
        except ValueError:
            assert metric == "fmin" and (
                any(factor.sign == 0 for factor in chamber.factors) or text in ("spd(1)", "spd(3)")
            )


def flat_vectors(chamber, count, seed):
    """Any vectors of the flat, not sorted; with det = 1 they sum to zero."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(count, chamber.length, generator=generator, dtype=torch.float64)
    parts = [
        part - part.mean(-1, keepdim=True) if factor.rank < factor.length else part
        for factor, part in zip(chamber.factors, chamber.split(drawn), strict=True)
    ]
    return torch.cat(parts, -1)


def weyl_images(chamber, v):
    """All images of v under the Weyl group: permutations, for type BC with signs, in each factor."""
    choices = []
    for factor, part in zip(chamber.factors, chamber.split(v), strict=True):
        signs = [(1.0,) * factor.length]
        if factor.type == "BC":
            signs = list(itertools.product((1.0, -1.0), repeat=factor.length))
        choices.append(
            [
                part[..., list(order)] * torch.tensor(sign, dtype=v.dtype)
                for order in itertools.permutations(range(factor.length))
                for sign in signs
            ]
        )
    return [torch.cat(pick, -1) for pick in itertools.product(*choices)]


@pytest.mark.parametrize("text", SPACES)
def test_the_axioms_of_a_norm(text):
    chamber = space(text).chamber
    u, w = flat_vectors(chamber, 40, seed=1), flat_vectors(chamber, 40, seed=2)
    for norm in norms(text):

        def length(x, norm=norm):
            return norm(chamber.fold(x)).detach()

        assert length(u).shape == (40,)
        assert (length(u) > 1e-3 * u.norm(dim=-1)).all(), norm
        assert length(torch.zeros(chamber.length, dtype=torch.float64)) == 0, norm
        for t in (0.0, 1e-9, 2.5, 1e6, -1.0, -3.0):
            torch.testing.assert_close(length(t * u), abs(t) * length(u), rtol=SMALL, atol=0, msg=str(norm))
        for x, y in [(u, w), (u, -u), (u, 0.9 * u), (u, -w), (chamber.fold(u), chamber.fold(w))]:
            assert (length(x + y) <= (length(x) + length(y)) * (1 + SMALL)).all(), norm


@pytest.mark.parametrize("text", SPACES)
def test_the_weyl_group_keeps_every_norm(text):
    chamber = space(text).chamber
    u, w = flat_vectors(chamber, 5, seed=3), flat_vectors(chamber, 5, seed=4)
    images = weyl_images(chamber, u)[:200]
    for norm in norms(text):
        value, other = norm(chamber.fold(u)).detach(), norm(chamber.fold(w)).detach()
        for image in images:
            torch.testing.assert_close(norm(chamber.fold(image)).detach(), value, rtol=SMALL, atol=0)
            if (
                norm.text != "fmin"
            ):  # fmin is linear on the chamber alone, the others are functions on the whole flat
                torch.testing.assert_close(norm(image).detach(), value, rtol=SMALL, atol=0)
            both = norm(chamber.fold(image + w)).detach()
            assert (both <= (value + other) * (1 + SMALL)).all(), norm


@pytest.mark.parametrize("text", SPACES)
def test_forth_is_as_far_as_back(text):
    chamber = space(text).chamber
    v = chamber.fold(flat_vectors(chamber, 20, seed=5))
    opposite = chamber.opposite(v)
    assert chamber.contains(v).all() and chamber.contains(opposite).all()
    assert torch.equal(chamber.opposite(opposite), v)
    for norm in norms(text):
        torch.testing.assert_close(norm(opposite), norm(v), rtol=SMALL, atol=0)


@pytest.mark.parametrize("text", SPACES)
def test_all_norms_lie_between_finf_and_f1(text):
    chamber = space(text).chamber
    v = chamber.fold(flat_vectors(chamber, 20, seed=6))
    if chamber.groups:
        return
    f1, finf = bind("f1", chamber)(v), bind("finf", chamber)(v)
    torch.testing.assert_close(f1, v.abs().sum(-1))
    torch.testing.assert_close(finf, v.abs().max(-1).values)
    torch.testing.assert_close(bind("riemannian", chamber)(v), v.square().sum(-1).sqrt())
    torch.testing.assert_close(bind("lp(3)", chamber)(v), v.abs().pow(3).sum(-1).pow(1 / 3))
    torch.testing.assert_close(bind("lp(1)", chamber)(v), f1)
    torch.testing.assert_close(bind("lp(2)", chamber)(v), bind("riemannian", chamber)(v))
    torch.testing.assert_close(bind("lp(100)", chamber)(10 * v), 10 * finf, rtol=3e-2, atol=0)
    order = torch.stack([bind(f"lp({p})", chamber)(v) for p in (1, 1.2, 2, 5, 50)])
    assert (order.diff(dim=0) <= SMALL).all()


@pytest.mark.parametrize("text", SPACES)
def test_gradients_are_subgradients_at_zero_and_on_walls(text):
    """F(w) ≥ F(v) + ⟨∇F(v), w - v⟩ for all w of the chamber, also where F has a kink."""
    chamber = space(text).chamber
    generic = flat_vectors(chamber, 3, seed=11)
    v = chamber.fold(torch.cat([0 * generic[:1], generic.sign(), generic.round(), generic])).requires_grad_()
    w = chamber.fold(flat_vectors(chamber, 30, seed=12))
    for norm in [*norms(text), bind("lp(1.01)", chamber)]:
        value = norm(v)
        (grad,) = torch.autograd.grad(value.sum(), v)
        assert grad.isfinite().all(), norm
        lower = value.detach()[:, None] + (grad[:, None] * (w - v.detach()[:, None])).sum(-1)
        assert (lower <= norm(w).detach() + 1e-12).all(), norm


@pytest.mark.parametrize("p", [3, 50, 400])
@pytest.mark.parametrize("size", [1e-8, 1e-3, 300.0])
def test_lp_is_homogeneous_near_and_far(size, p):
    norm = space("upper(2)").norm(f"lp({p})")
    v = torch.tensor([1.0, 0.5], dtype=torch.float64)
    assert float(norm(size * v)) == pytest.approx(size * (1 + 0.5**p) ** (1 / p), rel=1e-12)


# ── fmin ─────────────────────────────────────────────────────────────────────────────────────────────────────────
FMIN = {  # by hand, from the roots and multiplicities of the tables
    "upper(1)": [1],
    "upper(3)": [3, 2, 1],  # the paper's code has 4, 2, 0
    "bounded(2)": [2, 1],
    "dual(2)": [2, 1],
    "interpolated(2, k=-4)": [4, 2],  # lengths shrink by √|k|, roots grow by it
    "spd(3, det=1)": [1, 0, -1],
    "hpd(2, det=1)": [1, -1],
    "hpd(3, det=1)": [2, 0, -2],
    "qpd(2, det=1)": [2, -2],
    "ball(2, 2)": [2, 0],
    "ball(2, 3)": [3, 1],
    "ball(3, 2)": [3, 1],
    "ball(1, 4)": [3],
    'ball(2, 3, field="C")': [4, 2],
    'ball(2, 3, field="H")': [9, 5],
    "antisymmetric(4)": [5, 1],
    "antisymmetric(5)": [7, 3],
    "hyperbolic(2)": [1],
    "hyperbolic(5)": [4],
    "sphere(3)": [2],
    "complex_hyperbolic(3)": [3],
    "quaternionic_hyperbolic(2)": [5],
    "product(upper(2), hyperbolic(4))": [2, 1, 3],
    "power(hyperbolic(3), 2)": [2, 2],
}


@pytest.mark.parametrize("text", FMIN)
def test_fmin_by_hand(text):
    chamber = space(text).chamber
    assert chamber.two_rho().tolist() == pytest.approx(FMIN[text])
    v = chamber.fold(flat_vectors(chamber, 3, seed=7))
    by_hand = (v * torch.tensor(FMIN[text], dtype=torch.float64)).sum(-1)
    torch.testing.assert_close(bind("fmin", chamber)(v), by_hand)


@pytest.mark.parametrize("text", FMIN)
def test_fmin_is_the_sum_of_the_positive_roots(text):
    chamber = space(text).chamber
    v = chamber.fold(flat_vectors(chamber, 1, seed=8))[0]
    total = 0.0
    for factor, part in zip(chamber.factors, chamber.split(v), strict=True):
        for root, multiplicity in factor.roots():
            value = sum(c * float(part[i]) for i, c in root.items())
            assert value >= -1e-15  # positive on the chamber
            total += multiplicity * value
    assert float(bind("fmin", chamber)(v)) == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("spd(1)", "a flat factor has no roots"),
        ("spd(3)", "its roots vanish on multiples of the identity; take det=1"),
        ("hpd(2)", "its roots vanish on multiples of the identity; take det=1"),
        ("euclidean(3)", "a flat factor has no roots"),
        ("hyperbolic(1)", "a flat factor has no roots"),
        ("sphere(1)", "a flat factor has no roots"),
        ("ball(1, 1)", "a flat factor has no roots"),
        ("interpolated(2, k=0)", "a flat factor has no roots"),
        ("product(upper(2), euclidean(1))", "a flat factor has no roots"),
        ("product(upper(2), spd(2))", "its roots vanish on multiples of the identity; take det=1"),
        ("power(hyperbolic(1), 2)", "a flat factor has no roots"),
    ],
)
def test_fmin_is_refused_where_it_is_no_norm(text, reason):
    with pytest.raises(ValueError) as caught:
        space(text).norm("fmin")
    assert str(caught.value) == f"{text}: metric 'fmin' is no norm here: {reason}"


# ── weighted ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_given_weights_act_on_sorted_sizes():
    v = torch.tensor([1.0, -3.0], dtype=torch.float64)
    assert float(space("spd(2)").norm("weighted(2, 0.5)")(v)) == 2 * 3 + 0.5 * 1
    assert float(space("upper(2)").norm("weighted(2, 0)")(v.flip(0).abs())) == 6
    pair = space("product(spd(2), upper(1))").norm("weighted(2, 0.5, 10)")
    assert float(pair(torch.tensor([1.0, -3.0, 7.0], dtype=torch.float64))) == 6.5 + 70


@pytest.mark.parametrize(
    "text, metric, message",
    [
        ("upper(2)", "weighted(1)", "1 weights for 2 components"),
        ("upper(2)", "weighted(3, 2, 1)", "3 weights for 2 components"),
        ("upper(2)", "weighted(1, 2)", "must not increase"),
        ("upper(2)", "weighted(0, 0)", "must not increase and start above zero"),
        ("product(upper(2), upper(1))", "weighted(2, 1, 0)", "start above zero"),
        ("product(upper(1), upper(2))", "weighted(5, 1, 2)", "must not increase"),
        ("upper(2)", "weighted(2, -1)", "weights must be finite and not negative"),
    ],
)
def test_weights_that_make_no_norm_are_refused(text, metric, message):
    with pytest.raises(ValueError, match=message) as caught:
        space(text).norm(metric)
    assert str(caught.value).isprintable()


def test_weights_may_rise_from_factor_to_factor():
    norm = space("product(upper(2), upper(1))").norm("weighted(2, 1, 5)")
    assert float(norm(torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64))) == 8
    assert norm.parameters() == []


@pytest.mark.parametrize("text", ["upper(3)", "spd(3)", "product(upper(2), spd(2), hyperbolic(2))"])
def test_learned_weights_stay_a_norm_after_any_steps(text):
    made = space(text)
    chamber = made.chamber
    norm = made.norm("weighted")
    (raw,) = norm.parameters()
    assert raw.shape == (chamber.length,)
    optimizer = torch.optim.SGD([raw], lr=100.0)
    generator = torch.Generator().manual_seed(0)
    u, w = flat_vectors(chamber, 50, seed=9), flat_vectors(chamber, 50, seed=10)
    for _ in range(10):
        pull = torch.randn(chamber.length, generator=generator, dtype=torch.float64)
        optimizer.zero_grad()
        (norm.norm.weights(chamber) * pull).sum().backward()
        assert raw.grad.isfinite().all() and (raw.grad != 0).any()
        optimizer.step()
        weights = norm.norm.weights(chamber).detach()
        for part in chamber.split(weights):
            assert (part >= 0).all() and (part.diff() <= 0).all() and part[0] > 0, weights
        lengths = [norm(chamber.fold(x)).detach() for x in (u, w, u + w)]
        assert (lengths[0] > 0).all()
        assert (lengths[2] <= (lengths[0] + lengths[1]) * (1 + SMALL)).all()


def test_learned_weights_start_close_to_f1_and_keep_their_parameter():
    norm = space("product(upper(2), upper(1))").norm("weighted")
    assert norm.parameters()[0] is norm.parameters()[0]
    weights = norm.norm.weights(norm.chamber).detach()
    assert torch.allclose(weights, torch.ones(3, dtype=torch.float64), atol=0.06)
    assert weights[1] == pytest.approx(1) and weights[2] == pytest.approx(1)


def test_the_gradient_of_a_distance_reaches_the_weights():
    made = space("upper(2)")
    norm = made.norm("weighted")
    (raw,) = norm.parameters()
    p, q = made.random_points(2, seed=0, dtype=torch.float64)
    made.distance(p, q, norm).backward()
    v = made.vector_distance(p, q)
    slope = torch.sigmoid(raw.detach())  # w₁ = s₁ + s₂, w₂ = s₂ with s the softplus of raw
    torch.testing.assert_close(raw.grad, torch.stack([v[0] * slope[0], (v[0] + v[1]) * slope[1]]))


# ── what else is refused ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("p", ["0.5", "0", "-1", "0.999"])
def test_lp_below_one_is_refused(p):
    with pytest.raises(
        ExpressionError, match=r"p must be at least 1 \(below, the triangle inequality fails\)"
    ):
        space("upper(2)").norm(f"lp({p})")


def test_a_norm_of_another_space_is_refused():
    norm = space("upper(3)").norm("f1")
    assert space("upper(3)").norm(norm) is norm and repr(norm) == "f1"
    with pytest.raises(ValueError, match=r"^upper\(2\): metric f1 was made for 3 components, not 2$"):
        space("upper(2)").norm(norm)
    fmin = space("upper(2)").norm("fmin")
    with pytest.raises(ValueError):  # as many components, but other roots: it would be no norm here
        space("spd(2)").norm(fmin)


# ── products ─────────────────────────────────────────────────────────────────────────────────────────────────────
FACTORS = ["upper(2)", "hyperbolic(3)", "spd(2, det=1)"]


def product_and_parts(text, factors, seed=0):
    made = space(text)
    p, q = made.random_points(2, seed=seed, dtype=torch.float64)
    parts = [(factor, a, b) for factor, a, b in made.parts(p, q)]
    assert [factor.name for factor, *_ in parts] == factors
    return made, p, q, parts


def test_how_the_norms_of_a_product_combine():
    made, p, q, parts = product_and_parts(f"product({', '.join(FACTORS)})", FACTORS)

    def each(metric):
        return torch.stack([factor.distance(a, b, metric) for factor, a, b in parts])

    torch.testing.assert_close(made.distance(p, q, "f1"), each("f1").sum())
    torch.testing.assert_close(made.distance(p, q, "finf"), each("finf").max())
    torch.testing.assert_close(made.distance(p, q, "riemannian"), each("riemannian").square().sum().sqrt())
    torch.testing.assert_close(made.distance(p, q, "fmin"), each("fmin").sum())
    torch.testing.assert_close(made.distance(p, q, "lp(3)"), each("lp(3)").pow(3).sum().pow(1 / 3))
    vectors = torch.cat([factor.vector_distance(a, b) for factor, a, b in parts])
    assert torch.equal(made.vector_distance(p, q), vectors)


@pytest.mark.parametrize("metric", ["f1", "finf", "riemannian", "fmin", "lp(3)"])
def test_factors_combined_by_pythagoras(metric):
    made, p, q, parts = product_and_parts(f'product({", ".join(FACTORS)}, combine="pythagoras")', FACTORS)
    each = torch.stack([factor.distance(a, b, metric) for factor, a, b in parts])
    torch.testing.assert_close(made.distance(p, q, metric), each.square().sum().sqrt())


@pytest.mark.parametrize(
    "text, factors",
    [
        (
            'product(product(upper(2), hyperbolic(2), combine="pythagoras"), spd(2))',
            ['product(upper(2), hyperbolic(2), combine="pythagoras")', "spd(2)"],
        ),
        (
            'product(power(hyperbolic(2), 3), upper(2), combine="pythagoras")',
            ["power(hyperbolic(2), 3)", "upper(2)"],
        ),
    ],
)
def test_nested_products_combine_what_their_factors_say(text, factors):
    """Or the nesting is refused: what must not happen is another metric than the expression names."""
    try:
        made, p, q, parts = product_and_parts(text, factors)
    except ExpressionError:
        return
    each = torch.stack([factor.distance(a, b, "f1") for factor, a, b in parts])
    pythagoras = bool(made.chamber.groups)
    expected = each.square().sum().sqrt() if pythagoras else each.sum()
    torch.testing.assert_close(made.distance(p, q, "f1"), expected)


def test_a_power_combines_as_its_factor_does_inside():
    inner = 'product(upper(2), hyperbolic(2), combine="pythagoras")'
    try:
        made, one = space(f"power({inner}, 2)"), space(inner)
    except ExpressionError:
        return
    p, q = made.random_points(2, seed=0, dtype=torch.float64)
    each = one.distance(p, q, "f1")  # of the two copies
    torch.testing.assert_close(made.distance(p, q, "f1"), each.sum())


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("metric", ["riemannian", "f1", "finf", "lp(3)"])
def test_planes_sit_isometrically_on_the_diagonal_of_upper(n, metric):
    planes, siegel = space(f"power(hyperbolic(2), {n})"), space(f"upper({n})")
    points = planes.random_points(2, seed=n, dtype=torch.float64)
    entries = convert(points, "hyperbolic(2)", "upper(1)").squeeze(-2).squeeze(-2)
    p, q = (torch.diag_embed(z.mT).permute(1, 2, 0) for z in entries)  # (n, 2) to (n, n, 2)
    torch.testing.assert_close(siegel.distance(p, q, metric), planes.distance(*points, metric))
    folded = planes.vector_distance(*points).sort(descending=True).values
    torch.testing.assert_close(siegel.vector_distance(p, q), folded)
