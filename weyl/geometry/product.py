"""Products and powers of symmetric spaces: every operation factor by factor, the vector distances concatenated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import torch
from torch import Tensor, nn

from .chamber import Chamber
from .symmetric import SymmetricSpace


class Product(SymmetricSpace):
    """A point is one flat tensor, the points of the factors one after the other; an isometry is a tuple."""

    def __init__(self, *factors: SymmetricSpace, combine: str = "concatenate"):
        if combine not in ("concatenate", "pythagoras"):
            raise ValueError(f"combine must be 'concatenate' or 'pythagoras', got {combine!r}")
        if any(factor.chamber.groups for factor in factors):
            raise ValueError(
                "a product with combine='pythagoras' cannot be a factor; write its factors one by one"
            )
        self.factors, self.combine = factors, combine
        self.unit_scale = max(factor.unit_scale for factor in factors)
        option = ', combine="pythagoras"' if combine == "pythagoras" else ""
        self.name = f"product({', '.join(factor.name for factor in factors)}{option})"
        self.dim = sum(factor.dim for factor in factors)
        self.sizes = [prod(factor.point_shape) for factor in factors]
        self.point_shape = (sum(self.sizes),)
        self.notes = tuple(note for factor in factors for note in factor.notes)
        weights = [
            torch.as_tensor(f.weight, dtype=torch.float64).expand(f.point_shape).flatten() for f in factors
        ]
        self.weight = torch.cat(weights)

    def parameters(self) -> list[nn.Parameter]:
        return [parameter for factor in self.factors for parameter in factor.parameters()]

    @property
    def chamber(self) -> Chamber:
        chambers = [factor.chamber for factor in self.factors]
        groups = tuple(chamber.length for chamber in chambers) if self.combine == "pythagoras" else ()
        return Chamber(tuple(factor for chamber in chambers for factor in chamber.factors), groups)

    def parts(self, *points: Tensor) -> Iterator[tuple]:
        """Each factor with its parts of the points."""
        split = [point.split(self.sizes, -1) for point in points]
        for factor, *parts in zip(self.factors, *split, strict=True):
            yield factor, *(part.unflatten(-1, factor.point_shape) for part in parts)

    def _joined(self, results: Iterable[Tensor]) -> Tensor:
        flat = [x.flatten(x.ndim - len(f.point_shape)) for f, x in zip(self.factors, results, strict=True)]
        return torch.cat(flat, -1)

    def reach(self, dtype=torch.float64):
        return min(factor.reach(dtype) for factor in self.factors)

    def origin(self):
        return self._joined([factor.origin() for factor in self.factors])

    def structured(self, x):
        return self._joined([factor.structured(part) for factor, part in self.parts(x)])

    def vector_at(self, p, q, tolerance):
        p, q = torch.broadcast_tensors(p, q)
        return torch.cat([factor.vector_at(a, b, tolerance) for factor, a, b in self.parts(p, q)], -1)

    def frame(self, p):
        return tuple(factor.frame(part) for factor, part in self.parts(p))

    def inverse(self, g):
        return tuple(factor.inverse(part) for factor, part in zip(self.factors, g, strict=True))

    def move(self, g, q):
        return self._joined(
            [factor.move(h, part) for (factor, part), h in zip(self.parts(q), g, strict=True)]
        )

    def push(self, g, q, X):
        return self._joined([f.push(h, part, x) for (f, part, x), h in zip(self.parts(q, X), g, strict=True)])

    def lift(self, p, xi):
        return self._joined([factor.lift(a, x) for factor, a, x in self.parts(p, xi)])

    def pull(self, p, X):
        return self._joined([factor.pull(a, x) for factor, a, x in self.parts(p, X)])

    def symmetry(self):
        return tuple(factor.symmetry() for factor in self.factors)

    def rotation(self, generator):
        return tuple(factor.rotation(generator) for factor in self.factors)

    def transvection(self, xi):
        return tuple(factor.transvection(x) for factor, x in self.parts(xi))

    def log_o(self, q):
        return self._joined([factor.log_o(part) for factor, part in self.parts(q)])

    def retract_o(self, xi):
        return self._joined([factor.retract_o(x) for factor, x in self.parts(xi)])

    def flat_o(self, v):
        pieces = v.split([factor.chamber.length for factor in self.factors], -1)
        return self._joined(
            [factor.flat_o(piece) for factor, piece in zip(self.factors, pieces, strict=True)]
        )

    def inside(self, p):
        return torch.stack([factor.inside(part) for factor, part in self.parts(p)]).all(0)

    def defect(self, p):
        outside = [
            (i, factor, part) for i, (factor, part) in enumerate(self.parts(p)) if not factor.inside(part)
        ]
        index, factor, part = outside[0]
        return f"{factor.defect(part)} (in factor {index}, {factor.name})"

    def nearest(self, p, margin, target):
        return self._joined([factor.nearest(part, margin, target) for factor, part in self.parts(p)])


class Power(SymmetricSpace):
    """`count` copies of one space, computed as a batch: points (count, *point_shape of the space)."""

    def __init__(self, factor: SymmetricSpace, count: int):
        if factor.chamber.groups:
            raise ValueError(
                "a product with combine='pythagoras' cannot be a factor; write its factors one by one"
            )
        self.factor, self.count, self.unit_scale = factor, count, factor.unit_scale
        self.name, self.dim = f"power({factor.name}, {count})", factor.dim * count
        self.point_shape = (count, *factor.point_shape)
        self.complex_points, self.structure_name = factor.complex_points, factor.structure_name
        self.weight, self.notes = factor.weight, factor.notes

    def parameters(self) -> list[nn.Parameter]:
        return self.factor.parameters()

    @property
    def chamber(self) -> Chamber:
        return Chamber(self.factor.chamber.factors * self.count)

    def reach(self, dtype=torch.float64):
        return self.factor.reach(dtype)

    def origin(self):
        return self.factor.origin().expand(self.point_shape).clone()

    def structured(self, x):
        return self.factor.structured(x)

    def vector_at(self, p, q, tolerance):
        return self.factor.vector_at(p, q, tolerance).flatten(-2)

    def frame(self, p):
        return self.factor.frame(p)

    def inverse(self, g):
        return self.factor.inverse(g)

    def move(self, g, q):
        return self.factor.move(g, q)

    def push(self, g, q, X):
        return self.factor.push(g, q, X)

    def lift(self, p, xi):
        return self.factor.lift(p, xi)

    def pull(self, p, X):
        return self.factor.pull(p, X)

    def symmetry(self):
        return self.factor.symmetry()

    def rotation(self, generator):
        """One rotation for all copies."""
        return self.factor.rotation(generator)

    def transvection(self, xi):
        return self.factor.transvection(xi)

    def log_o(self, q):
        return self.factor.log_o(q)

    def retract_o(self, xi):
        return self.factor.retract_o(xi)

    def flat_o(self, v):
        return self.factor.flat_o(v.unflatten(-1, (self.count, -1)))

    def inside(self, p):
        return self.factor.inside(p).all(-1)

    def defect(self, p):
        index = int((~self.factor.inside(p)).nonzero()[0])
        return f"{self.factor.defect(p[index])} (in copy {index})"

    def nearest(self, p, margin, target):
        return self.factor.nearest(p, margin, target)
