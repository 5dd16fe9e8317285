"""Objectives: slopes are derivatives of losses, and no loss is where distances are those of the graph."""

import pytest
import torch

from weyl.training.objectives import OBJECTIVES, with_ranking

EDGE = 1.0
RANKED = [with_ranking(objective, 0.7, EDGE) for objective in OBJECTIVES.values()]
EVERY = [*OBJECTIVES.values(), *RANKED]


def pairs(count=500):
    """Distances in a space and in a graph, whole numbers there, none of them where a loss has a corner."""
    random = torch.Generator().manual_seed(5)
    g = torch.randint(1, 9, (count,), generator=random).double()
    d = 10 * torch.rand(count, generator=random, dtype=torch.float64) + 1e-3
    return d, g


@pytest.mark.parametrize("objective", EVERY, ids=lambda one: one.name)
def test_slope_is_the_derivative_of_the_loss(objective):
    d, g = pairs()
    d.requires_grad_()
    (found,) = torch.autograd.grad(objective.loss(d, g).sum(), d)
    assert torch.allclose(objective.slope(d.detach(), g), found, rtol=1e-12)


@pytest.mark.parametrize("objective", EVERY, ids=lambda one: one.name)
def test_a_perfect_embedding_has_no_loss(objective):
    g = torch.arange(1.0, 9)
    assert objective.loss(g, g).eq(0).all()
    assert objective.slope(g, g).eq(0).all()


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=lambda one: one.name)
def test_loss_grows_away_from_the_goal(objective):
    g = torch.full((9,), 3.0, dtype=torch.float64)
    above, below = g + torch.linspace(0.1, 2, 9), g - torch.linspace(0.1, 2, 9)
    for side in (above, below):
        assert objective.loss(side, g).diff().gt(0).all()
    assert objective.slope(above, g).gt(0).all() and objective.slope(below, g).lt(0).all()


def test_relative_loss_is_the_average_distortion():
    d, g = pairs()
    assert OBJECTIVES["relative"].loss(d, g).mean() == pytest.approx(float(((d - g).abs() / g).mean()))


def test_papers_loss():
    loss = OBJECTIVES["paper"].loss(torch.tensor([4.0, 1.0, 3.0]), torch.tensor([2.0, 2.0, 3.0]))
    assert loss.tolist() == [3, 0.75, 0]


@pytest.mark.parametrize("edge", [1.0, 2.5])
def test_hinge_is_zero_where_neighbours_are_nearer_than_all_others(edge):
    plain = OBJECTIVES["relative"]
    ranked = with_ranking(plain, 4.0, edge)
    g = edge * torch.tensor([1.0, 1, 2, 5])
    ordered = edge * torch.tensor([0.2, 1.4, 1.6, 3])  # on the right side of 3/2, though not at the goal
    assert torch.equal(ranked.loss(ordered, g), plain.loss(ordered, g))
    assert torch.equal(ranked.slope(ordered, g), plain.slope(ordered, g))
    mixed = edge * torch.tensor([1.6, 1.4, 1.4, 3])  # a neighbour too far, another too near
    more = ranked.loss(mixed, g) - plain.loss(mixed, g)
    assert more.tolist() == pytest.approx([4 * 0.1, 0, 4 * 0.1, 0], abs=1e-6)
    push = ranked.slope(mixed, g) - plain.slope(mixed, g)
    assert push[0] > 0 > push[2] and push[1] == push[3] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("objective", EVERY, ids=lambda one: one.name)
def test_dtype_is_kept(objective, dtype):
    d, g = (x.to(dtype) for x in pairs())
    assert objective.loss(d, g).dtype == objective.slope(d, g).dtype == dtype
