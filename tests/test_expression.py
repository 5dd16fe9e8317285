"""The grammar reads back what it writes, refuses everything else in one line, and never evaluates."""

import ast
import inspect
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weyl.expression
from weyl.expression import DEEPEST_NESTING, LONGEST_TEXT, Expression, ExpressionError, build, parse, usage

NUMBERLIKE = {"inf", "infinity", "nan"}
names = st.builds(
    lambda first, rest: first + rest,
    st.sampled_from(string.ascii_letters + "_"),
    st.text(string.ascii_letters + string.digits + "_-", max_size=8),
)
expression_names = names.filter(lambda name: name not in ("True", "False") and name.lower() not in NUMBERLIKE)
texts = st.text(max_size=12).filter(lambda text: text.isprintable() and not ('"' in text and "'" in text))
plain_values = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    texts,
    expression_names.map(Expression),
)
expressions = st.recursive(
    st.builds(Expression, expression_names),
    lambda inner: st.builds(
        Expression,
        expression_names,
        st.lists(plain_values | inner, max_size=4).map(tuple),
        st.dictionaries(names, plain_values | inner, max_size=3),
    ),
    max_leaves=12,
)


def types(expression):
    """The tree of value types, since 1, 1.0 and True are equal in Python."""
    values = [*expression.arguments, *(expression.keywords[key] for key in sorted(expression.keywords))]
    return [types(v) if isinstance(v, Expression) else (type(v), v) for v in values]


steady = settings(deadline=None, derandomize=True)  # the same examples in every run, on slow machines too


@steady
@given(expressions)
def test_what_is_written_reads_back_the_same(expression):
    again = parse(str(expression))
    assert again == expression and hash(again) == hash(expression)
    assert types(again) == types(expression) and str(again) == str(expression)


@steady
@given(expressions, st.randoms(use_true_random=False))
def test_white_space_between_the_parts_is_free(expression, random):
    text, quote, spaced = str(expression), None, ""
    for character in text:
        quote = None if character == quote else quote or (character if character in "\"'" else None)
        spaced += character + (
            random.choice(["", " ", "\n\t"]) if quote is None and character in "(),=" else ""
        )
    assert parse(f" {spaced}\n") == expression


grammar_pieces = st.sampled_from(
    [*"()=,\"'+-._ 019aZ\n\0é", "name", "True", "inf", "nan", "1e999", "k=", "f(", "__import__('os')"]
)


@settings(steady, max_examples=300)
@given(st.one_of(st.text(), st.lists(grammar_pieces, max_size=30).map("".join)))
def test_garbage_raises_nothing_but_a_one_line_expression_error(text):
    try:
        expression = parse(text)
    except ExpressionError as error:
        message = str(error)
    else:
        message = ""
        assert parse(str(expression)) == expression
    assert len(message) < 300
    assert message.isprintable()


def test_never_evaluates():
    used = {
        node.id
        for node in ast.walk(ast.parse(inspect.getsource(weyl.expression)))
        if isinstance(node, ast.Name)
    }
    assert not used & {"eval", "exec", "compile", "__import__", "globals", "locals", "open"}
    with pytest.raises(ExpressionError, match="unknown space '__import__'"):
        build("__import__('os')", {})


@pytest.mark.parametrize(
    "text, name, arguments, keywords",
    [
        ("upper", "upper", (), {}),
        (" upper ( ) ", "upper", (), {}),
        ("tree-x-grid", "tree-x-grid", (), {}),
        ("grid(3,4)", "grid", (3, 4), {}),
        ("f(-0.5, 1e-3, .5, 1., +7, -3)", "f", (-0.5, 0.001, 0.5, 1.0, 7, -3), {}),
        ("ball(2, 3, field='C', k=-1)", "ball", (2, 3), {"field": "C", "k": -1}),
        ("A(4, compact=True)", "A", (4,), {"compact": True}),
        ("power(upper(2), 3)", "power", (Expression("upper", (2,)), 3), {}),
        (
            "cartesian(karate, tree-o-grids)",
            "cartesian",
            (Expression("karate"), Expression("tree-o-grids")),
            {},
        ),
        (r"file('C:\data\my graph.tsv')", "file", (r"C:\data\my graph.tsv",), {}),
    ],
)
def test_reads(text, name, arguments, keywords):
    expression = parse(text)
    assert (expression.name, expression.arguments, expression.keywords) == (name, arguments, keywords)


def test_canonical_text():
    assert str(parse("ball( 2,3 , k=-1.50, field='R' )")) == 'ball(2, 3, field="R", k=-1.5)'
    assert str(parse("upper()")) == "upper" and str(parse("f('a\"b')")) == "f('a\"b')"
    assert str(Expression("f", (1e-3, True, 2))) == "f(0.001, True, 2)"
    assert parse("f(1)") != parse("f(1.0)") != parse("f(True)") and parse("f(a=1,b=2)") == parse("f(b=2,a=1)")


LEVELS = "a(" * DEEPEST_NESTING + ")" * DEEPEST_NESTING


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty expression: expected a name such as 'upper(4)'"),
        (" \n", "empty expression: expected a name such as 'upper(4)'"),
        (None, "expected text such as 'upper(4)', got NoneType"),
        (4, "expected text such as 'upper(4)', got int"),
        ("x" * (LONGEST_TEXT + 1), "expression of 10001 characters: expected at most 10000"),
        ("4", "'4' where a name belongs (column 1, near '4'): expected a name such as 'upper(4)'"),
        ("True", "True is a value, not a name (column 1, near 'True'): expected a name such as 'upper(4)'"),
        (
            "upper(4",
            "the bracket opened at column 6 is not closed (column 8, near 'upper(4'): expected ',' or ')'",
        ),
        (
            "upper(",
            "the end of the text where a value belongs (column 7, near 'upper('): expected a number, quoted",
        ),
        (
            "upper(4))",
            "this ')' closes no bracket (column 9, near 'upper(4))'): expected the end of the text",
        ),
        (
            "upper(4) 5",
            "text after the end of the expression (column 10, near 'upper(4) 5'): expected the end",
        ),
        (
            "f(1,)",
            "')' where a value belongs (column 5, near 'f(1,)'): expected a number, quoted text, True, False",
        ),
        ("f(,1)", "',' where a value belongs (column 3, near 'f(,1)'): expected a number"),
        ("f(1 2)", "'2' after an argument (column 5, near 'f(1 2)'): expected ',' or ')'"),
        (
            "f(k=1, k=2)",
            "keyword 'k' is given twice (column 8, near 'f(k=1, k=2)'): expected each keyword once",
        ),
        (
            "f(k=1, 2)",
            "argument without a keyword after one with a keyword (column 8, near 'f(k=1, 2)'): expected key",
        ),
        ("f('a", "quoted text is not closed (column 3, near \"f('a\"): expected a closing '"),
        (
            "f('a\nb')",
            "text holds a character that cannot be printed (column 3, near \"f('a\\nb')\"): expected text on",
        ),
        ("f(-x)", "not a number (column 3, near 'f(-x)'): expected digits, such as -0.5 or 1e-3"),
        ("f(inf)", "a number that is not finite (column 3, near 'f(inf)'): expected a finite number"),
        (
            "f(k=-Infinity)",
            "a number that is not finite (column 5, near 'f(k=-Infinity)'): expected a finite number",
        ),
        ("f(nan)", "a number that is not finite (column 3, near 'f(nan)'): expected a finite number"),
        ("f(1e999)", "a number too large for a float (column 3, near 'f(1e999)'): expected a finite number"),
        (
            "f(" + "9" * 5000 + ")",
            "a whole number with too many digits (column 3, near 'f(9999999999999999…'): expected",
        ),
        (f"a({LEVELS})", "nested too deep (column 101, near '…a(a(a(a(a("),
    ],
)
def test_refuses_in_one_line(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value).startswith(message) and str(caught.value).isprintable()


def test_nesting_up_to_the_limit_is_read_and_written():
    assert parse(LEVELS).depth == DEEPEST_NESTING and parse(str(parse(LEVELS))) == parse(LEVELS)
    with pytest.raises(ExpressionError, match="deeper than 50 levels"):
        Expression("a", (parse(LEVELS),))
    with pytest.raises(ExpressionError, match="at most 50 levels"):
        parse("a(" * (LONGEST_TEXT // 2))


@pytest.mark.parametrize(
    "parts, message",
    [
        (("a b",), "'a b' is not a name"),
        (("inf",), "not finite"),
        (("f", (None,)), "NoneType cannot be written"),
        (("f", (float("nan"),)), "nan is not a finite number"),
        (("f", ("\"'",)), "both kinds of quotes"),
        (("f", (), {"a b": 1}), "'a b' is not a name"),
    ],
)
def test_an_expression_made_by_hand_is_checked_too(parts, message):
    with pytest.raises(ExpressionError, match=message):
        Expression(*parts)


def upper(n):
    if n < 1:
        raise ValueError("rank must be a positive\nwhole number")
    return f"U{n}"


def ball(p, q, field="R", k=-1):
    return f"B{p}{q}{field}{k}"


def product(*spaces):
    return "x".join(spaces)


def unoriented(n, *, compact):
    return compact


def rule(graph, **options):
    return graph, options


rule.quoted = True
CONSTRUCTORS = {"upper": upper, "ball": ball, "product": product, "unoriented": unoriented, "rule": rule}


def test_builds():
    assert build("upper(4)", CONSTRUCTORS) == "U4"
    assert build(parse('product(upper(2), ball(1, q=3, field="C"))'), CONSTRUCTORS) == "U2xB13C-1"
    assert build("unoriented(2, compact=True)", CONSTRUCTORS) is True
    assert build("complex(1, 2)", {"complex": complex}) == 1 + 2j


def test_a_quoted_constructor_receives_its_expressions_unbuilt():
    assert build("rule(anything(3), k=learn)", CONSTRUCTORS) == (parse("anything(3)"), {"k": parse("learn")})


def test_arguments_are_checked_before_anything_nested_is_built():
    built = []
    with pytest.raises(ExpressionError, match="expected at most 1 argument"):
        build("once(large, large)", {"once": lambda n: n, "large": lambda: built.append(1)})
    assert not built


@pytest.mark.parametrize(
    "text, message",
    [
        ("uper(4)", "unknown space 'uper'; did you mean 'upper'? `weyl spaces` lists all"),
        ("Upper(4)", "unknown space 'Upper'; did you mean 'upper'? `weyl spaces` lists all"),
        ("zzz", "unknown space 'zzz'; `weyl spaces` lists all"),
        (
            "product(uper(4))",
            "unknown space 'uper' in product(uper(4)); did you mean 'upper'? `weyl spaces` lists all",
        ),
        (
            "ball(1, 2, k=learn)",
            "unknown space 'learn' in ball(1, 2, k=learn); `weyl spaces` lists all; "
            'text stands in quotes: "learn"',
        ),
        ("upper", "upper: missing 'n'; usage: upper(n)"),
        ("ball(k=1)", "ball(k=1): missing 'p', 'q'; usage: ball(p, q, field=\"R\", k=-1)"),
        ("unoriented(2)", "unoriented(2): missing 'compact'; usage: unoriented(n, compact=...)"),
        ("upper(1, 2)", "upper(1, 2): expected at most 1 argument without a keyword, got 2; usage: upper(n)"),
        ("upper(1, n=2)", "upper(1, n=2): 'n' is given twice; usage: upper(n)"),
        (
            "ball(1, 2, feild=3)",
            "ball(1, 2, feild=3): unknown keyword 'feild'; did you mean 'field'? "
            'usage: ball(p, q, field="R", k=-1)',
        ),
        ("upper(0)", "upper(0): rank must be a positive whole number"),
        ("product(upper(2), upper(-1))", "upper(-1): rank must be a positive whole number"),
        ("upper('a')", "upper(\"a\"): '<' not supported between instances of 'str' and 'int'"),
    ],
)
def test_says_what_is_wrong_with_the_call(text, message):
    with pytest.raises(ExpressionError) as caught:
        build(text, CONSTRUCTORS)
    assert str(caught.value) == message


def test_words_in_lower_case_are_explained():
    with pytest.raises(ExpressionError, match="did you mean 'True'"):
        build("unoriented(2, compact=true)", CONSTRUCTORS)


def test_the_message_names_what_was_asked_for():
    with pytest.raises(
        ExpressionError, match=r"unknown graph 'tre'; did you mean 'tree'\? `weyl datasets` lists all"
    ):
        build("tre", {"tree": upper}, kind="graph", listing="weyl datasets")


@pytest.mark.parametrize(
    "constructor, line",
    [
        (ball, 'name(p, q, field="R", k=-1)'),
        (product, "name(spaces...)"),
        (unoriented, "name(n, compact=...)"),
        (lambda: None, "name"),
        (lambda seed=None: None, "name(seed=None)"),
    ],
)
def test_usage(constructor, line):
    assert usage("name", constructor) == line
