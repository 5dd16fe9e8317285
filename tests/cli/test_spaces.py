"""`weyl spaces` over a small table of its own: these tests say what the command does and nothing else."""

import json
import sys
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace

import pytest

import weyl
from weyl.cli import main
from weyl.expression import build


@dataclass
class Row:
    expression: str
    example: str
    family: str
    description: str
    root_system: str
    rank: str
    dimension: str
    curvature: str
    sizes: tuple[str, ...]


EUCLIDEAN = Row(
    "euclidean(n)",
    "euclidean(10)",
    "flat",
    "Flat space",
    "none",
    "n",
    "n",
    "0",
    ("euclidean(3)", "euclidean(7)"),
)
UPPER = Row(
    "upper(n)",
    "upper(4)",
    "CI",
    "Siegel upper half space of rank n: complex symmetric matrices with positive definite imaginary part",
    "C_n",
    "n",
    "n(n+1)",
    "<= 0",
    ("upper(1)", "upper(2)", "upper(3)"),
)
BALL = Row(
    "ball(p, q)",
    "ball(2, 3)",
    "BDI",
    "Matrix ball",
    "B_p",
    "min(p, q)",
    "pq",
    "<= 0",
    ("ball(1, 6)", "ball(2, 3)", "ball(2, 4)"),
)
TABLE = [EUCLIDEAN, UPPER, BALL]


def fake_space(name, dim, shape, sign, *factors, notes=()):
    class Chamber(SimpleNamespace):
        def __str__(self):
            return " x ".join(factors)

    chamber = Chamber(factors=[SimpleNamespace(sign=one) for one in sign])
    return SimpleNamespace(
        name=name, dim=dim, rank=len(shape), point_shape=shape, chamber=chamber, notes=notes
    )


def upper(n):
    if n < 1:
        raise ValueError("rank must be a positive whole number")
    return fake_space(f"upper({n})", n * (n + 1), (n, n, 2), [-1], f"BC{n}")


CONSTRUCTORS = {
    "upper": upper,
    "ball": lambda p, q: fake_space(f"ball({p}, {q})", p * q, (p, q), [-1], "BC"),
    "euclidean": lambda n: fake_space(f"euclidean({n})", n, (n,), [0], "flat"),
    "mixed": lambda: fake_space(
        "mixed", 9, (9,), [-1, 0, 1], "A1", "flat3", "A1", notes=("reducible", "has a flat")
    ),
    "dual": lambda n: fake_space(f"dual({n})", n, (n,), [1, 0], "BC1", "flat1"),
}


@pytest.fixture
def spaces(monkeypatch, capsys):
    """Runs `weyl spaces` in this process: exit status, stdout, stderr."""
    families = ModuleType("weyl.geometry.families")
    families.table = lambda: TABLE
    monkeypatch.setitem(sys.modules, "weyl.geometry.families", families)
    monkeypatch.setitem(vars(weyl), "space", lambda text: build(text, CONSTRUCTORS))

    def run(*arguments):
        status = main(["spaces", *arguments])
        return status, *capsys.readouterr()

    return run


def test_lists_every_row_in_a_table_that_fits(spaces):
    status, out, err = spaces()
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "space         type  roots  rank       dimension  curvature",
        "euclidean(n)  flat  none   n          n          0",
        "upper(n)      CI    C_n    n          n(n+1)     <= 0",
        "ball(p, q)    BDI   B_p    min(p, q)  pq         <= 0",
        "",
        "metrics: riemannian, f1, finf, fmin, lp(p), weighted (learned), weighted(w, …)",
    ]


def test_json_is_one_value_with_every_field(spaces):
    status, out, err = spaces("--json")
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out)[1] == {
        "type": "CI",
        "expression": "upper(n)",
        "example": "upper(4)",
        "root_system": "C_n",
        "rank": "n",
        "dimension": "n(n+1)",
        "curvature": "<= 0",
        "description": UPPER.description,
    }


@pytest.mark.parametrize("name", ["CI", "ci"])
def test_type_keeps_one_family(spaces, name):
    assert [row["expression"] for row in json.loads(spaces("--type", name, "--json")[1])] == ["upper(n)"]


def test_parameters_finds_members_at_or_just_below(spaces):
    found = json.loads(spaces("--parameters", "6", "--json")[1])
    assert [(one["type"], one["space"], one["parameters"]) for one in found] == [
        ("BDI", "ball(1, 6)", 6),
        ("BDI", "ball(2, 3)", 6),
        ("CI", "upper(2)", 6),
        ("flat", "euclidean(3)", 3),
    ]
    assert {key for one in found for key in one} == {
        "type",
        "space",
        "parameters",
        "rank",
        "root_system",
        "curvature",
    }


def test_numbers_stand_to_the_right(spaces):
    lines = spaces("--parameters", "13")[1].splitlines()
    end = lines[0].index("parameters") + len("parameters")
    assert [line[:end].split()[-1] for line in lines] == ["parameters", "8", "12", "7"]
    assert all(line[end : end + 1].isspace() and not line[end - 1].isspace() for line in lines)


def test_describes_one_space(spaces):
    status, out, err = spaces("upper( 3 )")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "name         upper(3)",
        "dim          12",
        "rank         3",
        "point shape  3 x 3 x 2",
        "chamber      BC3",
        "curvature    <= 0",
    ]


def test_describes_one_space_as_json(spaces):
    assert json.loads(spaces("mixed", "--json")[1]) == {
        "name": "mixed",
        "dim": 9,
        "rank": 1,
        "point_shape": [9],
        "chamber": "A1 x flat3 x A1",
        "curvature": "any sign",
        "notes": ["reducible", "has a flat"],
    }
    assert spaces("mixed")[1].splitlines()[-2:] == ["note         reducible", "note         has a flat"]


@pytest.mark.parametrize("text, sign", [("upper(2)", "<= 0"), ("euclidean(2)", "0"), ("dual(2)", ">= 0")])
def test_curvature_in_words(spaces, text, sign):
    assert json.loads(spaces(text, "--json")[1])["curvature"] == sign


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["uper(4)"], "unknown space 'uper'; did you mean 'upper'? `weyl spaces` lists all"),
        (["upper(0)"], "upper(0): rank must be a positive whole number"),
        (
            ["upper("],
            "the end of the text where a value belongs (column 7, near 'upper('): expected a number",
        ),
        (["--type", "E8"], "no spaces of type 'E8': --type takes one of BDI, CI, flat"),
        (["--parameters", "1"], "no listed space fits into 1 parameters: the smallest has 2"),
        (
            ["upper(2)", "--parameters", "3"],
            "--parameters and --type choose from the list: leave them out, or",
        ),
        (["upper(2)", "--type", "CI"], "--parameters and --type choose from the list: leave them out, or"),
        (["--parameters", "0"], "invalid value for '--parameters': "),
        (["--parameters", "many"], "invalid value for '--parameters': "),
    ],
)
def test_says_in_one_line_what_is_wrong(spaces, arguments, line):
    status, out, err = spaces(*arguments, "--json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"weyl spaces: {line}")


def test_a_type_without_members_says_so(spaces, monkeypatch):
    monkeypatch.setattr(sys.modules["weyl.geometry.families"], "table", lambda: [replace(UPPER, sizes=())])
    assert (
        spaces("--parameters", "5")[2]
        == "weyl spaces: no listed space fits into 5 parameters: leave out --type\n"
    )
