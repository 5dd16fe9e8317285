"""GraphEmbedder: `weyl.embed` with the habits of scikit-learn, which need not be installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from weyl.embedding import Embedding
    from weyl.geometry import SymmetricSpace
    from weyl.geometry.norms import BoundNorm


class GraphEmbedder:
    """Embeds a graph when fitted; `embedding_` is the Embedding, its flat features are what `fit_transform` returns.

    The parameters are those of `weyl.embed`: space "upper(4)" and metric "f1" where none is named. Nothing is checked
    or imported before `fit`.
    """

    def __init__(
        self,
        space: str | SymmetricSpace | None = None,
        metric: str | BoundNorm | None = None,
        *,
        effort: str = "normal",
        recipe: str = "default",
        seed: int = 0,
        time_limit: float | None = None,
        dtype: str = "float32",
        device: str = "auto",
        threads: int | None = None,
        start: Embedding | None = None,
        callback: Callable[[Any], Any] | None = None,
        component: str | None = None,
        data: str | os.PathLike | None = None,
        config: Mapping[str, Any] | None = None,
    ):
        self.space, self.metric, self.effort, self.recipe, self.seed = space, metric, effort, recipe, seed
        self.time_limit, self.dtype, self.device, self.threads = time_limit, dtype, device, threads
        self.start, self.callback, self.component, self.data, self.config = (
            start, callback, component, data, config
        )  # fmt: skip

    def fit(self, graph: Any, y: Any = None) -> GraphEmbedder:
        """Embeds a graph, whatever `weyl.graph` takes; `y` is there for pipelines and not looked at."""
        from weyl.tasks.reconstruction import embed

        self.embedding_: Embedding = embed(graph, **self.get_params())
        return self

    def fit_transform(self, graph: Any, y: Any = None) -> np.ndarray:
        """Embeds a graph; features (nodes, numbers), a row a node of `embedding_.nodes`."""
        return self.fit(graph).embedding_.flat()

    def transform(self, graph: Any) -> np.ndarray:
        """Features of the nodes of a graph, in its order; every one must have been there when this was fitted."""
        from weyl.graphs.graph import graph as make_graph

        if not self.__sklearn_is_fitted__():
            raise ValueError(f"{self}: not fitted yet, call fit(graph) first")
        rows = [self.embedding_.row(name) for name in make_graph(graph, data=self.data).nodes]
        return self.embedding_.flat()[rows]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` is there for scikit-learn: none of them has parameters of its own."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> GraphEmbedder:
        """Changes parameters; ValueError at a name that is none."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"GraphEmbedder: no parameter {name!r}; there are {', '.join(known)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in signature(type(self)).parameters.items()}
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
