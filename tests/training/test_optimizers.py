"""Optimisers, against torch's own, and by their definition."""

import pytest
import torch

from weyl.training.optimizers import Adam, GradientDescent


def gradients(count, shape=(6, 4)):
    random = torch.Generator().manual_seed(1)
    return [torch.randn(shape, dtype=torch.float64, generator=random) * 10**k for k in range(-2, count - 2)]


@pytest.mark.parametrize("betas", [(0.9, 0.99), (0.9, 0.999), (0.0, 0.5)])
def test_adam_is_torchs(betas):
    ours, theirs = torch.zeros(6, 4, dtype=torch.float64), torch.nn.Parameter(torch.zeros(6, 4).double())
    mine, reference = Adam((6, 4), betas), torch.optim.Adam([theirs], betas=betas, eps=1e-12)
    for step, gradient in enumerate(gradients(6)):
        rate = 0.1 / (step + 1)  # what a schedule changes
        ours += mine.step(gradient, rate)
        reference.param_groups[0]["lr"] = rate
        theirs.grad = gradient.clone()
        reference.step()
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=0)


def test_adam_rests_where_there_is_no_gradient():
    optimizer = Adam((3, 2), (0.9, 0.99))
    assert optimizer.step(torch.zeros(3, 2, dtype=torch.float64), 0.1).eq(0).all()


def test_adam_goes_on_from_its_state():
    whole, first, second = (Adam((6, 4), (0.9, 0.99)) for _ in range(3))
    steps = [whole.step(gradient, 0.1) for gradient in gradients(6)]
    for gradient in gradients(6)[:3]:
        first.step(gradient, 0.1)
    second.state = {name: x.clone() for name, x in first.state.items()}
    for gradient, step in zip(gradients(6)[3:], steps[3:], strict=True):
        assert torch.equal(second.step(gradient, 0.1), step)


def test_adam_keeps_the_gradient_it_is_given():
    gradient = gradients(1)[0]
    before = gradient.clone()
    Adam((6, 4), (0.9, 0.99)).step(gradient, 0.1)
    assert torch.equal(gradient, before)


def test_descent_follows_a_short_gradient():
    gradient = gradients(1)[0]
    assert torch.allclose(GradientDescent(clip=1e3).step(gradient, 0.5), -0.5 * gradient, rtol=1e-14)


def test_descent_shortens_the_gradient_of_all_nodes_together():
    gradient = gradients(4)[3]
    step = GradientDescent(clip=2.0).step(gradient, 0.5)
    assert float(step.norm()) == pytest.approx(0.5 * 2.0)
    assert torch.allclose(step / step.norm(), -gradient / gradient.norm(), rtol=1e-12)


def test_descent_rests_where_there_is_no_gradient():
    assert GradientDescent(clip=1.0).step(torch.zeros(3, 2), 0.5).eq(0).all()
