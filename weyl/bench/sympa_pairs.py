"""The paper's code, from a checkout: real points (n, 2, rank, rank), `manifold.dist(p, q)`.

It calls torch.symeig, which torch has removed; in this process it gets torch.linalg.eigh in its place, the same
decomposition. Importing it sets torch's default dtype, which is set back.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import geoopt_pairs
from .competitor import Competitor

if TYPE_CHECKING:
    from weyl.geometry import Space

MANIFOLDS = {"upper": "UpperHalfManifold", "bounded": "BoundedDomainManifold"}


def symeig(matrices: Tensor, eigenvectors: bool = True) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order, and eigenvectors, of symmetric matrices."""
    values, vectors = torch.linalg.eigh(matrices)
    return values, vectors


def load(path: str | Path) -> ModuleType:
    """The module sympa.manifolds of a checkout."""
    folder = Path(path).expanduser().resolve()
    if not (folder / "sympa" / "manifolds" / "upper_half.py").is_file():
        raise ValueError(f"{path} is no checkout of sympa: it has no sympa/manifolds/upper_half.py")
    geoopt_pairs.library()  # sympa stands on it
    dtype = torch.get_default_dtype()
    sys.path.insert(0, str(folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            manifolds = importlib.import_module("sympa.manifolds")
            mathematics = importlib.import_module("sympa.math.csym_math")
    except ImportError as problem:
        raise ImportError(f"sympa at {path} cannot be imported: {problem}") from None
    finally:
        sys.path.remove(str(folder))
        torch.set_default_dtype(dtype)
    mathematics.symeig = symeig  # type: ignore[attr-defined]
    return manifolds


def competitor(path: str | Path, space: Space, metric: str, points: Tensor) -> Competitor:
    """sympa on copies of these points (n, rank, rank, 2)."""
    family, kind = geoopt_pairs.siegel("sympa", space, metric)
    manifolds = load(path)
    types = importlib.import_module("sympa.manifolds.metrics")
    manifold = getattr(manifolds, MANIFOLDS[family])(dims=space.rank, metric=types.MetricType[kind])
    manifold = manifold.to(points)
    Z = points.permute(0, 3, 1, 2).contiguous().clone().requires_grad_()
    return Competitor("sympa", Z, manifold.dist, manifold)
