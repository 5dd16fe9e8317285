"""Named rows of numbers as files that other programs read: npz, csv, word2vec text, parquet."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from weyl.storage import write_whole

Rows = np.ndarray  # (n, …) of floats


def write_table(path: str | os.PathLike, names: list, rows: Rows, kind: str) -> None:
    """Writes rows (n, …) of a kind ("points" or "features") with their names, in the format that the ending names."""
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ValueError(f"{path}: the ending must be one of {', '.join(WRITERS)}")
    write_whole(path, WRITERS[ending](names, rows, kind))


def as_npz(names: list, rows: Rows, kind: str) -> bytes:
    """Arrays "nodes" (text or whole numbers, never pickled) and "points" or "features"."""
    file = io.BytesIO()
    np.savez(file, **{"nodes": np.array(column(names)), kind: rows})  # type: ignore[arg-type]
    return file.getvalue()


def as_csv(names: list, rows: Rows, kind: str) -> bytes:
    """A heading, then a node a line; numbers with all their digits."""
    file = io.StringIO(newline="")
    flat = rows.reshape(len(rows), -1)
    nodes = column(names)
    torn = any("\r" in str(name) for name in nodes)  # csv leaves it bare, though readers end a line there
    writer = csv.writer(
        file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if torn else csv.QUOTE_MINIMAL
    )
    writer.writerow(["node", *headings(flat)])
    writer.writerows([name, *numbers] for name, numbers in zip(nodes, flat.tolist(), strict=True))
    return file.getvalue().encode()


def as_word2vec(names: list, rows: Rows, kind: str) -> bytes:
    """The text form of word2vec: "nodes numbers", then a node a line; white space within names becomes _."""
    flat = rows.reshape(len(rows), -1)
    words = ["_".join(str(name).split()) or "_" for name in column(names)]
    seen: dict[str, object] = {}
    for word, name in zip(words, names, strict=True):
        if word in seen:
            raise ValueError(
                f"word2vec text has no white space in names, and {seen[word]!r} and {name!r} would both be "
                f"{word!r}: export .csv instead"
            )
        seen[word] = name
    lines = [f"{len(words)} {flat.shape[1]}"]
    lines += [f"{word} {' '.join(map(repr, one))}" for word, one in zip(words, flat.tolist(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def as_parquet(names: list, rows: Rows, kind: str) -> bytes:
    """A column "node" and a column a number."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError('parquet needs pyarrow: pip install "weyl[parquet]", or export .npz') from None
    flat = rows.reshape(len(rows), -1)
    columns = {"node": column(names), **dict(zip(headings(flat), flat.T.copy(), strict=True))}
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue().to_pybytes()


WRITERS = {".npz": as_npz, ".csv": as_csv, ".txt": as_word2vec, ".parquet": as_parquet}


def headings(flat: Rows) -> list[str]:
    return [f"x{index}" for index in range(flat.shape[1])]


def column(names: list) -> list:
    """Names as they are where all are whole numbers, else their text, with lone halves of characters spelled out."""
    whole = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in names)
    if whole and all(-(2**63) <= int(name) < 2**63 for name in names):
        return [int(name) for name in names]
    return [str(name).encode("utf-8", "backslashreplace").decode() for name in names]
