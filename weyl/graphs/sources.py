"""What a graph argument may be, and which reader it goes to; where it names an existing file, the file wins."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from weyl.expression import Expression, build

from . import catalogue
from .generators import GENERATORS
from .graph import Graph


def read(source: Any, data: str | os.PathLike | None) -> Graph:
    """The graph of an expression, a path, a dataset's name or an object."""
    if isinstance(source, Graph):
        return source
    if isinstance(source, str | os.PathLike) and (path := _as_path(source)) is not None:
        from .files import read_file

        return read_file(path)
    if isinstance(source, str | Expression):
        datasets = {name: partial(catalogue.load, name, data) for name in catalogue.DATASETS}
        return build(source, {**GENERATORS, **datasets}, kind="graph", listing="weyl datasets")
    from .objects import from_object

    return from_object(source)


def _as_path(source: str | os.PathLike) -> Path | None:
    """The path that a source is, None where it is an expression."""
    try:
        path = Path(source).expanduser()
        exists = path.is_file() or (path.exists() and not path.is_dir())
    except (OSError, ValueError, RuntimeError):  # too long for a path, no home
        return None
    name = path.name.lower()
    looks = name.endswith((*_suffixes(), ".gz")) or (os.sep in str(source) and "(" not in str(source))
    if exists or looks or isinstance(source, os.PathLike):
        return path
    is_name = str(source).split("(")[0].strip() in {*GENERATORS, *catalogue.DATASETS}
    return path if path.is_dir() and not is_name else None


def _suffixes() -> tuple[str, ...]:
    from .files import SUFFIXES

    return SUFFIXES
