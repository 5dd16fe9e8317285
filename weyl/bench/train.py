"""Whole training loops: pairs a second, share of the kernel, and the time until a distortion is reached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weyl.bench.machine import described
from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.graphs.distances import Distances, graph_distances
from weyl.graphs.graph import graph as make_graph
from weyl.kernels.dispatch import PairKernel
from weyl.training.config import Config
from weyl.training.plan import plan
from weyl.training.starts import random_start
from weyl.training.trainer import Trainer
from weyl.training.units import unit_for

from .rival_training import Rival

FIRST_STEPS = 250  # of the shortest of our runs; every further one has twice as many
THEIR_RATES = (0.3, 0.1, 0.03, 0.01)  # tried before measuring
TRIAL = 0.04  # of the time limit, for each
KERNEL_ALONE = 9  # calls of the kernel, by which its share of a step is measured
STEPS_IN_A_CALL = 16


def run(
    graph: str,
    space: str,
    metric: str,
    goal: float,
    time_limit: float,
    against: list[tuple[str, str | None]],
    *,
    seed: int = 0,
    threads: int | None = None,
    data: str | None = None,
    show: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """A row for each library; `against` names the others, sympa with its checkout."""
    made, source = make_space(space), make_graph(graph, data=data)
    if not isinstance(made, SymmetricSpace):
        raise ValueError(f"bench train: {made} has no frames, which training needs")
    if not 0 < goal < 1:
        raise ValueError(f"bench train: --goal is an average distortion between 0 and 1, got {goal}")
    distances = graph_distances(source)
    about = {
        "graph": source.name,
        "nodes": distances.n,
        "pairs": distances.connected_pairs,
        "space": made.name,
    }
    about |= {"metric": metric, "goal": goal, "seed": seed, "threads": threads or torch.get_num_threads()}
    about |= described(torch.device("cpu"))
    rows = [{**about, **_ours(distances, made, metric, goal, time_limit, seed, threads, show)}]
    for library, path in against:
        rows.append(
            {**about, **_theirs(library, path, distances, made, metric, goal, time_limit, seed, show)}
        )
        reached, first = rows[-1]["seconds_to_goal"] or rows[-1]["seconds"], rows[0]["seconds_to_goal"]
        rows[-1]["ratio"] = reached / first if first else None
    return rows


def _ours(
    distances: Distances,
    space: SymmetricSpace,
    metric: str,
    goal: float,
    time_limit: float,
    seed: int,
    threads: int | None,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Runs of 250, 500, 1000, … steps, each from its start to its end, until one reaches the goal."""
    norm = space.norm(metric)
    asked = plan(Config(space.name, metric, seed=seed), distances.n, distances.connected_pairs, {"starts": 1})
    steps, curve, spent = min(FIRST_STEPS, asked.steps), [], 0.0
    unit = unit_for(distances, space, norm)
    while True:
        show(f"weyl, {steps} steps")
        config = asked.with_({"steps": steps, "warmup": min(asked.warmup, steps // 10)})
        start = random_start(space, distances.n, config.spread, seed)
        trainer = Trainer(distances, config, start, space=space, norm=norm, unit=unit, threads=threads)
        found = trainer.run()
        reached = _distortion(
            trainer.kernel, trainer.kernel.nodes(found.points.to(trainer.kernel.dtype)), distances, unit
        )
        curve.append([found.seconds, reached])
        spent += found.seconds
        if reached <= goal or steps >= 8 * asked.steps or spent > time_limit:
            break
        steps *= 2
    return {
        "library": "weyl",
        "pairs_per_second": found.pairs_seen / found.seconds,
        "kernel_share": min(1.0, _seconds_in_kernel(trainer) * found.steps / found.seconds),
        "batch": config.batch,
        "seconds": found.seconds,
        "distortion": reached,
        "seconds_to_goal": found.seconds if reached <= goal else None,
        "curve": curve,
    }


def _seconds_in_kernel(trainer: Trainer) -> float:
    """What the pairs of one step take alone: distances, slopes, and their sums over nodes.

    From calls with the pairs of many steps, since steps in one call share what a call costs.
    """
    records, seconds = trainer.moving.records(trainer.kernel.dtype), []
    loss = trainer.objective.layout(trainer.learned.unit)
    batches = [map(torch.from_numpy, trainer.pairs.batch(step)) for step in range(STEPS_IN_A_CALL)]
    first, second, goals = map(torch.cat, zip(*batches, strict=True))
    goals = goals.to(trainer.kernel.dtype)
    for _ in range(KERNEL_ALONE):
        begun = time.perf_counter()
        if trainer.kernel.backend == "native":
            trainer.kernel.descend(records, first, second, goals, loss)
        else:
            trainer.kernel.gradient(records, first, second, lambda d, _: torch.ones_like(d))
        seconds.append(time.perf_counter() - begun)
    return median(seconds) / STEPS_IN_A_CALL


def _distortion(kernel: PairKernel, nodes: Tensor, distances: Distances, unit: float) -> float:
    """The average distortion over all pairs, a block of rows at a time."""
    n, total = distances.n, 0.0
    everyone = torch.arange(n)
    for row, source in enumerate(distances.sources):
        goals = torch.from_numpy(distances.at(np.full(n, row), everyone.numpy())).to(torch.float64)
        there = goals.isfinite() & (goals > 0)
        other = everyone[there]
        d = kernel.forward(nodes, torch.full_like(other, int(source)), other).distances.to(torch.float64)
        total += float((d * unit / goals[there] - 1).abs().sum())
    return total / (2 * distances.connected_pairs)


def _theirs(
    library: str,
    path: str | None,
    distances: Distances,
    space: SymmetricSpace,
    metric: str,
    goal: float,
    time_limit: float,
    seed: int,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Riemannian gradient descent on the paper's loss, at the rate that comes farthest in a short trial."""

    def rival(rate: float) -> Rival:
        start = random_start(space, distances.n, Config.spread, seed)  # ours
        return Rival(library, path, distances, space, metric, start, rate, seed)

    trials: dict[float, float] = {}
    for rate in THEIR_RATES:
        show(f"{library}, rate {rate}")
        *_, (_, reached) = rival(rate).run(TRIAL * time_limit)
        trials[rate] = math.inf if math.isnan(reached) else reached
    best = rival(min(trials, key=lambda one: trials[one]))
    curve = []
    for seconds, reached in best.run(time_limit):
        show(f"{library}, {seconds:.0f} s, distortion {reached:.4f}")
        curve.append([seconds, reached])
        if reached <= goal:
            break
    return {
        "library": library,
        "pairs_per_second": best.pairs_seen / seconds,
        "kernel_share": None,
        "batch": best.batch,
        "rate": best.rate,
        "rates_tried": {
            str(rate): reached if math.isfinite(reached) else None for rate, reached in trials.items()
        },
        "seconds": seconds,
        "distortion": reached,
        "seconds_to_goal": seconds if reached <= goal else None,
        "curve": curve,
    }
