"""Every law on every kind of space, in both dtypes, and on every row of the families table."""

from collections import Counter
from itertools import combinations

import pytest
import torch

from weyl import check_space, space
from weyl.geometry import interpolated, table

LAWS = {
    "points_are_valid",
    "bad_points_are_rejected",
    "projection_lands_inside_and_stays",
    "distance_to_itself_is_zero",
    "vector_distance_lies_in_the_chamber",
    "reversed_vector_distance_is_opposite",
    "isometries_keep_vector_distance",
    "triangle_inequality",
    "gradient_is_the_differential",
    "metric_is_the_distance_of_small_steps",
    "exp_and_log_are_inverse",
    "geodesics_have_constant_speed",
    "transport_keeps_inner_products",
    "reflection_is_an_isometry_through_p",
    "retraction_is_of_second_order",
    "gradient_of_squared_distance_is_minus_log",
    "mean_is_where_the_logs_cancel",
    "batch_equals_loop",
    "dtype_is_kept",
    "tangent_space_has_the_dimension",
    "flat_has_its_vector_distances",
    "jacobi_fields_grow_by_the_roots",
    "values_and_gradients_are_finite",
}  # written out here, so that a law that disappears from weyl/geometry/laws.py is missed

SPACES = """
upper(1)  upper(2)  upper(3)  bounded(2)  dual(2)  interpolated(2, k=-0.3)  interpolated(2, k=0)
interpolated(2, k=0.7)  interpolated(2, k=-4)
spd(1)  spd(3)  hpd(2)  qpd(1)  qpd(2)  spd(2, det=1)  spd(3, det=1)  hpd(2, det=1)  qpd(2, det=1)
ball(1, 1)  ball(2, 3)  ball(3, 2)  ball(2, 2)  ball(2, 3, k=-0.25)  ball(2, 3, k=0)  ball(3, 2, k=2)
ball(3, 1, k=2)  ball(2, 3, field="C")  ball(3, 2, field="C", k=-0.25)  ball(2, 2, field="C")
ball(2, 1, field="C", k=0)  ball(1, 2, field="C", k=2)  ball(1, 2, field="H")  ball(2, 1, field="H", k=-0.25)
ball(1, 1, field="H")  ball(2, 1, field="H", k=0)  ball(2, 2, field="H", k=2)
antisymmetric(2)  antisymmetric(3)  antisymmetric(4)  antisymmetric(5)  antisymmetric(3, k=1)
antisymmetric(4, k=1)
euclidean(1)  euclidean(3)  hyperbolic(1)  hyperbolic(2)  hyperbolic(4)  sphere(1)  sphere(3)
complex_hyperbolic(2)  quaternionic_hyperbolic(2)
product(upper(2), euclidean(3))  product(hyperbolic(3), sphere(3), spd(2))  product(dual(2), sphere(1))
product(upper(2), hyperbolic(3), combine="pythagoras")
product(upper(1), power(hyperbolic(2), 2), qpd(2, det=1))
power(product(hyperbolic(3), euclidean(1)), 2)  power(upper(2), 2)  power(hyperbolic(2), 5)
power(spd(2, det=1), 2)
"""
SPACES = [text for line in SPACES.splitlines() for text in line.split("  ") if text]
EXAMPLES = [row.example for row in table()]
DTYPES = {"float64": torch.float64, "float32": torch.float32}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", SPACES)
def test_every_law_holds(text, dtype):
    assert set(check_space(space(text), dtype=DTYPES[dtype])) == LAWS


@pytest.mark.parametrize("text", [text for text in EXAMPLES if text not in SPACES])
def test_every_law_holds_on_the_examples_of_the_table(text):
    assert set(check_space(space(text))) == LAWS


@pytest.mark.parametrize("seed, dtype", [(1, "float64"), (2, "float32"), (3, "float64"), (4, "float32")])
@pytest.mark.parametrize("text", ["upper(2)", "bounded(1)", "spd(2)", "ball(1, 2)", "sphere(2)"])
def test_every_law_holds_for_other_draws(text, seed, dtype):
    assert set(check_space(space(text), dtype=DTYPES[dtype], seed=seed)) == LAWS


@pytest.mark.parametrize("k", [-0.7, 0.0, 0.7])
def test_every_law_holds_while_the_curvature_is_learned(k):
    learned = torch.nn.Parameter(torch.tensor(k, dtype=torch.float64))
    assert set(check_space(interpolated(2, learned))) == LAWS


@pytest.mark.parametrize("k", [-0.7, 0.0, 0.7])
def test_every_law_holds_where_the_curvature_is_a_tensor(k):
    assert set(check_space(interpolated(2, torch.tensor(k)))) == LAWS


def signature(text):
    """What two spaces share that are isometric up to a scale: dimension, rank, and the roots up to one scale.

    Of the roots: how often each multiplicity with each length occurs, and each pair of them with each angle.
    """
    made = space(text)
    (factor,) = made.chamber.factors
    roots = []
    for coefficients, multiplicity in factor.roots():
        vector = torch.zeros(factor.length, dtype=torch.float64)
        for index, value in coefficients.items():
            vector[index] = value
        roots += [(vector, multiplicity)] * (multiplicity > 0)
    longest = max(float(a.norm()) for a, _ in roots)
    kinds = [(a / longest, (round(float(a.norm()) / longest, 6), multiplicity)) for a, multiplicity in roots]
    pairs = [
        (*sorted((one, two)), round(float(a @ b) ** 2, 6)) for (a, one), (b, two) in combinations(kinds, 2)
    ]
    return made.dim, made.rank, Counter(kind for _, kind in kinds), Counter(pairs)


@pytest.mark.parametrize(
    "one, other",
    [
        ("upper(2)", "ball(2, 3)"),  # CI(2) = BDI(2,3)
        ('ball(2, 2, field="C")', "ball(2, 4)"),  # AIII(2,2) = BDI(2,4)
        ("spd(4, det=1)", "ball(3, 3)"),  # AI(4) = BDI(3,3)
        ("antisymmetric(3)", 'ball(1, 3, field="C")'),  # DIII(3) = AIII(1,3)
        ("antisymmetric(4)", "ball(2, 6)"),  # DIII(4) = BDI(2,6)
        ("spd(2, det=1)", "hyperbolic(2)"),
        ('ball(1, 1, field="C")', "hyperbolic(2)"),
        ("antisymmetric(2)", "hyperbolic(2)"),
        ("upper(1)", "hyperbolic(2)"),
        ("hpd(2, det=1)", "hyperbolic(3)"),
        ('ball(1, 1, field="H")', "hyperbolic(4)"),
        ("qpd(2, det=1)", "hyperbolic(5)"),
        ("ball(1, 3)", "hyperbolic(3)"),
        ("upper(3)", "bounded(3)"),
        ("dual(2)", "interpolated(2, k=3)"),
    ],
)
def test_the_coincidences_of_low_rank(one, other):
    """The classical isomorphisms: since the laws tie roots to the geometry, equal roots are equal geometry."""
    assert signature(one) == signature(other)


def test_the_ball_of_two_by_two_is_a_product_of_planes():
    """BDI(2,2) = H² × H²: its roots are two orthogonal ones."""
    (factor,) = space("ball(2, 2)").chamber.factors
    roots = [coefficients for coefficients, multiplicity in factor.roots() if multiplicity]
    assert roots == [{0: 1.0, 1: -1.0}, {0: 1.0, 1: 1.0}]
    assert "reducible" in space("ball(2, 2)").notes[0]
