"""Nodes on the move: frames that compiled code multiplies, against the exponential of the geometry."""

import pytest
import torch

from weyl.geometry import space as make_space
from weyl.kernels import native
from weyl.kernels.layout import Layout
from weyl.kernels.moving import LONGEST_STEP, MovingPoints

SPACES = [
    *(f"upper({n})" for n in (1, 2, 3, 4, 9)), "spd(1)", "spd(3)", "spd(4, det=1)", "hpd(2)", "hpd(3, det=1)", "qpd(1)",
    "qpd(3)", "qpd(2, det=1)", *(f"bounded({n})" for n in (1, 2, 4)), "dual(2)", "interpolated(3, k=0)",
    "interpolated(2, k=-0.3)", "interpolated(2, k=4)", "ball(2, 3)", "ball(3, 2, k=0.5)", "ball(1, 4)",
    'ball(2, 2, field="C")', 'ball(3, 2, field="C", k=0)', 'ball(2, 3, field="C", k=0.5)', 'ball(2, 2, field="H")',
    'ball(1, 3, field="H")', 'ball(3, 2, field="H", k=0.2)', "antisymmetric(2)", "antisymmetric(5)",
    "antisymmetric(4, k=0.5)", "euclidean(1)", "euclidean(3)", "hyperbolic(1)", "hyperbolic(4)", "sphere(3)",
    "power(upper(2), 2)", "power(product(hyperbolic(2), bounded(2)), 2)", "product(upper(2), spd(3), euclidean(2))",
    'product(sphere(2), ball(2, 3, field="C"), qpd(2))',
]  # fmt: skip


def start(text, nodes=11, **how):
    """Moving points, and coordinates of a tangent vector of length one for each: those of a gradient."""
    space = make_space(text)
    spread = min(1.0, space.reach() / 4)
    points = space.random_points(nodes, spread=spread, seed=3, dtype=torch.float64)
    layout = Layout(space)
    moving = MovingPoints(layout, points, **how)
    random = torch.Generator().manual_seed(4)
    totals = torch.randn(nodes, layout.gradient_size, generator=random, dtype=torch.float64)
    X = layout.frame_gradient(points, totals)
    length = space.inner(points, *[space.lift(points, X)] * 2).sqrt()
    return (
        space,
        points,
        moving,
        moving.coordinates(totals) / length[:, None],
        space.lift(points, X) / length.reshape(-1, *[1] * len(space.point_shape)),
    )


def there(moving, step):
    moving.advance(step)
    return moving.points()


@pytest.mark.parametrize("text", SPACES)
def test_short_steps_follow_the_geodesic(text):
    """To third order: a step half as long is off by an eighth."""
    errors = []
    for t in (0.2, 0.1):
        space, points, moving, step, X = start(text)
        errors.append(float(space.distance(there(moving, t * step), space.exp(points, t * X)).max()))
    assert errors[0] < 0.2**3
    assert errors[1] < errors[0] / 5 or errors[0] < 1e-12


@pytest.mark.parametrize("text", SPACES)
def test_the_exact_way_is_the_geodesic(text):
    space, points, moving, step, X = start(text, exact=True)
    assert space.distance(there(moving, 0.7 * step), space.exp(points, 0.7 * X)).max() < 1e-7


@pytest.mark.parametrize("text", SPACES)
def test_long_steps_are_shortened_and_stay_inside(text):
    space, _, moving, step, _ = start(text)
    for _ in range(8):
        before = moving.points()
        after = there(moving, 30.0 * step)
        assert space.why_not(after) is None
        assert space.distance(before, after, "riemannian").max() < 3 * LONGEST_STEP * len(moving.parts) ** 0.5


@pytest.mark.parametrize("text", SPACES)
def test_records_are_those_of_the_points(text):
    _, _, moving, step, _ = start(text)
    for _ in range(3):
        moving.advance(0.3 * step)
    fresh = moving.layout.nodes(moving.points())
    assert torch.allclose(moving.records(torch.float64), fresh, rtol=1e-9, atol=1e-9)
    assert moving.records(torch.float32).dtype == torch.float32


@pytest.mark.parametrize("text", ["upper(3)", "hpd(2)", "spd(3, det=1)"])
def test_frames_find_the_same_bits_whatever_the_threads_and_neighbours(text):
    found = []
    for threads in (1, 3):
        _, _, moving, step, _ = start(text, nodes=3000, threads=threads)
        found.append(there(moving, 0.1 * step))
    assert torch.equal(*found)


def test_which_spaces_move_as_frames():
    compiled = native.available()
    for text in SPACES:
        assert start(text)[2].all_frames == (compiled and "sphere" not in text)
        assert not start(text, exact=True)[2].all_frames
