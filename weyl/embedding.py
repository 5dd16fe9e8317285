"""Embedding: points of a space with the names of their nodes, the one value that passes between stages."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weyl import storage
from weyl.exporting import write_table
from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.coordinates import flat_coordinates
from weyl.geometry.fixed import fixed_metric, fixed_space
from weyl.geometry.norms import BoundNorm
from weyl.geometry.space import TOLERANCE
from weyl.kernels.dispatch import PairKernel, blocks
from weyl.placing import place
from weyl.scores import Scores

BLOCK = 1 << 20  # pairs measured at once
WIDEST_GAP = (
    12.0  # between components of v: the kernel errs by e^gap · 2^-53, beyond it geometry measures, exactly
)


class Embedding:
    """Points (n, *point_shape) of a space and the names of their nodes; every distance it gives is in graph units.

    `scale` is graph units a unit of the space. What was learned (a curvature, weights) is kept as numbers in `space`
    and `metric`. Names may be anything hashable; a file holds text, numbers, None, bytes, tuples and frozensets.
    It is never changed: `add`, `to` and `with_scores` give a new one.
    """

    def __init__(
        self,
        space: str | SymmetricSpace,
        metric: str | BoundNorm,
        points: Tensor | np.ndarray,
        nodes: Iterable[Hashable],
        *,
        scale: float = 1.0,
        graph: str = "",
        fingerprint: str = "",
        config: Mapping[str, Any] | None = None,
        scores: Scores | None = None,
        seed: int | None = None,
        training: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
    ):
        made = make_space(space)
        self.space = fixed_space(made)
        self.metric = fixed_metric(made.norm(metric))
        self.norm = self.space.norm(self.metric)
        self.points = _storage(self.space, points)
        self.nodes = list(nodes)
        self.scale, self.graph, self.fingerprint, self.seed = float(scale), graph, fingerprint, seed
        self.config, self.training = dict(config or {}), dict(training or {})
        self.scores = scores
        self.versions = dict(versions or _versions())
        self._check()

    def _check(self) -> None:
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"embedding: the scale must be positive and finite, got {self.scale}")
        if not self.nodes:
            raise ValueError("embedding: no nodes: it needs at least one")
        if len(self.nodes) != len(self.points):
            raise ValueError(f"embedding: {len(self.nodes)} node names for {len(self.points)} points")
        if len(self._row_of) < len(self.nodes):
            twice = next(name for row, name in enumerate(self.nodes) if self._row_of[name] != row)
            raise ValueError(f"embedding: two nodes have the name {twice!r}")
        if reason := self.space.why_not(self.points):
            raise ValueError(f"embedding: {reason}")

    @cached_property
    def _row_of(self) -> dict[Hashable, int]:
        return {name: row for row, name in enumerate(self.nodes)}

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────
    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._row_of

    def row(self, name: Hashable) -> int:
        """The row of a node; ValueError with the names like it where there is none."""
        try:
            return self._row_of[name]
        except KeyError:
            raise ValueError(f"no node {name!r}{self._like(name)}") from None
        except TypeError:
            raise ValueError(f"no node {name!r}: a name cannot be a {type(name).__name__}") from None

    def named(self, text: str) -> Hashable:
        """The node whose name reads as `text`: how a command line or a web page names it."""
        if text in self:
            return text
        same = [name for name in self.nodes if str(name) == text]
        if len(same) != 1:
            self.row(text)
        return same[0]

    def _like(self, name: Hashable) -> str:
        from difflib import get_close_matches

        text = str(name)
        same = [one for one in self.nodes if str(one) == text]
        if same:
            kinds = f"{type(same[0]).__name__}, not {type(name).__name__}"
            return f"; there is {same[0]!r}, of type {kinds}"
        by_text = {str(one): one for one in self.nodes if abs(len(str(one)) - len(text)) < 3}
        near = [by_text[one] for one in get_close_matches(text, list(by_text)[:20_000], cutoff=0.7)]
        if near:
            return f"; did you mean {' or '.join(map(repr, near))}?"
        shown = ", ".join(map(repr, self.nodes[:3]))
        return f" among the {len(self)} nodes" + (f": {shown}, …" if len(self) > 3 else f": {shown}")

    # ── distances ────────────────────────────────────────────────────────────────────────────────────────────────
    def distance(self, a: Hashable, b: Hashable) -> float:
        """The distance of two nodes, in graph units."""
        return float(self.distances([(a, b)])[0])

    def distances(self, pairs: Iterable[Sequence[Hashable]]) -> np.ndarray:
        """The distances of pairs of nodes, in graph units: (pairs,)."""
        return self._measured(*self._rows(pairs))[0].cpu().numpy() * self.scale

    def vector_distances(self, pairs: Iterable[Sequence[Hashable]]) -> np.ndarray:
        """The vector-valued distances of pairs of nodes, in graph units: (pairs, components)."""
        return self._measured(*self._rows(pairs))[1].cpu().numpy() * self.scale

    def neighbors(self, name: Hashable, k: int = 10) -> tuple[list, np.ndarray]:
        """The k nearest other nodes (all where there are fewer), nearest first, and their distances in graph units.

        Exact; nodes equally far come in row order.
        """
        row = self.row(name)
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"neighbors: k must be a whole number, at least 1, got {k!r}")
        others = torch.arange(len(self), device=self.points.device)
        others = others[others != row]
        distances, _ = self._measured(torch.full_like(others, row), others)
        near = distances.sort(stable=True)
        chosen = others[near.indices[:k]].tolist()
        return [self.nodes[one] for one in chosen], near.values[:k].cpu().numpy() * self.scale

    @cached_property
    def kernel(self) -> PairKernel:
        """The pair kernel of this space and metric in float64, where the points lie."""
        return PairKernel(self.space, self.norm, torch.float64, self.points.device)

    @cached_property
    def records(self) -> Tensor:
        """What the kernel reads of every node."""
        return self.kernel.nodes(self.points.to(torch.float64))

    def _rows(self, pairs: Iterable[Sequence[Hashable]]) -> tuple[Tensor, Tensor]:
        listed = pairs.tolist() if isinstance(pairs, np.ndarray | Tensor) else list(pairs)
        for pair in listed:
            if isinstance(pair, str | bytes) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise ValueError(f"expected pairs of node names, such as [(a, b), (a, c)], got {pair!r}")
        rows = torch.tensor([[self.row(name) for name in pair] for pair in listed], dtype=torch.int64)
        first, second = rows.reshape(-1, 2).to(self.points.device).unbind(-1)
        return first.contiguous(), second.contiguous()

    def _measured(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Distances (pairs,) and vector-valued distances (pairs, components) of rows, in units of the space."""
        d = self.records.new_empty(len(first))
        v = self.records.new_empty(len(first), self.kernel.layout.components)
        for block in blocks(len(first), BLOCK):
            found = self.kernel.forward(self.records, first[block], second[block], vectors=True)
            assert found.vectors is not None
            d[block], v[block] = found.distances, found.vectors
        if len(v):
            far = (v.amax(-1) - v.amin(-1) > WIDEST_GAP).nonzero().squeeze(-1)
            tolerance = TOLERANCE[self.points.dtype]  # points of 32 bits have no 31 digits to give
            for block in blocks(len(far), BLOCK // 16):
                some = far[block]
                p, q = (self.points[rows[some]].to(torch.float64) for rows in (first, second))
                v[some] = self.space.vector_distance(p, q, tolerance)
                d[some] = self.norm(v[some])
        return d, v

    # ── new embeddings ───────────────────────────────────────────────────────────────────────────────────────────
    def add(self, name: Hashable, distances: Mapping[Hashable, float]) -> Embedding:
        """A new embedding with one more node, placed by its distances to known nodes; all other points stay.

        Minimises mean |d - g| / g over the new point, from several starts; the same input gives the same point.
        """
        if not isinstance(name, Hashable):
            raise ValueError(f"add: {name!r} cannot be a name: a {type(name).__name__} is not hashable")
        if name in self:
            raise ValueError(f"add: there is a node {name!r} already")
        if not isinstance(distances, Mapping) or not distances:
            raise ValueError(
                f"add: {name!r} needs its distances to known nodes, at least one, such as {{known: 1.0}}"
            )
        rows = [self.row(known) for known in distances]
        goals = torch.tensor([_length(known, g) for known, g in distances.items()], dtype=torch.float64)
        known_points = self.points[rows].to(torch.float64)
        goals = goals.to(known_points.device) / self.scale
        point = place(self.space, self.norm, known_points, goals, self.points.dtype)
        points = torch.cat([self.points, point.unsqueeze(0)])
        return self._with(points=points, nodes=[*self.nodes, name], scores=None, fingerprint="")

    def to(self, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Embedding:
        """The same embedding with its points in another dtype, on another device."""
        points = self.points.to(device=device, dtype=dtype or self.points.dtype)
        if points.dtype != self.points.dtype and (reason := self.space.why_not(points)):
            raise ValueError(f"embedding: {reason}, in {points.dtype}; keep {self.points.dtype}")
        return self._with(points=points)

    def with_scores(self, scores: Scores) -> Embedding:
        """The same embedding with the scores that `evaluate` found."""
        return self._with(scores=scores)

    def _with(self, **changed: Any) -> Embedding:
        fields = {name: getattr(self, name) for name in FIELDS}
        return Embedding(**{**fields, **changed})

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def flat(self) -> np.ndarray:
        """Features (n, dim) for models that know no geometry: normal coordinates at the basepoint, in graph units.

        For `upper(n)` the n(n+1) numbers of the matrix logarithm in SPD(2n), else coordinates in an orthonormal basis.
        """
        return flat_coordinates(self.space, self.points).cpu().numpy() * self.scale

    def export(self, path: str | os.PathLike, flat: bool = False) -> None:
        """Writes points, or flat features, as .npz, .csv, .txt (word2vec) or .parquet."""
        rows = self.flat() if flat else self.points.cpu().numpy()
        write_table(path, self.nodes, rows, "features" if flat else "points")

    def save(self, path: str | os.PathLike) -> None:
        """Writes the embedding into one file, whole or not at all; `weyl.load` reads it."""
        header = {name: getattr(self, name) for name in FIELDS if name not in ("nodes", "points")}
        header |= {"space": self.space.name, "dtype": str(self.points.dtype).removeprefix("torch.")}
        header["scores"] = None if self.scores is None else self.scores.to_json()
        storage.write(path, header, self.nodes, self.points)

    def __repr__(self) -> str:
        of = f" of {self.graph}" if self.graph else ""
        score = f", average distortion {self.scores.average_distortion:.3%}" if self.scores else ""
        return f"<Embedding{of}: {len(self)} nodes in {self.space.name}, {self.metric}{score}>"


FIELDS = (
    "space", "metric", "points", "nodes", "scale", "graph", "fingerprint", "config", "scores", "seed", "training",
    "versions",
)  # fmt: skip


def load(
    path: str | os.PathLike, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Embedding:
    """The embedding that `save` has written, on any machine; ValueError with the reason where the file is none."""
    header, nodes, points = storage.read(path)
    try:
        scores = header.get("scores")
        embedding = Embedding(
            header["space"],
            header["metric"],
            points,
            nodes,
            scores=None if scores is None else Scores.from_json(scores),
            **{name: header[name] for name in FIELDS[4:] if name in header and name != "scores"},
        )
        return embedding if dtype is None and device is None else embedding.to(dtype, device)
    except KeyError as missing:
        raise storage.FileProblem(f"{path}: its header has no {missing}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise storage.FileProblem(f"{path}: {error}") from error


def _storage(space: SymmetricSpace, points: Tensor | np.ndarray) -> Tensor:
    """Points as a real tensor (n, *point_shape), detached."""
    given = torch.as_tensor(points).detach().clone()
    if given.is_complex():
        given = torch.view_as_real(given.resolve_conj())
    if given.dtype not in storage.DTYPES:
        raise ValueError(f"embedding: expected points in float32 or float64, got {given.dtype}")
    if given.ndim != len(space.point_shape) + 1 or tuple(given.shape[1:]) != space.point_shape:
        shape = ", ".join(map(str, space.point_shape))
        raise ValueError(f"embedding: expected points (n, {shape}) of {space}, got {tuple(given.shape)}")
    return given.contiguous()


def _length(known: Hashable, given: Any) -> float:
    """A distance to a known node, as a number."""
    try:
        g = float(given)
    except (TypeError, ValueError):
        g = float("nan")
    if not 0 < g < float("inf"):
        raise ValueError(f"add: the distance to {known!r} must be positive and finite, got {given!r}")
    return g


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours = version("weyl")
    except PackageNotFoundError:
        ours = "unknown"
    return {"weyl": ours, "torch": torch.__version__, "python": platform.python_version()}
