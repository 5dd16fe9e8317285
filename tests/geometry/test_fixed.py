"""What was learned, written down as numbers: the text alone makes the same space and the same norm again."""

import pytest
import torch

from weyl.geometry import space as make_space
from weyl.geometry.fixed import fixed_metric, fixed_name, fixed_space

LEARNED = [
    'interpolated(2, k="learn")',
    'ball(1, 2, k="learn")',
    'ball(2, 2, field="H", k="learn")',
    'power(interpolated(1, k="learn"), 3)',
    'product(interpolated(2, k="learn"), interpolated(2, k="learn"))',
    'product(interpolated(1, k=-1), interpolated(1, k="learn"), power(interpolated(1, k="learn"), 2))',
    'product(power(ball(1, 2, k="learn"), 2), product(ball(1, 2, k="learn"), euclidean(1)))',
    'product(ball(1, 2, k="learn"), euclidean(2), combine="pythagoras")',
]
CURVATURES = [-1, -0.123456789012345678, 1e-7, 0.0, -3e-300, 0.7]


@pytest.mark.parametrize("first", range(len(CURVATURES)))
@pytest.mark.parametrize("name", LEARNED)
def test_a_space_with_its_curvatures_as_numbers_is_the_same_space(name, first):
    learned = make_space(name)
    for index, parameter in enumerate(learned.parameters()):
        parameter.data.fill_(CURVATURES[(first + index) % len(CURVATURES)])
    fixed = fixed_space(learned)
    assert fixed.parameters() == [] and "learn" not in fixed.name
    assert make_space(fixed.name).name == fixed.name
    p, q = learned.random_points(2, spread=0.3, seed=0, dtype=torch.float64).detach()
    assert torch.equal(fixed.vector_distance(p, q), learned.vector_distance(p, q).detach())


@pytest.mark.parametrize("name", ["upper(3)", "product(upper(2), sphere(3))", "spd(3, det=1)", "ball(1, 2)"])
def test_a_space_that_learns_nothing_keeps_its_name(name):
    assert fixed_name(make_space(name)) == make_space(name).name


def test_a_curvature_given_as_a_tensor_becomes_a_number():
    from weyl.geometry.families import interpolated

    k = torch.nn.Parameter(torch.tensor(-0.625, dtype=torch.float64))
    assert fixed_space(interpolated(2, k=k)).name == "interpolated(2, k=-0.625)"


def test_a_space_that_no_expression_makes_is_refused():
    space = make_space("upper(2)")
    space.name = "upper(3)"
    with pytest.raises(ValueError, match="no expression makes this space"):
        fixed_space(space)


@pytest.mark.parametrize("name", ["upper(3)", "spd(3)", "product(upper(2), hyperbolic(2), spd(2))"])
def test_a_norm_with_its_weights_as_numbers_is_the_same_norm(name):
    space = make_space(name)
    norm = space.norm("weighted")
    (raw,) = norm.parameters()
    raw.data = torch.linspace(-2, 1.5, len(raw), dtype=torch.float64)
    v = space.vector_distance(*space.random_points(2, seed=0, dtype=torch.float64))
    assert torch.equal(space.norm(fixed_metric(norm))(v), norm(v).detach())


@pytest.mark.parametrize("metric", ["f1", "riemannian", "lp(3)", "weighted(2, 1)"])
def test_a_norm_that_learns_nothing_keeps_its_text(metric):
    assert fixed_metric(make_space("upper(2)").norm(metric)) == metric
