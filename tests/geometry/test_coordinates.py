"""Flat coordinates: an orthonormal basis at o, in which exp_o gives every point back."""

import pytest
import torch

from weyl.geometry import space as make_space
from weyl.geometry.coordinates import flat_coordinates, orthonormal_basis

SPACES = [
    "upper(1)",
    "upper(3)",
    "bounded(2)",
    "dual(2)",
    "spd(3)",
    "hpd(2)",
    "qpd(2)",
    "ball(2,3)",
    "antisymmetric(5)",
    "euclidean(4)",
    "hyperbolic(3)",
    "sphere(3)",
    "complex_hyperbolic(2)",
    "quaternionic_hyperbolic(2)",
    "power(hyperbolic(2),2)",
    "product(upper(2),spd(2),sphere(2))",
    "power(product(hyperbolic(2),euclidean(1)),2)",
]
DET = ["spd(3, det=1)", "hpd(3, det=1)", "qpd(2, det=1)"]


@pytest.mark.parametrize("name", SPACES + DET)
def test_the_basis_is_orthonormal_tangent_and_complete(name):
    space = make_space(name)
    basis = orthonormal_basis(space).reshape(space.dim, *space.point_shape)
    o = space.origin().expand_as(basis)
    gram = torch.stack([space.inner_at(o, X.expand_as(basis), basis) for X in basis])
    assert torch.allclose(gram, torch.eye(space.dim, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(space.project_tangent(o, basis), basis, atol=1e-12)


@pytest.mark.parametrize("name", SPACES + DET)
def test_coordinates_lead_back_to_their_points(name):
    space = make_space(name)
    points = space.random_points(5, seed=0, dtype=torch.float64)
    rows = flat_coordinates(space, points)
    assert rows.shape == (5, space.dim) and rows.dtype == torch.float64
    o = space.origin().expand_as(points)
    if name.startswith("upper"):
        n = space.point_shape[0]
        i, j = torch.triu_indices(n, n)
        X = torch.zeros_like(points)
        U, V = rows.split(space.dim // 2, -1)
        X[:, i, j, 0] = X[:, j, i, 0] = V
        X[:, i, j, 1] = X[:, j, i, 1] = U
    else:
        X = (rows @ orthonormal_basis(space)).reshape(points.shape)
    assert space.vector_distance(space.exp(o, X), points).abs().max() < 1e-9


@pytest.mark.parametrize("name", SPACES)
def test_coordinates_of_narrow_points_are_those_of_the_same_points_widened(name):
    space = make_space(name)
    points = space.random_points(4, seed=1, dtype=torch.float32)
    assert torch.equal(flat_coordinates(space, points), flat_coordinates(space, points.double()))
