"""Torch modules: points that no optimiser can spoil, and distances for losses of one's own."""

import copy
import io

import pytest
import torch

from weyl import space
from weyl.nn import PairDistance, Points

SPACES = [
    "upper(2)",
    "bounded(2)",
    "dual(2)",
    "spd(2)",
    "spd(3, det=1)",
    "hpd(2)",
    "qpd(2, det=1)",
    "ball(2, 3)",
    'ball(1, 2, field="H")',
    "antisymmetric(4)",
    "euclidean(3)",
    "hyperbolic(3)",
    "sphere(3)",
    "product(upper(2), sphere(1))",
    "power(hyperbolic(2), 3)",
]


@pytest.mark.parametrize("text", SPACES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_points_are_points_whatever_the_coordinates(text, dtype):
    points = Points(text, 7, seed=0, dtype=dtype)
    made = points.space
    assert points().shape == (7, *made.point_shape) and points().dtype == dtype
    assert made.why_not(points().detach()) is None
    assert points.coordinates.shape == (7, *made.point_shape) and points.coordinates.requires_grad
    with torch.no_grad():
        points.coordinates.copy_(
            torch.randn(points.coordinates.shape, generator=torch.Generator().manual_seed(1))
        )
    assert made.why_not(points().detach()) is None  # free coordinates, structured or not
    assert torch.isfinite(points()).all()


def test_indices_choose_rows():
    points = Points("upper(2)", 6, spread=1.0, seed=0, dtype=torch.float64)
    everything = points()
    some = points(torch.tensor([4, 1, 1]))
    torch.testing.assert_close(some, everything[[4, 1, 1]])
    assert points(torch.tensor([[0, 1], [2, 3]])).shape == (2, 2, 2, 2, 2)
    assert points(torch.tensor([], dtype=torch.int64)).shape == (0, 2, 2, 2)
    assert Points("upper(2)", 0)().shape == (0, 2, 2, 2)
    some.sum().backward()
    touched = points.coordinates.grad.flatten(1).abs().sum(-1) > 0
    assert touched.tolist() == [False, True, False, False, True, False]


def test_the_start_depends_on_seed_and_spread_alone():
    one, same, other = (
        Points("upper(2)", 200, spread=0.01, seed=seed, dtype=torch.float64) for seed in (0, 0, 1)
    )
    assert torch.equal(one.coordinates, same.coordinates) and not torch.equal(
        one.coordinates, other.coordinates
    )
    o = one.space.basepoint(dtype=torch.float64)
    size = one.space.distance(o, one().detach(), "riemannian").square().mean().sqrt()
    assert float(size) == pytest.approx(0.01, rel=0.1)
    drawn = one.space.random_points(200, spread=0.01, seed=0, dtype=torch.float64)
    torch.testing.assert_close(one().detach(), drawn)
    assert Points("upper(2)", 2).coordinates.dtype == torch.float32


@pytest.mark.parametrize("text", [text for text in SPACES if "dual" not in text])
def test_set_makes_these_the_points(text):
    points = Points(text, 5, seed=0, dtype=torch.float64)
    target = points.space.random_points(5, spread=0.7, seed=1, dtype=torch.float64)
    points.set(target)
    torch.testing.assert_close(points().detach(), target, rtol=1e-10, atol=1e-10)
    assert points.coordinates.requires_grad and points.coordinates.grad_fn is None


def test_set_takes_complex_points_and_other_precisions():
    points = Points("upper(2)", 3, seed=0, dtype=torch.float32)
    target = points.space.random_points(3, seed=1, dtype=torch.float64)
    for form in (target, torch.view_as_complex(target), target.float()):
        points.set(form)
        torch.testing.assert_close(points().detach(), target.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", SPACES)
@pytest.mark.parametrize("metric", ["f1", "riemannian", "finf"])
def test_gradients_are_finite_where_points_coincide(text, metric):
    points = Points(text, 4, spread=0.1, seed=0)
    with torch.no_grad():
        points.coordinates[1] = points.coordinates[0]
        points.coordinates[2:] = 0
    distance = PairDistance(points.space, metric)
    i, j = torch.triu_indices(4, 4)  # each with itself, too
    value = distance(points(i), points(j))
    ((value - 1) ** 2).sum().backward()
    assert value.isfinite().all() and points.coordinates.grad.isfinite().all()
    assert float(value.detach()[i == j].abs().max()) < 1e-6


def test_the_gradient_in_coordinates_against_differences():
    points = Points("upper(2)", 2, spread=0.5, seed=0, dtype=torch.float64)
    distance = PairDistance(points.space, "f1")
    distance(*points()).backward()
    grad = points.coordinates.grad.clone()
    for index in [(0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 0, 1)]:
        ends = []
        for h in (1e-6, -1e-6):
            moved = copy.deepcopy(points)
            with torch.no_grad():
                moved.coordinates[index] += h
            ends.append(float(distance(*moved()).detach()))
        assert float(grad[index]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_state_is_saved_and_loaded():
    points, distance = Points('interpolated(2, k="learn")', 5, seed=0), PairDistance("upper(2)", "weighted")
    assert set(points.state_dict()) == {"coordinates", "learned.0"} and set(distance.state_dict()) == {
        "learned.0"
    }
    with torch.no_grad():
        points.learned[0].fill_(-0.25)
        distance.learned[0].fill_(0.5)
    file = io.BytesIO()
    torch.save([points.state_dict(), distance.state_dict()], file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    again, metric = Points('interpolated(2, k="learn")', 5, seed=1), PairDistance("upper(2)", "weighted")
    again.load_state_dict(loaded[0])
    metric.load_state_dict(loaded[1])
    assert torch.equal(again(), points()) and again.space.name == points.space.name
    assert float(again.space.k.detach()) == -0.25
    p, q = space("upper(2)").random_points(2, seed=0)
    assert torch.equal(metric(p, q), distance(p, q))


def test_a_copy_learns_on_its_own():
    points = Points('interpolated(2, k="learn")', 3, spread=0.3, seed=0)
    other = copy.deepcopy(points)
    with torch.no_grad():
        other.learned[0].fill_(0.5)
    assert float(points.space.k.detach()) == -1 and float(other.space.k.detach()) == 0.5
    assert not torch.equal(points(), other())


def test_precision_can_be_changed():
    points = Points("upper(2)", 3, spread=1.0, seed=0, dtype=torch.float64)
    before = points().detach()
    assert points.float()().dtype == torch.float32
    torch.testing.assert_close(points().detach().double(), before, rtol=1e-5, atol=1e-5)
    assert points.double()().dtype == torch.float64
    distance = PairDistance("upper(2)", "weighted")
    p, q = before[:2]
    value = distance(p, q)
    torch.testing.assert_close(distance.float()(p, q), value, rtol=1e-6, atol=0)
    torch.testing.assert_close(distance.double()(p.float(), q.float()).double(), value, rtol=1e-5, atol=0)


@pytest.mark.parametrize("change", ["float", "double"])
def test_learned_numbers_follow_a_change_of_precision(change):
    """After .float() the module's parameters are still the ones that its space and its norm use."""
    points, distance = (
        Points('interpolated(2, k="learn")', 3, spread=0.3, seed=0),
        PairDistance("upper(2)", "weighted"),
    )
    for module in (points, distance):
        getattr(module, change)()
        assert all(parameter.dtype == getattr(torch, change) for parameter in module.parameters())
    p, q = space("upper(2)").random_points(2, seed=1, dtype=getattr(torch, change))
    (points().square().sum() + distance(p, q)).backward()
    for parameter in [*points.parameters(), *distance.parameters()]:
        assert parameter.grad is not None and parameter.grad.isfinite().all() and (parameter.grad != 0).any()
    with torch.no_grad():
        points.learned[0].fill_(-0.25)
        distance.learned[0].fill_(5.0)
    assert float(points.space.k.detach()) == -0.25
    heavy = float(distance(p, q).detach())
    assert heavy > 5 * float(space("upper(2)").distance(p, q))


# ── training ─────────────────────────────────────────────────────────────────────────────────────────────────────
def cycle(n):
    """Pairs of nodes of a cycle and their distances along it."""
    i, j = torch.triu_indices(n, n, offset=1)
    steps = (j - i).double()
    return i, j, torch.minimum(steps, n - steps)


def distortion(points, distance, pairs):
    i, j, target = pairs
    return ((distance(points(i), points(j)) - target).abs() / target).mean()


def train(points, distance, pairs, steps, rate):
    optimizer = torch.optim.Adam([*points.parameters(), *distance.parameters()], lr=rate)
    start = float(distortion(points, distance, pairs).detach())
    for _ in range(steps):
        optimizer.zero_grad()
        distortion(points, distance, pairs).backward()
        for parameter in [*points.parameters(), *distance.parameters()]:
            assert parameter.grad.isfinite().all()
        optimizer.step()
    return start, float(distortion(points, distance, pairs).detach())


@pytest.mark.parametrize(
    "text, metric", [("upper(2)", "f1"), ("hyperbolic(2)", "riemannian"), ("spd(2, det=1)", "finf")]
)
def test_training_embeds_a_cycle(text, metric):
    points = Points(text, 6, spread=0.1, seed=0, dtype=torch.float64)
    start, end = train(points, PairDistance(points.space, metric), cycle(6), steps=80, rate=0.05)
    assert end < 0.35 < 0.8 < start
    assert points.space.why_not(points().detach()) is None


def test_training_from_one_point_starts_finite():
    """All points equal: every gradient is defined, and zero up to rounding."""
    points = Points("upper(2)", 4, seed=0, dtype=torch.float64)
    with torch.no_grad():
        points.coordinates.zero_()
    distortion(points, PairDistance("upper(2)"), cycle(4)).backward()
    assert points.coordinates.grad.isfinite().all()


def test_learned_weights_move_and_stay_a_norm():
    points = Points("upper(2)", 6, spread=0.1, seed=0, dtype=torch.float64)
    distance = PairDistance(points.space, "weighted")
    (raw,) = distance.parameters()
    before = raw.detach().clone()
    start, end = train(points, distance, cycle(6), steps=60, rate=0.05)
    assert end < start and ((raw.detach() - before).abs() > 1e-3).all()
    weights = distance.norm.norm.weights(points.space.chamber).detach()
    assert (weights > 0).all() and weights[0] >= weights[1]


def test_a_learned_curvature_moves():
    points = Points('interpolated(1, k="learn")', 6, spread=0.1, seed=0, dtype=torch.float64)
    distance = PairDistance(points.space, "riemannian")
    assert [name for name, _ in points.named_parameters()] == ["coordinates", "learned.0"]
    start, end = train(points, distance, cycle(6), steps=80, rate=0.05)
    assert end < 0.5 * start and abs(float(points.space.k.detach()) + 1) > 0.05
    assert points.space.why_not(points().detach()) is None


def test_what_is_learned_is_found_inside_products():
    text = 'product(power(interpolated(1, k="learn"), 2), hyperbolic(2), ball(1, 2, k="learn"))'
    points, distance = Points(text, 3, spread=0.3, seed=0, dtype=torch.float64), PairDistance("upper(1)")
    assert len(list(points.learned)) == 2 and list(distance.parameters()) == []
    i, j = torch.triu_indices(3, 3, offset=1)
    PairDistance(points.space, "riemannian")(points(i), points(j)).sum().backward()
    assert all(k.grad.isfinite() and k.grad != 0 for k in points.learned)


def test_a_learned_curvature_may_change_its_sign():
    """Points in normal coordinates stay where they are while k passes through zero."""
    points = Points('interpolated(2, k="learn")', 4, spread=0.3, seed=0, dtype=torch.float64)
    distance = PairDistance(points.space, "f1")
    last = None
    for k in torch.linspace(-0.2, 0.2, 9):
        points.zero_grad()
        with torch.no_grad():
            points.learned[0].fill_(float(k))
        value = distance(points()[:2], points()[2:]).sum()
        value.backward()
        assert points.learned[0].grad.isfinite() and points.coordinates.grad.isfinite().all()
        assert points.space.why_not(points().detach()) is None
        if last is not None:
            assert abs(float(value.detach()) - last) < 0.05
        last = float(value.detach())


def test_modules_nest():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.points = Points("upper(2)", 3, seed=0)
            self.distance = PairDistance(self.points.space, "weighted")

        def forward(self):
            return self.distance(self.points()[:, None], self.points())

    model = Model()
    assert {name for name, _ in model.named_parameters()} == {"points.coordinates", "distance.learned.0"}
    table = model().detach()
    assert table.shape == (3, 3) and torch.allclose(table, table.mT, atol=1e-6)
    assert float(table.diagonal().abs().max()) < 1e-6
