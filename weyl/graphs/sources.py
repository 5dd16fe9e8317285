"""What a graph argument may be, and which reader it goes to; where it names an existing file, the file wins."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from weyl.expression import Expression, build

from . import catalogue
from .files import SUFFIXES, read_file
from .generators import GENERATORS
from .graph import Graph


def read(source: Any, data: str | os.PathLike | None) -> Graph:
    """The graph of an expression, a path, a dataset's name or an object."""
    if isinstance(source, Graph):
        return source
    if (
        isinstance(source, str | os.PathLike)
        and str(source).strip()
        and (path := _as_path(source)) is not None
    ):
        return read_file(path)
    if isinstance(source, str | Expression):
        files = {name: partial(read_file, path) for name, path in catalogue.others(data).items()}
        datasets = {name: partial(catalogue.load, name, data) for name in catalogue.DATASETS}
        return build(source, {**files, **GENERATORS, **datasets}, kind="graph", listing="weyl datasets")
    from .objects import from_object

    return from_object(source)


def _as_path(source: str | os.PathLike) -> Path | None:
    """The path that a source is, None where it is an expression."""
    try:
        path = Path(source).expanduser()
    except (ValueError, RuntimeError):  # no home
        return None
    name = path.name.lower()
    looks = name.endswith((*SUFFIXES, ".gz")) or (os.sep in str(source) and "(" not in str(source))
    if looks or isinstance(source, os.PathLike):
        return path
    try:
        is_folder = path.is_dir()
        exists = path.exists()
    except (OSError, ValueError):  # too long for a path
        return None
    is_name = str(source).split("(")[0].strip() in {*GENERATORS, *catalogue.DATASETS}
    return path if exists and not (is_folder and is_name) else None
