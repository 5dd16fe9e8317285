"""The small grammar that names spaces, graphs and metrics, read without ever evaluating anything.

    expression = name [ "(" [ argument { "," argument } ] ")" ]
    argument   = [ name "=" ] value
    value      = whole number | decimal number | "text" | 'text' | True | False | expression

Names hold letters, digits, `_` and `-`, and begin with a letter or `_`; a bare `name` equals `name()`; white
space between the parts is free. Quoted text has no escapes: it holds all that can be printed but its own quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn

LONGEST_TEXT = 10_000  # characters
DEEPEST_NESTING = 50  # levels; far below Python's own recursion limit

# Patterns stay text: compiling them would take most of the import time, and `re` keeps what it has compiled.
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_NUMBER = r"[+-]?(?:[0-9]+(?P<point>\.[0-9]*)?|(?P<bare>\.[0-9]+))(?P<power>[eE][+-]?[0-9]+)?"
_NOT_FINITE = r"(?i:[+-]?(?:inf|infinity|nan)(?![a-z0-9_-]))"
_WORDS = {"True": True, "False": False}


class ExpressionError(ValueError):
    """An expression that cannot be read or built; the message is one line: what, where, what is expected."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A name with its arguments, such as `ball(2, 3, k=-1)`; equal where the canonical text is equal."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    depth: int = field(init=False, repr=False)  # levels of nesting, 1 without nested expressions

    def __post_init__(self):
        object.__setattr__(self, "arguments", tuple(self.arguments))
        object.__setattr__(self, "keywords", dict(self.keywords))
        values = [*self.arguments, *self.keywords.values()]
        for name in (self.name, *self.keywords):
            if not isinstance(name, str) or not re.fullmatch(_NAME, name):
                raise ExpressionError(
                    f"{name!r} is not a name: expected letters, digits, _ and -, a letter first"
                )
        for reason in (_why_no_name(self.name), *map(_why_no_value, values)):
            if reason:
                raise ExpressionError(f"expression {self.name!r}: {reason}")
        object.__setattr__(
            self, "depth", 1 + max((v.depth for v in values if isinstance(v, Expression)), default=0)
        )
        if self.depth > DEEPEST_NESTING:
            raise ExpressionError(f"expression {self.name!r} is nested deeper than {DEEPEST_NESTING} levels")

    def __str__(self) -> str:
        parts = [_text(value) for value in self.arguments]
        parts += [f"{key}={_text(self.keywords[key])}" for key in sorted(self.keywords)]
        return f"{self.name}({', '.join(parts)})" if parts else self.name

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def parse(text: str) -> Expression:
    """Reads `name(argument, ..., keyword=value)`; `parse(str(e)) == e` for every expression `e`."""
    if not isinstance(text, str):
        raise ExpressionError(f"expected text such as 'upper(4)', got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"expression of {len(text)} characters: expected at most {LONGEST_TEXT}")
    if not text.strip():
        raise ExpressionError("empty expression: expected a name such as 'upper(4)'")
    reader = _Reader(text)
    expression = reader.expression(depth=1)
    if reader.peek() == ")":
        reader.fail("this ')' closes no bracket", "the end of the text")
    if reader.peek():
        reader.fail("text after the end of the expression", "the end of the text")
    return expression


class _Reader:
    """A position in a text, moved forward by the rules of the grammar."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def fail(self, what: str, expected: str, position: int | None = None) -> NoReturn:
        position = self.position if position is None else position
        start, end = max(0, position - 16), position + 16
        excerpt = "…" * (start > 0) + self.text[start:end] + "…" * (end < len(self.text))
        raise ExpressionError(f"{what} (column {position + 1}, near {excerpt!r}): expected {expected}")

    def peek(self) -> str:
        """Skips white space and returns the next character, empty at the end."""
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def take(self, pattern: str) -> re.Match[str] | None:
        self.peek()
        match = re.compile(pattern).match(self.text, self.position)
        self.position = match.end() if match else self.position
        return match

    def expression(self, depth: int) -> Expression:
        name = self.take(_NAME)
        if name is None:
            found = repr(self.peek()) if self.peek() else "the end of the text"
            self.fail(f"{found} where a name belongs", "a name such as 'upper(4)'")
        if reason := _why_no_name(name[0]):
            self.fail(reason, "a name such as 'upper(4)'", name.start())
        if depth > DEEPEST_NESTING:
            self.fail("nested too deep", f"at most {DEEPEST_NESTING} levels", name.start())
        return Expression(name[0], *(self.arguments(depth) if self.peek() == "(" else ()))

    def arguments(self, depth: int) -> tuple[list[Any], dict[str, Any]]:
        opened = self.position
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        self.position += 1
        if self.peek() == ")":
            self.position += 1
            return arguments, keywords
        while True:
            self.argument(depth, arguments, keywords)
            mark = self.peek()
            if mark not in (",", ")"):
                if not mark:
                    self.fail(f"the bracket opened at column {opened + 1} is not closed", "',' or ')'")
                self.fail(f"{mark!r} after an argument", "',' or ')'")
            self.position += 1
            if mark == ")":
                return arguments, keywords

    def argument(self, depth: int, arguments: list[Any], keywords: dict[str, Any]) -> None:
        self.peek()
        start, name = self.position, self.take(_NAME)
        if name and self.peek() == "=":
            if name[0] in keywords:
                self.fail(f"keyword {name[0]!r} is given twice", "each keyword once", start)
            self.position += 1
            keywords[name[0]] = self.value(depth)
            return
        self.position = start
        value = self.value(depth)
        if keywords:
            self.fail("argument without a keyword after one with a keyword", "keyword=value", start)
        arguments.append(value)

    def value(self, depth: int) -> Any:
        mark, start = self.peek(), self.position
        if not mark or mark in "),=":
            found = repr(mark) if mark else "the end of the text"
            self.fail(f"{found} where a value belongs", "a number, quoted text, True, False or a name")
        if mark in "\"'":
            return self.quoted(mark)
        if self.take(_NOT_FINITE):
            self.fail("a number that is not finite", "a finite number", start)
        if number := self.take(_NUMBER):
            return self.number(number)
        if mark in "+-.":
            self.fail("not a number", "digits, such as -0.5 or 1e-3")
        word = self.take(_NAME)
        if word and word[0] in _WORDS:
            return _WORDS[word[0]]
        self.position = start
        return self.expression(depth + 1)

    def number(self, match: re.Match[str]) -> int | float:
        try:
            value = float(match[0]) if match["point"] or match["bare"] or match["power"] else int(match[0])
        except ValueError:  # Python refuses to convert thousands of digits
            self.fail("a whole number with too many digits", "a shorter one", match.start())
        if isinstance(value, float) and not isfinite(value):
            self.fail("a number too large for a float", "a finite number", match.start())
        return value

    def quoted(self, quote: str) -> str:
        start = self.position
        end = self.text.find(quote, start + 1)
        if end < 0:
            self.fail("quoted text is not closed", f"a closing {quote}", start)
        value = self.text[start + 1 : end]
        if reason := _why_no_value(value):
            self.fail(reason, "text on one line", start)
        self.position = end + 1
        return value


def _why_no_name(name: str) -> str | None:
    if name in _WORDS:
        return f"{name} is a value, not a name"
    if re.fullmatch(_NOT_FINITE, name):
        return f"{name} is a number that is not finite, not a name"
    return None


def _why_no_value(value: object) -> str | None:
    if isinstance(value, str):
        if not value.isprintable():
            return "text holds a character that cannot be printed"
        return "text holds both kinds of quotes" if '"' in value and "'" in value else None
    if isinstance(value, float):
        return None if isfinite(value) else f"{value} is not a finite number"
    known = isinstance(value, (int, Expression))
    return None if known else f"a value of type {type(value).__name__} cannot be written in an expression"


def _text(value: Any) -> str:
    """The canonical text of one value."""
    if isinstance(value, str):
        return f"'{value}'" if '"' in value else f'"{value}"'
    if isinstance(value, (bool, Expression)):
        return str(value)
    return (float if isinstance(value, float) else int).__repr__(value)  # numpy's float64 would add its type


def build(
    expression: Expression | str,
    constructors: Mapping[str, Callable[..., Any]],
    kind: str = "space",
    listing: str | None = "weyl spaces",
) -> Any:
    """Calls the constructor that the expression names; nested expressions are built first, in the same way.

    A constructor with the attribute `quoted = True` receives its nested expressions as they are, not built.
    `kind` and `listing` (the command that lists all names; None: the message lists them) serve the messages.
    """
    if not isinstance(expression, Expression | str):
        raise ExpressionError(f"expected the text of a {kind}, got {type(expression).__name__}")
    expression = parse(expression) if isinstance(expression, str) else expression
    return _build(expression, constructors, kind, listing, inside=None)


def _build(
    expression: Expression, constructors: Mapping, kind: str, listing: str | None, inside: Expression | None
) -> Any:
    name = expression.name
    if name not in constructors:
        raise ExpressionError(_unknown(expression, constructors, kind, listing, inside))
    constructor = constructors[name]
    _check_arguments(expression, constructor)  # before the nested ones, which may be large graphs

    def resolve(value: Any) -> Any:
        nested = isinstance(value, Expression) and not getattr(constructor, "quoted", False)
        return _build(value, constructors, kind, listing, inside=expression) if nested else value

    arguments = [resolve(value) for value in expression.arguments]
    keywords = {key: resolve(value) for key, value in expression.keywords.items()}
    try:
        return constructor(*arguments, **keywords)
    except (ValueError, TypeError) as error:  # TypeError: text where the constructor computes with a number
        message = " ".join(str(error).split()) or type(error).__name__
        raise ExpressionError(f"{_shorten(expression)}: {message}") from error


def _unknown(
    expression: Expression, constructors: Mapping, kind: str, listing: str | None, inside: Expression | None
) -> str:
    message = f"unknown {kind} {expression.name!r}"
    if inside is not None:
        message += f" in {_shorten(inside)}"
    bare_value = inside is not None and not expression.arguments and not expression.keywords
    near = _near(expression.name, [*constructors, *(_WORDS if bare_value else ())])
    message += f"; did you mean {near}?" if near else ";"
    message += f" `{listing}` lists all" if listing else f" expected one of {', '.join(sorted(constructors))}"
    return message + (f'; text stands in quotes: "{expression.name}"' if bare_value else "")


def _check_arguments(expression: Expression, constructor: Callable[..., Any]) -> None:
    """Compares the arguments with the constructor's signature, without calling it."""
    from inspect import Parameter

    parameters = _parameters(constructor)
    if parameters is None:
        return
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_keyword = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    kinds = {p.kind for p in parameters}  # to see whether any number of arguments or any keyword is welcome
    given = [p.name for p in by_position[: len(expression.arguments)]]
    required = [
        p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    missing = [name for name in required if name not in given and name not in expression.keywords]
    repeated = [name for name in expression.keywords if name in given and name in by_keyword]
    unknown = [name for name in expression.keywords if name not in by_keyword]
    problem = None
    if len(expression.arguments) > len(by_position) and Parameter.VAR_POSITIONAL not in kinds:
        counted = f"{len(by_position)} argument{'s' * (len(by_position) != 1)}"
        problem = f"expected at most {counted} without a keyword, got {len(expression.arguments)}"
    elif unknown and Parameter.VAR_KEYWORD not in kinds:
        near = _near(unknown[0], by_keyword)
        problem = f"unknown keyword {unknown[0]!r}" + (f"; did you mean {near}?" if near else "")
    elif repeated:
        problem = f"{repeated[0]!r} is given twice"
    elif missing:
        problem = f"missing {', '.join(map(repr, missing))}"
    if problem:
        pause = "" if problem.endswith("?") else ";"
        raise ExpressionError(
            f"{_shorten(expression)}: {problem}{pause} usage: {usage(expression.name, constructor)}"
        )


def usage(name: str, constructor: Callable[..., Any]) -> str:
    """The line that shows how to write an expression, such as `ball(p, q, field="R", k=-1)`."""
    parts = []
    for parameter in _parameters(constructor) or ():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            parts.append(f"{parameter.name}...")
        elif parameter.default is not parameter.empty:
            default = parameter.default
            parts.append(f"{parameter.name}={default if _why_no_value(default) else _text(default)}")
        else:
            parts.append(
                f"{parameter.name}=..." if parameter.kind is parameter.KEYWORD_ONLY else parameter.name
            )
    return f"{name}({', '.join(parts)})" if parts else name


def _parameters(constructor: Callable[..., Any]) -> list[Any] | None:
    import inspect

    try:
        return list(inspect.signature(constructor).parameters.values())
    except ValueError:  # some callables written in C do not tell
        return None


def _near(name: str, names: Iterable[str]) -> str:
    """Up to three names that look like this one, ready for a message; upper and lower case count as near."""
    from difflib import get_close_matches

    by_lower: dict[str, list[str]] = {}
    for candidate in names:
        by_lower.setdefault(candidate.lower(), []).append(candidate)
    near = [c for lower in get_close_matches(name.lower(), by_lower, cutoff=0.7) for c in by_lower[lower]]
    return " or ".join(map(repr, near[:3]))


def _shorten(expression: Expression) -> str:
    text = str(expression)
    return text if len(text) <= 60 else text[:57] + "..."
