"""The compiled reader of edge lists and the one in Python: the same edges, numbers and problems on any text."""

import string

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weyl.graphs import edge_list, native
from weyl.graphs.columns import Columns
from weyl.graphs.lines import BadLine

PIECES = [
    *"ab019", "-", ".", ",", ";", "\t", " ", '"', '""', "#", "%", "/", "//", "é", "\u2003", "\n", "\r\n", "1e3",
    "nan", "inf", "+", "1.5", "007", "123456789012345678", "1234567890123456789",
]  # fmt: skip


@st.composite
def layouts(draw):
    count = draw(st.integers(2, 4))
    first, second, weight = draw(st.permutations([0, 1, 2, 3]))[:3]
    first, second = min(first, count - 1), min(second, count - 1)
    if first == second:
        first, second = 0, 1
    used = weight < count and weight not in (first, second)
    return Columns(draw(st.sampled_from("\t,; ")), count, first, second, weight if used else -1)


@st.composite
def texts(draw, separator):
    """Lines that are mostly as they should be, and some that are not."""
    field = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
    good = st.sampled_from(["a", "b c" if separator != " " else "bc", "1", "2", "0.5", '"x y"', '"q""q"'])
    line = st.lists(st.one_of(good, good, good, field), min_size=1, max_size=5).map(separator.join)
    return draw(st.lists(line, max_size=6).map("\n".join))


def outcome(text, columns):
    try:
        found = edge_list._read(text.encode(), columns)
    except BadLine as bad:
        needs_field = bad.trouble not in (2, 3, 4)
        return bad.trouble, bad.line, bad.field if needs_field else ""
    weights = None if found.weights is None else found.weights.tolist()
    numbers = None if found.numbers is None else found.numbers.tolist()
    names = found.names if numbers is None else None
    return found.first.tolist(), found.second.tolist(), weights, names, numbers


def both(text, columns):
    compiled = outcome(text, columns)
    kept, native.extension = native.extension, lambda: None
    try:
        return compiled, outcome(text, columns)
    finally:
        native.extension = kept


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_same_outcome_on_any_text(data):
    columns = data.draw(layouts())
    compiled, python = both(data.draw(texts(columns.separator)), columns)
    assert compiled == python


NUMBERS = st.one_of(
    st.text(string.digits + "+-.eE_ xinfa", max_size=12),
    st.floats(allow_nan=True).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.tuples(st.integers(0, 10**20), st.integers(-330, 310)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
)


@settings(max_examples=1500, deadline=None)
@given(NUMBERS)
@example("179769313486231580793728971405301e277")
@example("0.1000000000000000055511151231257827021181583404541015625")
@example("2.2250738585072011e-308")
@example("9007199254740993")
@example("1e-400")
@example("1e400")
@example("1_000")
def test_weights_are_rounded_as_python_rounds_them(text):
    compiled, python = both(f"a,b,{text}", Columns(",", 3, 0, 1, 2))
    assert compiled == python
    if isinstance(compiled[0], list) and compiled[2]:
        assert compiled[2] == [float(text)]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from("0123456789a ")), min_size=1, max_size=5),
    st.sampled_from(["\t", ",", ";", " "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from(["", "\n", " \n", "\r\n", "\n\n", "x"]),
)
def test_lines_of_whole_numbers(pairs, separator, end, last):
    text = end.join(f"{a}{separator}{b}" for a, b in pairs) + last
    for first in (0, 1):
        compiled, python = both(text, Columns(separator, 2, first, 1 - first))
        assert compiled == python


def test_many_names_are_numbered_in_their_order():
    random = np.random.default_rng(0)
    ends = random.integers(20_000, size=(50_000, 2)).tolist()
    text = "\n".join(f"n{a},{'long' * (b % 7)}{b}" for a, b in ends)
    compiled, python = both(text, Columns(",", 2))
    order = list(dict.fromkeys(name for line in text.split("\n") for name in line.split(",")))
    assert compiled == python and compiled[3] == order
    compiled, python = both("\n".join(f"{a}\t{b}" for a, b in ends), Columns("\t", 2))
    assert compiled == python and compiled[4] == list(dict.fromkeys(np.ravel(ends).tolist()))
