"""geoopt's Siegel manifolds: complex points, `manifold.dist(p, q)`."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .competitor import Competitor

if TYPE_CHECKING:
    from weyl.geometry import Space

MANIFOLDS = {"upper": "UpperHalf", "bounded": "BoundedDomain"}
METRICS = {  # the names of SiegelMetricType; sympa's are the same
    "riemannian": "RIEMANNIAN",
    "f1": "FINSLER_ONE",
    "finf": "FINSLER_INFINITY",
    "fmin": "FINSLER_MINIMUM",
    "weighted": "WEIGHTED_SUM",
}


def siegel(library: str, space: Space, metric: str) -> tuple[str, str]:
    """The family of a space, and the name of a metric's type; ValueError where the library has none."""
    family = space.name.partition("(")[0]
    if family not in MANIFOLDS:
        raise ValueError(
            f"{library} has no {space.name}: compare {' or '.join(f'{x}(n)' for x in MANIFOLDS)}"
        )
    if metric not in METRICS:
        raise ValueError(f"{library} has no metric {metric}: compare one of {', '.join(METRICS)}")
    return family, METRICS[metric]


def library() -> ModuleType:
    """geoopt, where it is installed."""
    try:
        return importlib.import_module("geoopt")
    except ImportError:
        raise ImportError("geoopt is not installed: pip install 'weyl[geoopt]'") from None


def competitor(space: Space, metric: str, points: Tensor) -> Competitor:
    """geoopt on copies of these points (n, rank, rank, 2), in the complex dtype of the same width."""
    family, kind = siegel("geoopt", space, metric)
    manifolds = library().manifolds
    metric_type = manifolds.siegel.vvd_metrics.SiegelMetricType[kind]
    manifold = getattr(manifolds, MANIFOLDS[family])(metric=metric_type, rank=space.rank)
    manifold = manifold.to(points)
    Z = torch.view_as_complex(points.contiguous()).clone().requires_grad_()
    return Competitor("geoopt", Z, manifold.dist, manifold)
