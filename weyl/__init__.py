"""weyl: embeddings of graphs into symmetric spaces with Finsler metrics. Names are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import nn as nn
    from .embedding import Embedding as Embedding
    from .embedding import load as load
    from .estimator import GraphEmbedder as GraphEmbedder
    from .evaluation.scores import evaluate as evaluate
    from .geometry import Space as Space
    from .geometry.convert import convert as convert
    from .geometry.families import space as space
    from .geometry.geoopt import from_geoopt as from_geoopt
    from .geometry.geoopt import geoopt_manifold as geoopt_manifold
    from .geometry.laws import LawBroken as LawBroken
    from .geometry.laws import check_space as check_space
    from .geometry.spectral import takagi as takagi
    from .graphs.distances import graph_distances as graph_distances
    from .graphs.graph import graph as graph
    from .tasks.reconstruction import embed as embed

_HOMES = {
    "nn": "weyl.nn",
    "Embedding": "weyl.embedding",
    "load": "weyl.embedding",
    "embed": "weyl.tasks.reconstruction",
    "evaluate": "weyl.evaluation.scores",
    "GraphEmbedder": "weyl.estimator",
    "Space": "weyl.geometry.space",
    "space": "weyl.geometry.families",
    "convert": "weyl.geometry.convert",
    "takagi": "weyl.geometry.spectral",
    "check_space": "weyl.geometry.laws",
    "LawBroken": "weyl.geometry.laws",
    "geoopt_manifold": "weyl.geometry.geoopt",
    "from_geoopt": "weyl.geometry.geoopt",
    "graph": "weyl.graphs.graph",
    "graph_distances": "weyl.graphs.distances",
}
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("weyl")
    if name not in _HOMES:
        raise AttributeError(f"module 'weyl' has no attribute {name!r}; it offers {', '.join(__all__)}")
    module = import_module(_HOMES[name])
    value = module if _HOMES[name] == f"weyl.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
