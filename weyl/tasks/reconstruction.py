"""embed: from a graph to an Embedding with its scores."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.evaluation.scores import evaluate
from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.norms import BoundNorm
from weyl.graphs.distances import Distances, graph_distances
from weyl.graphs.graph import Graph
from weyl.graphs.graph import graph as make_graph
from weyl.training.config import Config
from weyl.training.plan import plan
from weyl.training.starts import random_start, warm_start
from weyl.training.trainer import State, Trained, Trainer
from weyl.training.units import diameter_of, unit_for
from weyl.training.watch import Watch, resumed
from weyl.training.workers import Workers

SCOUTING = 20  # a start is tried for this part of the steps
WARM_RATE = 0.2  # of the rate, where points start near their places
WARM_STEPS = 0.25  # of the steps
EVALUATION = 0.4e-6  # seconds a pair, kept back from a time limit
KEPT_LOSSES = 400  # at most, in the file


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while training; `embedding` is the best so far, not yet scored."""

    def __init__(self, embedding: Embedding):
        super().__init__("interrupted; the best so far is in .embedding")
        self.embedding = embedding


def embed(
    graph: Any,
    space: str | SymmetricSpace = "upper(4)",
    metric: str | BoundNorm = "f1",
    *,
    effort: str = "normal",
    recipe: str = "default",
    seed: int = 0,
    time_limit: float | None = None,
    dtype: str = "float32",
    device: str = "auto",
    threads: int | None = None,
    start: Embedding | None = None,
    callback: Callable[[State], Any] | None = None,
    component: str | None = None,
    data: str | os.PathLike | None = None,
    config: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: float = 10.0,
    resume: bool = False,
    log: str | os.PathLike | None = None,
) -> Embedding:
    """Maps the nodes of a graph to points of a space so that distances say what they say in the graph.

    `graph` is whatever `weyl.graph` takes. `config` sets fields of `weyl.training.config.Config`; `start` is an earlier
    embedding, `callback(state)` may set `state.stop`. With `checkpoint`, a file that stays until you remove it, a run
    that was killed goes on with `resume=True`, to the same bits. The same seed gives the same bits on a CPU, whatever
    the threads.
    """
    began = time.monotonic()
    made = make_space(space)
    if not isinstance(made, SymmetricSpace):
        raise ValueError(f"embed: {made} has no frames, which training needs")
    norm = made.norm(metric)
    given = dict(config or {})
    asked = Config(space=made.name, metric=str(norm), recipe=recipe, effort=effort, seed=seed, dtype=dtype)
    asked.with_(given)
    _check_limits(time_limit, threads, component)
    where = _device(device)
    source = make_graph(graph, data=data)
    source = source.largest_component() if component == "largest" else source
    for note in source.notes:
        logging.getLogger("weyl").info("%s: %s", source.name, note)
    distances = graph_distances(source, threads=threads)
    workers = Workers(where)
    settled = _settled(asked, given, source, distances, made, norm, start)
    fields = {"space": made, "norm": norm, "threads": threads, "device": where, "workers": workers}
    fields["edge"] = _edge(source, settled)
    trainer = _begin(distances, settled, fields, _points(start, source, distances, made, settled))
    identity = {"fingerprint": source.fingerprint, **settled.to_json(), "betas": list(settled.betas)}
    resume = resume and checkpoint is not None and Path(checkpoint).exists()
    if resume:
        assert checkpoint is not None
        resumed(trainer, checkpoint, identity)
    left = None
    if time_limit is not None:
        spent = time.monotonic() - began + EVALUATION * min(distances.n**2, 4 * 10**7)
        left = trainer.seconds + max(time_limit - spent, time_limit / 10)
    looking = callback if workers.first else None
    with Watch(trainer, looking, checkpoint, checkpoint_every, identity, log, resume) as watch:
        trained = trainer.run(time_limit=left, look=watch)
        watch.write_log()
        if watch.interrupted:
            watch.keep()
    embedding = _embedding(source, settled, trained, began)
    if watch.interrupted:
        raise Interrupted(embedding)
    if not workers.first:
        return embedding
    return embedding.with_scores(evaluate(embedding, source, distances, seed=seed))


def _check_limits(time_limit: float | None, threads: int | None, component: str | None) -> None:
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise ValueError(f"embed: time_limit must be a positive number of seconds, got {time_limit!r}")
    if threads is not None and (isinstance(threads, bool) or threads < 1):
        raise ValueError(f"embed: threads must be at least 1, got {threads!r}")
    if component not in (None, "all", "largest"):
        raise ValueError(f"embed: component must be 'largest' or 'all', got {component!r}")


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError:
        raise ValueError(f"embed: no device {device!r}; expected auto, cpu or cuda") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"embed: device {device!r} is not to be had: torch sees no CUDA device; take --device cpu"
        )
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f"embed: no device {device!r}; expected auto, cpu or cuda")
    return found


def _settled(
    asked: Config,
    given: dict[str, Any],
    source: Graph,
    distances: Distances,
    space: SymmetricSpace,
    norm: BoundNorm,
    start: Embedding | None,
) -> Config:
    """The configuration of this run with nothing left open."""
    planned = plan(asked, distances.n, distances.connected_pairs, given)
    changes: dict[str, Any] = {}
    if start is not None:
        changes = {
            "rate": planned.rate * WARM_RATE,
            "steps": max(1, int(planned.steps * WARM_STEPS)),
            "starts": 1,
        }
        changes["unit"] = start.scale
    if not planned.unit and "unit" not in changes:
        changes["unit"] = unit_for(distances, space, norm)
        changes["learn_unit"] = diameter_of(space, norm) < float("inf")
    return planned.with_(changes | given)


def _edge(source: Graph, settled: Config) -> float:
    """The length of an edge, where they all have one."""
    if source.weights is not None and settled.ranking:
        raise ValueError(
            f"config: ranking needs edges of one length, those of {source.name} have weights: leave it 0"
        )
    return 1.0


def _points(
    start: Embedding | None, source: Graph, distances: Distances, space: SymmetricSpace, settled: Config
) -> Tensor | None:
    if start is None:
        return None
    return warm_start(start, source, distances, space, settled.spread, settled.seed)


def _begin(distances: Distances, settled: Config, fields: dict[str, Any], points: Tensor | None) -> Trainer:
    """The trainer at its start: the given points, drawn ones, or the best of several draws after a short training."""
    space = fields["space"]

    def trainer(config: Config, at: Tensor) -> Trainer:
        return Trainer(distances, config, at, unit=config.unit, **fields)

    if points is None and settled.starts > 1 and not settled.learn_unit:
        short = settled.with_({"steps": max(1, settled.steps // SCOUTING), "starts": 1})
        tried = []
        for number in range(settled.starts):
            at = random_start(space, distances.n, settled.spread, settled.seed, number)
            tried.append(trainer(short, at).run())
        points = min(tried, key=lambda one: one.loss).points
    if points is None:
        points = random_start(space, distances.n, settled.spread, settled.seed)
    return trainer(settled, points)


def _embedding(source: Graph, settled: Config, trained: Trained, began: float) -> Embedding:
    kept: dict[str, Any] = {name: getattr(trained, name) for name in RECORDED}
    step = -(-len(trained.losses) // KEPT_LOSSES) or 1
    kept["losses"] = [[at, loss] for at, loss in trained.losses[::step]]
    kept |= {"notes": list(source.notes), "seconds_in_all": time.monotonic() - began}
    return Embedding(
        trained.space,
        trained.norm,
        trained.points.cpu(),
        source.nodes,
        scale=trained.unit,
        graph=source.name,
        fingerprint=source.fingerprint,
        config=settled.to_json(),
        seed=settled.seed,
        training=kept,
    )


RECORDED = ("loss", "steps", "epochs", "pairs_seen", "seconds", "dtype", "complete", "setbacks")
