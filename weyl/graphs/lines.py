"""Lines `source target [weight]` read in Python as native/edge_list.hpp reads them: the same names and problems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import chain
from math import isinf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .columns import Columns

BLANKS = " "  # as a separator: any run of spaces and tabs
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[^ \t]+")
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


class Trouble(IntEnum):
    """What a line may suffer from, as the compiled reader numbers it."""

    COLUMNS = 1
    OPEN_QUOTE = 2
    AFTER_QUOTE = 3
    EMPTY_NAME = 4
    NOT_A_NUMBER = 5
    NOT_A_LENGTH = 6


class BadLine(Exception):
    """A line that cannot be read: the trouble, the number of the line, and the field (or the number of fields)."""

    def __init__(self, trouble: Trouble, line: int = 0, field: str = ""):
        self.trouble, self.line, self.field = trouble, line, field
        super().__init__(trouble, line, field)


class EdgeLines(NamedTuple):
    """Edges between numbered names; names that are whole numbers all of them stand in `numbers` instead."""

    first: np.ndarray  # (m,) int64
    second: np.ndarray
    weights: np.ndarray | None  # (m,) float64
    names: list[str] | None
    numbers: np.ndarray | None  # int64


def content(line: str) -> str:
    """A line without the white space at its end; empty where it is blank or a comment."""
    line = line.rstrip(" \t\r")
    start = line.lstrip(" \t")
    return "" if start.startswith(("#", "%", "//")) else line


def fields(line: str, separator: str) -> list[str]:
    """The fields of a line's content, quotes taken off."""
    if '"' in line:
        return _quoted_fields(line, separator)
    if separator == BLANKS:
        return _WORD.findall(line)
    return [field.strip(" \t") for field in line.split(separator)]


def number(field: str) -> float | None:
    """The number that a field writes, None where it is none."""
    return float(field) if _NUMBER.fullmatch(field) else None


def whole_numbers(names: Sequence[str]) -> np.ndarray | None:
    """Names as whole numbers, where each is one written without leading zeros."""
    if names and all(
        name.isascii() and name.isdigit() and len(name) <= 18 and (name[0] != "0" or len(name) == 1)
        for name in names
    ):
        return np.array([int(name) for name in names], np.int64)
    return None


def read(data: bytes, line: int, columns: Columns) -> EdgeLines:
    """The edges of a text whose first line has the number `line`; BadLine for the first that is none."""
    plain = _plain_numbers(data, columns)
    if plain is not None:
        return plain
    numbered = [(k, kept) for k, one in enumerate(data.decode().split("\n"), line) if (kept := content(one))]
    try:
        rows = [fields(kept, columns.separator) for _, kept in numbered]
        wrong = any(len(row) != columns.count for row in rows)
    except BadLine:
        wrong = True
    if not wrong:
        table = list(zip(*rows, strict=True)) or [()] * columns.count
        weights = None if columns.weight < 0 else [number(field) or 0.0 for field in table[columns.weight]]
        ends = table[columns.first], table[columns.second]
        wrong = any("" in end for end in ends) or not all(map(_is_length, weights or ()))
    if wrong:
        for k, kept in numbered:
            _check(k, kept, columns)
    in_order = ends if columns.first < columns.second else ends[::-1]
    names = list(dict.fromkeys(chain.from_iterable(zip(*in_order, strict=True))))
    place = {name: index for index, name in enumerate(names)}
    first, second = (np.array([place[name] for name in end], np.int64) for end in ends)
    numbers = whole_numbers(names)
    lengths = None if weights is None else np.array(weights, np.float64)
    return EdgeLines(first, second, lengths, names if numbers is None else None, numbers)


def _plain_numbers(data: bytes, columns: Columns) -> EdgeLines | None:
    """The edges of lines that are two whole numbers each, without a loop over them; None where a line is not."""
    whole, blanks = rb"(?:0|[1-9]\d{0,17})", columns.separator == BLANKS
    between = rb"[ \t]++" if blanks else re.escape(columns.separator.encode())
    if columns.count != 2 or not re.fullmatch(rb"(?:%b%b%b\r?(?:\n|\Z))++" % (whole, between, whole), data):
        return None
    values = np.fromstring(data.replace(columns.separator.encode(), b" "), np.int64, sep=" ")
    numbers, seen, index = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(seen)  # numbered as they come
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ends = rank[index].reshape(-1, 2)
    return EdgeLines(ends[:, columns.first], ends[:, columns.second], None, None, numbers[order])


def _is_length(weight: float) -> bool:
    return weight > 0 and not isinf(weight)


def _check(line: int, kept: str, columns: Columns) -> None:
    """Raises what is wrong with one line, if anything is."""
    try:
        found = fields(kept, columns.separator)
    except BadLine as bad:
        raise BadLine(bad.trouble, line) from None
    if len(found) != columns.count:
        raise BadLine(Trouble.COLUMNS, line, str(len(found)))
    for column, field in enumerate(found):
        if column in (columns.first, columns.second) and not field:
            raise BadLine(Trouble.EMPTY_NAME, line)
        if column == columns.weight:
            value = number(field)
            if value is None:
                raise BadLine(Trouble.NOT_A_NUMBER, line, field)
            if not _is_length(value):
                raise BadLine(Trouble.NOT_A_LENGTH, line, field)


def _quoted_fields(line: str, separator: str) -> list[str]:
    blanks = separator == BLANKS
    before = " " if separator == "\t" else " \t"
    ending = re.compile(r"[ \t]|\Z" if blanks else re.escape(separator) + r"|\Z")
    found, at = [], 0
    while True:
        while at < len(line) and line[at] in before:
            at += 1
        if line.startswith('"', at):
            quoted = _QUOTED.match(line, at)
            if quoted is None:
                raise BadLine(Trouble.OPEN_QUOTE)
            found.append(quoted[1].replace('""', '"'))
            at = quoted.end()
            while not blanks and line.startswith(" ", at):
                at += 1
            if not ending.match(line, at):
                raise BadLine(Trouble.AFTER_QUOTE)
        else:
            stop = ending.search(line, at).start()  # type: ignore[union-attr]
            found.append(line[at:stop].rstrip(" \t"))
            at = stop
        while blanks and at < len(line) and line[at] in before:
            at += 1
        if at >= len(line):
            return found
        at += not blanks
