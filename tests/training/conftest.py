"""Small runs of the trainer."""

import math

import numpy as np
import pytest

import weyl
from weyl.training.config import Config
from weyl.training.starts import random_start
from weyl.training.trainer import Trainer

FIELDS = {"steps": 40, "warmup": 5, "batch": 30, "rate": 0.1, "spread": 0.3}


@pytest.fixture
def trainer():
    """Makes a trainer of a few short steps on a small graph."""

    def make(graph="grid(3,4)", space="upper(2)", metric="f1", *, threads=1, points=None, **fields):
        made = weyl.space(space) if isinstance(space, str) else space
        distances = weyl.graph_distances(graph)
        config = Config(space=made.name, metric=metric, **{**FIELDS, **fields})
        if points is None:
            points = random_start(made, distances.n, config.spread, config.seed)
        norm = made.norm(metric)
        return Trainer(
            distances, config, points, space=made, norm=norm, unit=config.unit or 1.0, threads=threads
        )

    return make


@pytest.fixture
def distortion():
    """The average distortion of what a run found, measured by the geometry."""

    def measure(trained, graph):
        points, goals = trained.points, np.asarray(weyl.graph_distances(graph), float)
        found = trained.unit * trained.space.distance(points[:, None], points[None], trained.norm).numpy()
        reached = np.isfinite(goals) & (goals > 0)
        return float((abs(found - goals)[reached] / goals[reached]).mean())

    return measure


@pytest.fixture
def spoil(monkeypatch):
    """Makes the slopes of those batches NaN for which `when(step, call)` says so; steps are taken one by one then."""
    monkeypatch.setattr(Trainer, "in_one_call", False)

    def spoilt(run, when):
        plain, calls = run._descend, []

        def descend(*batch):
            calls.append(run.step)
            found = plain(*batch)
            return found._replace(totals=found.totals * (math.nan if when(run.step, len(calls)) else 1))

        run._descend = descend

    return spoilt


@pytest.fixture
def one_by_one(monkeypatch):
    """Calls of compiled code that take one step each."""
    monkeypatch.setattr("weyl.training.trainer.WORK_A_CALL", 0)
