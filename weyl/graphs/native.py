"""The compiled part of this room (native/graphs_module.cpp), None where nothing was compiled; it fills arrays."""

from __future__ import annotations

import functools
import logging
import os
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@functools.cache
def extension() -> ModuleType | None:
    """weyl._native, None where weyl was installed without a compiler; said once."""
    try:
        from weyl import _native
    except ImportError:
        logging.getLogger("weyl").warning(
            "weyl was installed without its compiled part: graphs are read and measured more slowly"
        )
        return None
    return _native


def thread_count(threads: int | None) -> int:
    """The threads asked for, or as many as this process may use."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fill_rows(
    native: ModuleType,
    adjacency: csr_array,
    sources: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
    threads: int,
) -> bool:
    """Fills rows[order] with distances from their sources: steps into integer rows, lengths into float ones.

    False where a number of steps does not fit into the rows.
    """
    starts, targets = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32)
    if rows.dtype.kind == "u":
        return native.breadth_first(starts, targets, sources, order, rows, threads)
    native.shortest_paths(starts, targets, adjacency.data, sources, order, rows, threads)
    return True
