"""What the columns of an edge list are: separator, ends, weight, header; found in its first lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from .lines import BLANKS, BadLine, content, fields, number, whole_numbers

LOOKED_LINES = 100
SEPARATORS = {
    "\t": "tabs",
    ";": "semicolons",
    ",": "commas",
    BLANKS: "blanks",
}  # the first that fits is taken
EXPECTED = "lines `source target [weight]`"
# Names in a header, without regard to case, blanks, _ and -.
ENDS = (
    ("source", "target"), ("source", "destination"), ("source", "dest"), ("src", "dst"), ("src", "dest"),
    ("src", "target"), ("from", "to"), ("fromnodeid", "tonodeid"), ("fromnode", "tonode"), ("fromid", "toid"),
    ("origin", "destination"), ("sourceid", "targetid"), ("start", "end"), ("head", "tail"), ("parent", "child"),
    ("node1", "node2"), ("id1", "id2"),
)  # fmt: skip
LENGTHS = ("weight", "weights", "length", "distance", "dist", "cost", "w")
NO_LENGTHS = (
    "id",
    "edgeid",
    "type",
    "label",
    "kind",
    "relation",
    "time",
    "timestamp",
    "date",
    "year",
    "sign",
)


@dataclass(frozen=True)
class Columns:
    """Columns count from 0, a weight of -1 stands for none; edges begin `start` bytes into the text, in line `line`."""

    separator: str
    count: int
    first: int = 0
    second: int = 1
    weight: int = -1
    start: int = 0
    line: int = 1
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What a line should hold, for a message."""
        plain = self.first == 0 and self.second == 1 and self.weight == (2 if self.count == 3 else -1)
        if plain and self.count <= 3:
            said = "source, target, weight" if self.count == 3 else "source, target"
        else:
            said = "as in the header"
        return f"{said}, separated by {SEPARATORS[self.separator]}"


def find_columns(text: bytes) -> Columns:
    """The columns of an edge list in UTF-8; ValueError where it has no edges, or columns that nothing explains."""
    looked = list(islice(content_lines(text), LOOKED_LINES))
    if not looked:
        raise ValueError(
            f"{'only comments and blank lines' if text.strip() else 'an empty file'}, expected {EXPECTED}"
        )
    separator, count = _separator([kept for _, _, kept in looked])
    rows = [_fields(kept, separator) for _, _, kept in looked]
    if len(rows[0]) == 1 and count < 2:
        raise ValueError(
            f"line {looked[0][0]}: one field alone, expected {EXPECTED}, separated by tabs, commas or blanks"
        )
    header = _is_header(rows, count)
    if header is None:
        if count > 3:
            raise ValueError(
                f"line {looked[0][0]}: {count} fields, separated by {SEPARATORS[separator]}: expected {EXPECTED}, or a "
                "header that names source and target; a matrix of distances is read from .npy"
            )
        return Columns(separator, max(count, 2), weight=2 if count == 3 else -1)
    line, start, _ = looked[0]
    if len(looked) == 1:
        raise ValueError(f"line {line}: only a header, expected {EXPECTED} below it")
    first, second, weight, notes = _named(rows[0], header)
    return Columns(separator, len(rows[0]), first, second, weight, start, line + 1, notes)


def content_lines(text: bytes) -> Iterator[tuple[int, int, str]]:
    """Number, offset behind it, and content of every line that is not blank and no comment."""
    at = line = 0
    while at < len(text):
        stop = text.find(b"\n", at)
        stop = len(text) if stop < 0 else stop
        line, kept, at = line + 1, content(text[at:stop].decode()), stop + 1
        if kept:
            yield line, at, kept


def _fields(line: str, separator: str) -> list[str]:
    try:
        return fields(line, separator)
    except BadLine:  # the reader will say which line it is
        return []


def _separator(lines: Sequence[str]) -> tuple[str, int]:
    """The separator that explains most lines, and into how many fields."""
    best: tuple[tuple[bool, int], str, int] | None = None
    for separator in SEPARATORS:
        rows = [_fields(line, separator) for line in lines]
        count, times = max(Counter(map(len, rows)).items(), key=lambda item: (item[1], item[0]))
        if count < 2:
            continue
        weighted = count == 3 and sum(_is_number(row[2:3]) for row in rows) * 2 >= len(rows)
        plain = count == 2 or weighted or _is_header(rows, count) is not None
        score = (plain, times)
        if best is None or score > best[0]:
            best = score, separator, count
    return (BLANKS, 0) if best is None else best[1:]


def _is_number(field: Sequence[str]) -> bool:
    """Whether there is a field, and it is a number, be it with a decimal comma, which the reader will refuse."""
    return bool(field) and number(field[0].replace(",", ".")) is not None


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c not in " _-")


def _is_header(rows: Sequence[Sequence[str]], count: int) -> tuple[int, int] | None:
    """The columns of the two ends, where the first line is a header: by its words, or because numbers follow it."""
    head, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    words = [_plain(name) for name in head]
    for ends in ENDS:
        if all(words.count(end) == 1 for end in ends):
            first, second = (words.index(end) for end in ends)
            if not _reappears(head, rest, first, second):
                return first, second
    if len(head) != count or not 2 <= count <= 3 or not rest or any(map(_is_number, zip(head))):
        return None
    if _reappears(head, rest, 0, 1):
        return None
    weighted = count == 3 and all(_is_number(row[2:3]) for row in rest)
    numbered = whole_numbers([field for row in rest for field in row[:2] if field] or ["x"]) is not None
    return (0, 1) if weighted or numbered else None


def _reappears(head: Sequence[str], rest: Sequence[Sequence[str]], first: int, second: int) -> bool:
    """Whether the first line names nodes, since one of the names stands in a later line too."""
    return any({head[first], head[second]} & {row[first], row[second]} for row in rest)


def _named(head: Sequence[str], ends: tuple[int, int]) -> tuple[int, int, int, tuple[str, ...]]:
    """The columns of a header, with a note about what is not plain from its words."""
    words, notes = [_plain(name) for name in head], []
    if not any(ends == tuple(words.index(end) for end in pair) for pair in ENDS if set(pair) <= set(words)):
        notes.append(f"read the first line as a header: {_shown(head)}")
    others = [column for column in range(len(head)) if column not in ends]
    named = [words.index(name) for name in LENGTHS if name in words and words.index(name) in others]
    weight = named[0] if named else -1
    if weight < 0 and len(head) == 3 and words[others[0]] not in NO_LENGTHS:
        weight = others[0]
        notes.append(f"took the column {head[weight]!r} for lengths")
    if ignored := [head[column] for column in others if column != weight and head[column]]:
        notes.append(f"ignored the column{'s' * (len(ignored) > 1)} {_shown(ignored)}")
    return *ends, weight, tuple(notes)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", …" if len(names) > 6 else "")
