"""Edge lists as text: decoded, read by the compiled reader or lines.py, their problems put into words."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

import numpy as np

from . import lines, native
from .columns import Columns, find_columns
from .graph import Graph
from .lines import BadLine, EdgeLines, Trouble
from .tidy import tidy, weight_problem

LONGEST_SHOWN = 40  # characters of a field in a message


def from_text(name: str, data: bytes) -> Graph:
    """The graph of lines `source target [weight]` with or without a header; # % // begin comments."""
    text = utf8(data)
    columns = find_columns(text)
    found = read_edges(text, columns)
    nodes, first, second = _nodes(found)
    return tidy(name, nodes, first, second, found.weights, columns.notes)


def utf8(data: bytes) -> bytes:
    """The text in UTF-8, without a byte order mark, its lines ended by a line feed."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise ValueError("damaged UTF-16: save the file as UTF-8") from None
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:4096]:
        raise ValueError("not a text file, nor one of the formats .graphml .mtx .npz .npy by its name")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ValueError(
                f"line {line}: byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
            ) from None
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def read_edges(text: bytes, columns: Columns) -> EdgeLines:
    """The edges of a text in UTF-8; ValueError for the first line that is none."""
    try:
        return _read(text, columns)
    except BadLine as bad:
        raise ValueError(f"line {bad.line}: {_problem(bad, columns)}") from None


def _read(text: bytes, columns: Columns) -> EdgeLines:
    compiled = native.extension()
    if compiled is None:
        return lines.read(text[columns.start :], columns.line, columns)
    room = text.count(b"\n", columns.start) + 1
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    weights = None if columns.weight < 0 else np.empty(room)
    found = compiled.edge_list(
        text, columns.start, columns.line, columns.separator, columns.count,
        columns.first, columns.second, columns.weight, first, second, weights,
    )  # fmt: skip
    if len(found) == 3:
        trouble, line, field = found
        raise BadLine(Trouble(trouble), line, field.decode())
    edges, names, numbers, _ = found
    return EdgeLines(
        first[:edges],
        second[:edges],
        None if weights is None else weights[:edges],
        names,
        None if numbers is None else np.frombuffer(numbers, np.int64),
    )


def _nodes(found: EdgeLines) -> tuple[Sequence, np.ndarray, np.ndarray]:
    """Nodes with the edges between their rows: whole numbers in their order, other names as they come."""
    if found.numbers is None:
        return found.names or [], found.first, found.second
    numbers = found.numbers
    if len(numbers) and numbers.max() == len(numbers) - 1:  # each number is there once, so none is missing
        return range(len(numbers)), numbers[found.first], numbers[found.second]
    order = np.argsort(numbers)
    row = np.empty_like(order)
    row[order] = np.arange(len(order))
    return numbers[order].tolist(), row[found.first], row[found.second]


def _problem(bad: BadLine, columns: Columns) -> str:
    field = bad.field if len(bad.field) <= LONGEST_SHOWN else bad.field[:LONGEST_SHOWN] + "…"
    if bad.trouble is Trouble.COLUMNS:
        return f"{field} field{'s' * (field != '1')}, expected {columns.count}: {columns.meaning}"
    if bad.trouble is Trouble.NOT_A_NUMBER:
        return f"weight {field!r} is not a number"
    if bad.trouble is Trouble.NOT_A_LENGTH:
        return weight_problem(float(bad.field))
    return {
        Trouble.OPEN_QUOTE: 'a quote " is not closed',
        Trouble.AFTER_QUOTE: 'text follows a closing quote "; quotes within a field are doubled',
        Trouble.EMPTY_NAME: "a node has no name",
    }[bad.trouble]
