"""Nothing escapes: a concrete class, a constructor, a metric or a row of the table without a test fails here."""

import inspect
import pkgutil
import re
import runpy
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import weyl.geometry
from weyl import space
from weyl.expression import parse
from weyl.geometry import METRICS, SPACES, Space, interpolated, product, table
from weyl.geometry.norms import Norm

HERE = Path(__file__).parent
TESTED_SPACES = runpy.run_path(str(HERE / "test_every_space.py"))["SPACES"]
TESTED_METRICS = runpy.run_path(str(HERE / "test_every_norm.py"))["METRICS"]
TESTED_ELSEWHERE = {"FromGeoopt": "test_geoopt.py"}  # class: the file that tests it
ROWS = {row.expression: row for row in table()}


def concrete_subclasses(parent):
    """Of the classes that weyl.geometry defines, those that can be made."""
    for module in pkgutil.iter_modules(weyl.geometry.__path__):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # geoopt's use of torch.jit
            try:
                import_module(f"weyl.geometry.{module.name}")
            except ImportError:
                assert module.name == "geoopt"  # an extra
    found, todo = set(), [parent]
    while todo:
        children = todo.pop().__subclasses__()
        todo += children
        found |= {
            c for c in children if not inspect.isabstract(c) and c.__module__.startswith("weyl.geometry")
        }
    return {c for c in found if not c.__name__.startswith("_")}


def names_in(text):
    """All constructors of an expression, nested ones too."""
    expression = parse(text)
    nested = [value for value in expression.arguments if hasattr(value, "arguments")]
    return {expression.name}.union(*(names_in(str(value)) for value in nested))


def test_every_concrete_space_is_tested():
    tested = {type(space(text)).__name__ for text in TESTED_SPACES}
    for name, file in TESTED_ELSEWHERE.items():
        assert "check_space" in (HERE / file).read_text()
        tested.add(name)
    classes = {c.__name__ for c in concrete_subclasses(Space)}
    assert classes and classes - tested == set()


def test_every_constructor_is_tested():
    assert set(SPACES) - set().union(*map(names_in, TESTED_SPACES)) == set()


def test_every_metric_is_tested():
    tested = {parse(text).name for text in TESTED_METRICS}
    assert set(METRICS) - tested == set()
    made = {type(METRICS[parse(text).name](*parse(text).arguments)).__name__ for text in TESTED_METRICS}
    classes = {c.__name__ for c in concrete_subclasses(Norm)}
    assert classes and classes - made == set()


def test_every_constructor_has_a_row_and_every_row_a_constructor():
    assert {parse(row.example).name for row in table()} | {"hyperbolic"} == set(SPACES)
    assert all(parse(row.example).name == row.expression.split("(")[0] for row in table())
    assert len(ROWS) == len(table())


@pytest.mark.parametrize("name", SPACES)
def test_a_name_reads_back_as_the_same_space(name):
    for text in (text for text in TESTED_SPACES if parse(text).name == name):
        made = space(text)
        again = space(made.name)
        assert again.name == made.name and again.point_shape == made.point_shape and again.dim == made.dim
        assert again.chamber == made.chamber and type(again) is type(made)


@pytest.mark.parametrize("k", [-0.123456789012345, 1 / 3, -1e-9, 12345678.9, -2.5])
def test_a_name_keeps_all_digits_of_a_curvature(k):
    for made in (interpolated(3, k), space(f"ball(1, 2, k={k!r})"), space(f"antisymmetric(3, k={k!r})")):
        assert float(made.k) == float(space(made.name).k) == k


def test_factors_may_be_named():
    assert product("upper(2)", space("sphere(2)")).name == "product(upper(2), sphere(2))"
    assert SPACES["power"]("upper(2)", 3).name == "power(upper(2), 3)"


def value(formula, **letters):
    """The value of a formula such as n(2n+1), n²-1 or 2pq."""
    formula = formula.replace("²", "**2")
    formula = re.sub(r"(?<=[0-9npq)])(?=[npq(])", "*", formula).replace("/", "//")
    return eval(formula, {"__builtins__": {}}, letters)


def test_formulas_are_read_as_people_do():
    assert value("n(2n+1)", n=3) == 21 and value("n²-1", n=4) == 15 and value("2pq", p=2, q=5) == 20
    assert value("n(n+1)/2-1", n=4) == 9 and value("n/2", n=5) == 2


def members(row):
    """Some sizes of a row, small and large, and its example."""
    return dict.fromkeys([row.example, *row.sizes[:6], *row.sizes[6::37]])


@pytest.mark.parametrize("expression", [e for e, row in ROWS.items() if row.family != "product"])
def test_the_formulas_of_a_row(expression):
    row = ROWS[expression]
    for text in members(row):
        made, numbers = space(text), [x for x in parse(text).arguments if isinstance(x, int)]
        letters = dict(zip("pq", numbers, strict=True)) if len(numbers) == 2 else {"n": numbers[0]}
        assert made.dim == value(row.dimension, **letters), text
        assert made.rank == value(row.rank, **letters), text


@pytest.mark.parametrize("expression", [e for e, row in ROWS.items() if row.family == "product"])
def test_the_formulas_of_products(expression):
    row = ROWS[expression]
    made, (head, *tail) = space(row.example), parse(row.example).arguments
    parts = [space(head)] * tail[0] if row.dimension == "m times" else [space(head), *map(space, tail)]
    assert row.dimension == row.rank and row.dimension in ("sum", "m times")
    assert made.dim == sum(part.dim for part in parts) and made.rank == sum(part.rank for part in parts)


@pytest.mark.parametrize("expression", [e for e, row in ROWS.items() if row.family != "product"])
def test_the_curvature_and_roots_of_a_row(expression):
    row = ROWS[expression]
    for text in members(row):
        (factor,) = space(text).chamber.factors
        if factor.sign:  # the first member of a family may be flat
            sign = {"0": 0, "1": 1, ">= 0": 1}.get(row.curvature, -1)
            assert factor.sign == sign, text
            assert row.root_system != "none"
        allowed = {"A": "A", "C": "BC", "B": "BC"}[row.root_system[0]] if row.root_system != "none" else "BC"
        assert factor.type == allowed or row.root_system == "A_1", text
        if row.root_system == "C_n":
            assert factor.short == 0 and factor.long == 1, text
        if row.root_system == "B_p or D_p":
            assert factor.long == 0 and (factor.short == 0) == (
                parse(text).arguments[0] == parse(text).arguments[1]
            )
        if row.root_system in ("BC_p or C_p", "BC_1", "BC or C"):
            assert factor.long > 0, text


def test_flat_and_reducible_members_say_so():
    for text in ("ball(1, 1)", "hyperbolic(1)", "sphere(1)"):
        assert space(text).chamber.factors[0].sign == 0 and "flat" in space(text).notes[0]
    assert (
        space("product(ball(2, 2), sphere(1))").notes == space("ball(2, 2)").notes + space("sphere(1)").notes
    )
    assert space("power(ball(2, 2), 3)").notes == space("ball(2, 2)").notes


def test_sizes_are_spaces_of_growing_dimension():
    for row in table():
        for text in row.sizes[::17]:
            assert parse(text).name == parse(row.example).name
        dims = [space(text).dim for text in row.sizes if "ball" not in text]
        assert dims == sorted(dims)
