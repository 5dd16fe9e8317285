"""embed: from a graph to an Embedding with its scores."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weyl.embedding import Embedding
from weyl.evaluation.scores import evaluate
from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.norms import BoundNorm, SumOfRoots
from weyl.graphs.distances import Distances, graph_distances
from weyl.graphs.graph import Graph, components_note
from weyl.graphs.graph import graph as make_graph
from weyl.training.config import Config
from weyl.training.plan import plan
from weyl.training.rounds import best_start
from weyl.training.starts import random_start, warm_start
from weyl.training.trainer import State, Trained, Trainer
from weyl.training.units import diameter_of, unit_for
from weyl.training.watch import Interrupt, Watch, resumed
from weyl.training.workers import Workers

SPACE, METRIC = "upper(4)", "f1"
RANKING = 0.3  # where edges have one length: docs/training.md has what it wins and costs
WARM_RATE = 0.3  # of the rate, where points start near their places
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
    space: str | SymmetricSpace | None = None,
    metric: str | BoundNorm | None = None,
    *,
    effort: str = "normal",
    recipe: str = "default",
    seed: int = 0,
    time_limit: float | None = None,
    dtype: str | torch.dtype = "float32",
    device: str | torch.device = "auto",
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

    `graph` is whatever `weyl.graph` takes; space and metric are "upper(4)" and "f1", or those of `start`, an earlier
    embedding to begin from. `config` sets fields of `weyl.training.config.Config` and goes before the other arguments:
    that of an embedding repeats its run. `callback(state)` may set `state.stop`. With `checkpoint`, a file that stays
    until you remove it, a run that was killed goes on with `resume=True`, to the same bits. The same seed gives the
    same bits on a CPU, whatever the threads. Ctrl-C raises `Interrupted`, which holds the best so far.
    """
    began = time.monotonic()
    asked, made, norm = _asked(dict(config or {}), space, metric, start, effort, recipe, seed, dtype)
    given = {name: getattr(asked, name) for name in config or ()}
    _check_limits(time_limit, threads, component)
    if resume and checkpoint is None:
        raise ValueError("embed: resume=True needs a checkpoint to go on from: checkpoint=PATH")
    where = _device(device)
    source = make_graph(graph, data=data)
    source = source.largest_component() if component == "largest" else source
    distances = graph_distances(source, threads=threads)
    settled = _settled(asked, given, source, distances, made, norm, start)
    task = _Task(source, distances, settled, made, norm, where, threads, Workers(where))
    goes_on = resume and checkpoint is not None and Path(checkpoint).exists()

    def left() -> float | None:
        if time_limit is None:
            return None
        spent = time.monotonic() - began + EVALUATION * min(distances.n**2, 4 * 10**7)
        return task.workers.agreed(max(time_limit - spent, time_limit / 10))

    with Interrupt() as interrupt:
        identity = {"fingerprint": source.fingerprint, **settled.to_json(), "betas": list(settled.betas)}
        trainer = task.trainer(settled, _points(task, start))
        if goes_on:
            assert checkpoint is not None
            resumed(trainer, checkpoint, identity)
        watch = Watch(
            trainer, interrupt, callback=callback, path=checkpoint, every=checkpoint_every, identity=identity, log=log
        )  # fmt: skip
        _say(task)
        if not goes_on and start is None:
            _try_starts(task, trainer, watch, left)
        remaining = left()
        limit = None if remaining is None else trainer.seconds + remaining
        trained = trainer.run(time_limit=limit, look=watch)
        watch.write_log()
        interrupted = task.workers.any(interrupt.heard)
        if interrupted:
            watch.keep()
    embedding = _embedding(source, settled, trained, began)
    if interrupted:
        raise Interrupted(embedding)
    if not task.workers.first:
        return embedding
    try:
        return embedding.with_scores(evaluate(embedding, source, distances, seed=settled.seed))
    except KeyboardInterrupt:
        watch.keep()
        raise Interrupted(embedding) from None


@dataclass(frozen=True)
class _Task:
    """What is trained, where."""

    graph: Graph
    distances: Distances
    config: Config
    space: SymmetricSpace
    norm: BoundNorm
    device: torch.device
    threads: int | None
    workers: Workers

    def trainer(self, config: Config, points: Tensor) -> Trainer:
        return Trainer(
            self.distances,
            config,
            points,
            space=deepcopy(self.space),  # each run learns a curvature and weights of its own
            norm=deepcopy(self.norm),
            unit=config.unit,
            threads=self.threads,
            device=self.device,
            workers=self.workers,
        )


def _asked(
    given: dict[str, Any],
    space: str | SymmetricSpace | None,
    metric: str | BoundNorm | None,
    start: Embedding | None,
    effort: str,
    recipe: str,
    seed: int,
    dtype: str | torch.dtype,
) -> tuple[Config, SymmetricSpace, BoundNorm]:
    """What the arguments ask for, checked before any graph is read."""
    if start is not None and not isinstance(start, Embedding):
        raise ValueError(f"start: expected an embedding, got {type(start).__name__}; weyl.load reads a file")
    standard = (SPACE, METRIC) if start is None else (start.space.name, start.metric)
    made = make_space(given.get("space", standard[0] if space is None else space))
    if not isinstance(made, SymmetricSpace):
        raise ValueError(f"embed: {made} has no frames, which training needs")
    made = deepcopy(made) if made.parameters() else made  # the caller's stays as it is
    norm = made.norm(given.get("metric", standard[1] if metric is None else metric))
    if isinstance(norm.norm, SumOfRoots) and made.parameters():
        raise ValueError(f"embed: fmin changes with the curvature that {made} learns: take f1, or give the k")
    if not isinstance(seed, bool):
        with suppress(TypeError):
            seed = index(seed)  # of numpy too
    kind = str(dtype).removeprefix("torch.")
    asked = Config(recipe=recipe, effort=effort, seed=seed, dtype=kind)
    return asked.with_({**given, "space": made.name, "metric": str(norm)}), made, norm


def _check_limits(time_limit: float | None, threads: int | None, component: str | None) -> None:
    number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (number and 0 < time_limit < float("inf")):
        raise ValueError(f"embed: time_limit must be a positive number of seconds, got {time_limit!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ValueError(f"embed: threads must be a whole number, at least 1, got {threads!r}")
    if component not in (None, "all", "largest"):
        raise ValueError(f"embed: component must be 'largest' or 'all', got {component!r}")


def _device(device: str | torch.device) -> torch.device:
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
    if planned.ranking and source.weights is not None:
        raise ValueError(
            f"config: ranking needs edges of one length, those of {source.name} have weights: leave it 0"
        )
    changes: dict[str, Any] = {}
    if planned.recipe == "default" and source.weights is None:
        changes["ranking"] = RANKING
    if start is not None:
        steps = max(1, int(planned.steps * WARM_STEPS))
        changes |= {"rate": planned.rate * WARM_RATE, "steps": steps, "starts": 1, "unit": start.scale}
    elif not planned.unit:
        learned = diameter_of(space, norm) < math.inf
        changes |= {"unit": unit_for(distances, space, norm), "learn_unit": learned}
    settled = planned.with_(changes | given)
    return settled if settled.unit else settled.with_({"unit": changes.get("unit", 1.0)})


def _points(task: _Task, start: Embedding | None) -> Tensor:
    if start is None:
        return random_start(task.space, task.distances.n, task.config.spread, task.config.seed)
    return warm_start(start, task.graph, task.distances, task.space, task.config.spread, task.config.seed)


def _try_starts(task: _Task, trainer: Trainer, watch: Watch, left: Callable[[], float | None]) -> None:
    """Puts the trainer where the best of several starts came to in short trainings."""

    def make(config: Config, number: int) -> Trainer:
        return task.trainer(
            config, random_start(task.space, task.distances.n, config.spread, config.seed, number)
        )

    found = best_start(
        task.config, make, lambda number: watch.of_start(number + 1), lambda: task.workers.any(watch.stopped), left()
    )  # fmt: skip
    if found:
        trainer.begin_at(found)


def _say(task: _Task) -> None:
    """Tells of what was changed in the graph, and warns where pairs are left out."""
    left_out = components_note(task.graph)
    for note in task.graph.notes if task.workers.first else ():
        level = logging.WARNING if note == left_out else logging.INFO
        logging.getLogger("weyl").log(level, "%s: %s", task.graph.name, note)


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
