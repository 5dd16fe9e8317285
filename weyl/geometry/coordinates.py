"""Normal coordinates at the basepoint: points as flat rows of numbers, for models that know nothing of geometry."""

from __future__ import annotations

import torch
from torch import Tensor

from .half_space import HalfSpace
from .symmetric import SymmetricSpace


def flat_coordinates(space: SymmetricSpace, points: Tensor) -> Tensor:
    """log_o(p) in coordinates, (n, *point_shape) to (n, dim), float64.

    For `upper(n)`: the upper triangles of U, then of V, where [[U, V], [V, -U]] is the matrix logarithm of the image
    in SPD(2n). That map is totally geodesic and takes o to Id, so its logarithm is log_o(p) = V + iU, without a 2n × 2n
    matrix whose condition would be e^(2v). Elsewhere: an orthonormal basis, so that |row| = d(o, p).
    """
    p = points.detach().to(torch.float64)
    xi = space.log_at(space.origin().to(p).expand_as(p), p)
    if isinstance(space, HalfSpace) and space.kind == "symmetric":
        i, j = torch.triu_indices(space.size, space.size)
        V, U = xi[:, i, j].unbind(-1)
        return torch.cat([U, V], -1)
    basis = orthonormal_basis(space).to(p)
    weight = torch.as_tensor(space.weight).to(p).expand(space.point_shape).flatten()
    return (xi.flatten(1) * weight) @ basis.mT


def orthonormal_basis(space: SymmetricSpace) -> Tensor:
    """An orthonormal basis of the tangent space at o, as rows of stored entries: (dim, entries).

    Gram and Schmidt on the projections of the stored entries, in their order.
    """
    o = space.origin()
    size = o.numel()
    root = torch.as_tensor(space.weight).to(o).expand(space.point_shape).flatten().sqrt()
    units = torch.eye(size, dtype=o.dtype).reshape(size, *space.point_shape)
    candidates = space.project_tangent(o.expand_as(units), units).flatten(1) * root
    found = candidates.new_zeros(space.dim, size)
    count = 0
    for row in candidates:
        for _ in range(2):  # the second time takes away what rounding left
            row = row - (row @ found[:count].mT) @ found[:count]
        length = torch.linalg.vector_norm(row)
        if count < space.dim and length > 1e-6 * root.amax():
            found[count], count = row / length, count + 1
    return found / root
