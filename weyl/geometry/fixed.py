"""Spaces and metrics with what they learned written down as numbers, so that their text alone makes them again."""

from __future__ import annotations

from .families import number_text, space
from .norms import BoundNorm, Weighted
from .product import Power, Product
from .space import Space
from .symmetric import SymmetricSpace

LEARNED = ('k="learn"', "k=<tensor>")  # how a curvature that is no number stands in the name of a space


def fixed_space(learned: Space) -> SymmetricSpace:
    """The same space, made from its name, with every learned curvature as a given number."""
    made = space(fixed_name(learned))
    if not isinstance(made, SymmetricSpace) or made.point_shape != learned.point_shape:
        raise ValueError(f"{learned.name}: no expression makes this space")
    return made


def fixed_name(learned: Space) -> str:
    """The expression of a space in which learned curvatures stand as numbers."""
    if isinstance(learned, Product):
        name = learned.name
        for factor in learned.factors:
            name = name.replace(factor.name, fixed_name(factor), 1)
        return name
    if isinstance(learned, Power):
        return learned.name.replace(learned.factor.name, fixed_name(learned.factor), 1)
    name = learned.name
    for text in LEARNED:
        if text in name:
            name = name.replace(text, f"k={number_text(float(learned.k.detach()))}")  # type: ignore[attr-defined]
    return name


def fixed_metric(norm: BoundNorm) -> str:
    """The expression of a norm in which learned weights stand as numbers."""
    if not isinstance(norm.norm, Weighted) or norm.norm.given:
        return norm.text
    weights = norm.norm.weights(norm.chamber).detach().tolist()
    return f"weighted({', '.join(map(number_text, weights))})"
