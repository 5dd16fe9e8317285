"""From pairs of rows, as they were read, to a Graph: loops, repeats, directions and weights, every change noted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np

from .graph import Graph, components_note

MOST_NODES = 2**31 - 1  # rows are 32 bits in compiled code


def tidy(
    name: str,
    nodes: Sequence[Hashable],
    first: np.ndarray,
    second: np.ndarray,
    weights: np.ndarray | None = None,
    notes: Sequence[str] = (),
    *,
    given: bool = False,
) -> Graph:
    """The Graph of edges in any order and direction; of repeated edges the smallest weight counts."""
    found = list(notes)
    n = len(nodes)
    if n > MOST_NODES:
        raise ValueError(f"{name}: {n:,} nodes are more than a graph can have, {MOST_NODES:,}")
    loops = int((first == second).sum())
    if loops:
        found.append(f"dropped {_count(loops, 'self loop')}")
        keep = first != second
        first, second = first[keep], second[keep]
        weights = None if weights is None else weights[keep]
    if not len(first):
        raise ValueError(f"{name}: {_count(n, 'node')} and no edges: an embedding needs at least one edge")
    key = np.minimum(first, second) * n + np.maximum(first, second)
    if not (np.diff(key) > 0).all():
        key, weights = _merged(key, first < second, weights, found)
    if weights is not None and (weights == 1).all() and not given:
        weights = None
    edges = np.stack(np.divmod(key, n), axis=1)
    graph = Graph(name, nodes, edges, weights, tuple(found), given)
    note = components_note(graph)
    return replace(graph, notes=(*found, note)) if note else graph


def _merged(
    key: np.ndarray, forward: np.ndarray, weights: np.ndarray | None, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Sorted keys, each once, with the smallest of their weights."""
    if weights is None:
        unique = sorted_once(key)
        if repeats := len(key) - len(unique):
            notes.append(f"merged {_count(repeats, 'repeated edge')}")
        return unique, None
    order = np.lexsort((weights, key))
    key, weights, forward = key[order], weights[order], forward[order]
    fresh = np.concatenate([[True], np.diff(key) > 0])
    if repeats := int((~fresh).sum()):
        notes.append(f"merged {_count(repeats, 'repeated edge')}, keeping the smallest weight")
        lowest = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        differ = sorted_once(key[(weights != weights[lowest]) & (forward != forward[lowest])])
        if len(differ):
            notes.append(
                f"ignored direction: {_count(len(differ), 'edge')} with another weight the other way"
            )
    return key[fresh], weights[fresh]


def sorted_once(keys: np.ndarray) -> np.ndarray:
    """What np.unique returns; numpy's own hashes its input, ten times slower on millions of keys."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] > keys[:-1]])] if len(keys) else keys


def check_weights(weights: np.ndarray, where: Callable[[int], str]) -> None:
    """Refuses the first weight that is no length; `where(index)` names its edge."""
    bad = ~(weights > 0) | np.isinf(weights)
    if bad.any():
        index = int(bad.argmax())
        raise ValueError(f"{where(index)}: {weight_problem(float(weights[index]))}")


def weight_problem(weight: float) -> str:
    """What is wrong with a weight that is not a positive finite number."""
    kind = (
        "not a number" if np.isnan(weight) else "infinite" if np.isinf(weight)
        else "zero" if weight == 0 else "negative"
    )  # fmt: skip
    hint = "; leave the edge out" if kind in ("infinite", "not a number") else ""
    return f"weight {weight:g} is {kind}: weights are lengths, positive and finite{hint}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
