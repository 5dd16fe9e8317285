"""The laws can fail: a good space with one deliberate defect is caught, by the law that names it."""

import pytest
import torch

from weyl import LawBroken, check_space, space
from weyl.geometry.chamber import Chamber, type_bc
from weyl.geometry.laws import LAWS, LAWS_OF_FRAMES


def spoiled(text, **changes):
    """The space with methods replaced; each replacement gets the original method, bound, as its first argument."""
    made = space(text)
    parent = type(made)

    def replaced(name, change):
        if name == "chamber":
            return property(lambda self: change(parent.chamber.fget(self)))
        return lambda self, *a, **k: change(getattr(super(type(self), self), name), *a, **k)

    methods = {name: replaced(name, change) for name, change in changes.items() if callable(change)}
    made.__class__ = type("Spoiled", (parent,), methods)
    vars(made).update({name: change for name, change in changes.items() if name not in methods})
    return made


def worse_at_equal_points(old, p, q, tolerance):
    return old(p, q, tolerance).square().sqrt()  # the value is right, the derivative at zero is 0/0


def swapped_sides(old, p, X, Y):
    made = space("ball(2, 2)")
    A, B = made.factors(p)
    xi, eta = (torch.linalg.solve(B, M) @ torch.linalg.inv(A).mT for M in (X, Y))
    return (xi * eta).sum((-2, -1))


def swapped_multiplicities(chamber):
    """ball(1, 4, field="C") with the sum of multiplicities unchanged."""
    (factor,) = chamber.factors
    return type_bc(1, factor.long, factor.middle, factor.short, scale=2.0)


def first_order_retraction(old, p, X):
    length = torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True)
    return space("spd(2)").exp(p, X * (1 + length))


def leaving_retraction(old, p, X):
    near = torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True) < 5
    return torch.where(near, space("spd(2)").retract(p, X), p + X)


def turning_transport(old, p, q, X):
    made = space("hyperbolic(3)")
    return made.lift(q, made.pull(p, X).roll(1, -1))


TINY = torch.tensor(1e-5, dtype=torch.float64)


def wrong_in_float32(old, p, gradient):
    return old(p, gradient) * (1.5 if p.dtype == torch.float32 else 1)


DEFECTS = {  # what is wrong: (the law that says so, space, dtype, changes)
    "valid points are refused": (
        "points_are_valid", "upper(2)", {"inside": lambda old, p: torch.zeros(len(p), dtype=torch.bool)}),
    "random points lie outside": (
        "points_are_valid", "bounded(2)", {"random_points": lambda old, *a, **k: 3 * old(*a, **k)}),
    "nothing is refused": (
        "bad_points_are_rejected", "spd(2)", {"why_not": lambda old, p: None}),
    "project does nothing": (
        "projection_lands_inside_and_stays", "ball(2, 3)", {"nearest": lambda old, p, margin, target: p}),
    "project moves what is inside": (
        "projection_lands_inside_and_stays", "bounded(2)", {"project": lambda old, p: 0.9 * old(p)}),
    "v(p, p) is not zero": (
        "distance_to_itself_is_zero", "ball(1, 2)", {"vector_at": lambda old, *a: torch.hypot(old(*a), TINY)}),
    "v is not sorted": (
        "vector_distance_lies_in_the_chamber", "upper(2)", {"vector_at": lambda old, p, q, t: old(p, q, t).flip(-1)}),
    "v has a sign": (
        "vector_distance_lies_in_the_chamber", "hyperbolic(2)", {"vector_at": lambda old, p, q, t: -old(p, q, t)}),
    "v loses its signs": (
        "reversed_vector_distance_is_opposite", "spd(2)",
        {"vector_at": lambda old, p, q, t: old(p, q, t).abs().sort(-1, descending=True).values}),
    "distances are squared": (
        "triangle_inequality", "euclidean(2)", {"vector_at": lambda old, p, q, t: old(p, q, t) ** 2}),
    "the gradient lacks the factor of the metric": (
        "gradient_is_the_differential", "bounded(2)",
        {"gradient_at": lambda old, p, gradient: 4 * old(p, gradient)}),
    "the gradient is Euclidean": (
        "gradient_is_the_differential", "upper(1)", {"gradient_at": lambda old, p, gradient: gradient}),
    "the sides of the inner product are swapped": (
        "gradient_is_the_differential", "ball(2, 2)", {"inner_at": swapped_sides}),
    "the metric is four times too large, its gradient consistent": (
        "metric_is_the_distance_of_small_steps", "bounded(2)", {"weight": 16.0}),
    "exp is a retraction": (
        "exp_and_log_are_inverse", "upper(2)", {"exp": lambda old, p, X: space("upper(2)").retract(p, X)}),
    "log has the wrong length": (
        "exp_and_log_are_inverse", "sphere(3)", {"log": lambda old, p, q: 1.001 * old(p, q)}),
    "geodesics speed up": (
        "geodesics_have_constant_speed", "upper(2)", {"geodesic": lambda old, p, q, t: old(p, q, t * t)}),
    "transport is the identity": (
        "transport_keeps_inner_products", "upper(2)", {"transport": lambda old, p, q, X: X}),
    "transport turns": (
        "transport_keeps_inner_products", "hyperbolic(3)",
        {"transport": turning_transport}),
    "retract is of first order": (
        "retraction_is_of_second_order", "spd(2)", {"retract": first_order_retraction}),
    "retract leaves the space": (
        "retraction_is_of_second_order", "spd(2)", {"retract": leaving_retraction}),
    "the gradient is wrong in float32": (
        "gradient_of_squared_distance_is_minus_log", "upper(2)", {"riemannian_gradient": wrong_in_float32}),
    "the mean is arithmetic": (
        "mean_is_where_the_logs_cancel", "spd(2)", {"mean": lambda old, points: points.mean(0)}),
    "a batch is not its points": (
        "batch_equals_loop", "euclidean(2)", {"vector_at": lambda old, p, q, t: old(p, q, t) * (1 + 1e-10 * p.ndim)}),
    "leading dimensions are mixed up": (
        "batch_equals_loop", "hyperbolic(2)",
        {"distance": lambda old, p, q, m="f1": old(p, q, m).flip(0) if p.ndim == 3 else old(p, q, m)}),
    "an empty batch is one point": (
        "batch_equals_loop", "euclidean(2)",
        {"log": lambda old, p, q: old(p, q) if len(p) else old(torch.zeros(1, 2).to(p), torch.zeros(1, 2).to(p))}),
    "float32 becomes float64": (
        "dtype_is_kept", "spd(2)", {"retract": lambda old, p, X: old(p, X).double()}),
    "complex points come back real": (
        "dtype_is_kept", "upper(2)",
        {"exp": lambda old, p, X: torch.view_as_real(old(p, X)) if p.is_complex() else old(p, X)}),
    "the dimension is wrong": (
        "tangent_space_has_the_dimension", "upper(2)", {"dim": 7}),
    "a multiplicity is wrong": (
        "tangent_space_has_the_dimension", "ball(2, 3)", {"chamber": lambda old: type_bc(2, 2, 1, 0)}),
    "multiplicities are exchanged": (
        "jacobi_fields_grow_by_the_roots", 'ball(1, 4, field="C")', {"chamber": swapped_multiplicities}),
    "roots are twice too long": (
        "jacobi_fields_grow_by_the_roots", "upper(2)", {"chamber": lambda old: type_bc(2, 0, 1, 1, scale=1)}),
    "the curvature has the wrong sign": (
        "jacobi_fields_grow_by_the_roots", "hyperbolic(3)", {"chamber": lambda old: type_bc(1, 2, curvature=1)}),
    "the flat has another scale": (
        "flat_has_its_vector_distances", "dual(2)", {"flat_o": lambda old, v: 1.01 * old(v)}),
    "far distances are clamped": (
        "flat_has_its_vector_distances", "upper(2)", {"vector_at": lambda old, p, q, t: old(p, q, t).clamp(max=12.2)}),
    "isometries stretch": (
        "isometries_keep_vector_distance", "euclidean(3)", {"act_at": lambda old, g, p: 1.1 * old(g, p)}),
    "a reflection is the identity": (
        "reflection_is_an_isometry_through_p", "upper(2)", {"reflect": lambda old, p, q: q}),
    "a reflection moves its centre": (
        "reflection_is_an_isometry_through_p", "upper(1)", {"reflect": lambda old, p, q: old(q, p)}),
    "the gradient at equal points is not finite": (
        "values_and_gradients_are_finite", "euclidean(2)", {"vector_at": worse_at_equal_points}),
}  # fmt: skip


@pytest.mark.parametrize("what", DEFECTS)
def test_a_defect_is_named_by_its_law(what):
    law, text, changes = DEFECTS[what]
    dtype = torch.float32 if "float32" in what else torch.float64
    with pytest.raises(LawBroken) as caught:
        check_space(spoiled(text, **changes), dtype=dtype)
    assert str(caught.value).startswith(f"{text}: {law}: "), caught.value
    assert "\n" not in str(caught.value)


def test_every_law_catches_something():
    assert {law for law, *_ in DEFECTS.values()} == {law.__name__ for law in LAWS + LAWS_OF_FRAMES}


def test_a_space_that_is_only_wrapped_keeps_the_laws():
    made = spoiled("upper(2)", vector_at=lambda old, *a: old(*a), chamber=lambda old: Chamber(old.factors))
    assert len(check_space(made)) == len(LAWS + LAWS_OF_FRAMES)


def test_laws_come_in_order_and_each_once():
    names = check_space(space("euclidean(2)"))
    assert names == [law.__name__ for law in LAWS + LAWS_OF_FRAMES] and len(set(names)) == len(names)


def test_only_spaces_are_checked():
    with pytest.raises(
        TypeError, match=r"^check_space: expected a space such as weyl\.space\('upper\(4\)'\), got str$"
    ):
        check_space("upper(4)")


def test_a_broken_law_is_an_assertion():
    assert issubclass(LawBroken, AssertionError)


def test_an_error_inside_a_law_names_the_law():
    """A user's own space that crashes in one operation: which law was it?"""

    def fail(old, p, X):
        raise ZeroDivisionError("no exponential today")

    with pytest.raises(LawBroken, match=r"retraction_is_of_second_order.*no exponential today"):
        check_space(spoiled("euclidean(2)", retract=fail))
