"""Every kernel against the slow reference: every space, norm and dtype, value and gradient; then the awkward inputs.

Errors are counted in units of the last digit of the dtype: at most twenty-seven were measured, at rank 64 as at rank 4.
"""

import math

import pytest
import torch
from pair_cases import (
    CASES,
    CURVATURES,
    DTYPES,
    KINDS,
    LEARNED,
    METRICS,
    SPACES,
    WAYS,
    case,
    eps,
    kernel,
    learned_gradients,
    on,
    random_pairs,
)

from weyl.geometry import METRICS as ALL_METRICS
from weyl.geometry import SPACES as CONSTRUCTORS
from weyl.geometry import space as make_space
from weyl.kernels import native
from weyl.training.objectives import OBJECTIVES, with_ranking

LOG_2 = 0.6931471805599453
DIGITS = 50  # last digits that a value or gradient may be off
DIGITS_LEARNED = 400  # the same for a derivative in the curvature, a sum of large terms that cancel


def run(kernel, case):
    """What a kernel says of a case: distances, vectors, frame gradients, gradients of what is learned."""
    points, upstream = on(kernel, case.points, case.upstream)
    nodes = kernel.nodes(points)
    found = kernel.forward(nodes, case.first, case.second, vectors=True, gradients=True)
    totals, extras = kernel._zeros(nodes)
    kernel.accumulate(found.gradients, case.first, case.second, upstream, totals, extras)
    frame = kernel.layout.frame_gradient(points, totals)
    return found.distances, found.vectors, frame, learned_gradients(kernel, extras)


def check(kernel, case):
    distances, vectors, frame, learned = run(kernel, case)
    size = case.vectors.abs().amax(-1)
    allowed = DIGITS * eps(kernel)
    assert ((vectors.double().cpu() - case.vectors).abs().amax(-1) <= allowed * size).all()
    assert ((distances.double().cpu() - case.distances).abs() <= allowed * case.distances).all()
    off = (frame.double().cpu() - case.frame_gradients).abs().amax()
    assert off <= allowed * case.frame_gradients.abs().amax()
    assert len(learned) == len(case.learned)
    for found, expected in zip(learned, case.learned, strict=True):
        scale = max(float(expected.abs().amax()), 1e-3)
        assert (found.double() - expected).abs().amax() <= DIGITS_LEARNED * eps(kernel) * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text, metric", CASES)
def test_values_and_gradients(text, metric, way, dtype):
    one = case(text, metric)
    check(kernel(way, one.space, one.norm, DTYPES[dtype]), one)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("curvature", CURVATURES)
@pytest.mark.parametrize("text", LEARNED)
def test_values_and_gradients_while_the_curvature_is_learned(text, curvature, way, dtype):
    one = case(text, "f1", curvature)
    check(kernel(way, one.space, one.norm, DTYPES[dtype]), one)


@pytest.mark.parametrize("way", WAYS)
def test_learned_weights_beside_a_learned_curvature(way):
    one = case(LEARNED[-1], "weighted", -0.5)
    check(kernel(way, one.space, one.norm), one)


def test_nothing_is_left_out():
    named = " ".join([*SPACES, *LEARNED])
    assert [name for name in CONSTRUCTORS if f"{name}(" not in named] == []
    assert {name.split("(")[0] for name in [*METRICS, "f1"]} == set(ALL_METRICS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [0, 1, 7, 333])
@pytest.mark.parametrize("text", KINDS)
def test_a_batch_is_its_pairs_one_by_one(text, count, way):
    one = kernel(way, text, "riemannian")
    points = one.space.random_points(9, spread=min(1.0, one.space.reach() / 4), seed=1, dtype=torch.float64)
    nodes = one.nodes(*on(one, points))
    first, second = random_pairs(9, count)
    found = one.forward(nodes, first, second, vectors=True, gradients=True)
    width = 2 * one.layout.gradient_size
    shapes = (count,), (count, one.layout.components), (count, width)
    assert tuple(tuple(x.shape) for x in found[:3]) == shapes
    whole = one.space.distance(points[first], points[second], "riemannian")
    assert torch.allclose(found.distances.cpu(), whole, rtol=1e-12, atol=0)
    for pair in range(min(count, 4)):
        alone = one.forward(nodes, first[[pair]], second[[pair]], vectors=True, gradients=True)
        for many, single in zip(found[:3], alone[:3], strict=True):
            assert torch.allclose(many[pair], single[0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_a_million_pairs(way):
    one = kernel(way, "hyperbolic(2)", dtype=torch.float32)
    points = one.space.random_points(1000, seed=0, dtype=torch.float32)
    nodes = one.nodes(*on(one, points))
    first, second = random_pairs(1000, 1_000_003)
    found = one.forward(nodes, first, second, gradients=True)
    for some in (slice(0, 5), slice(500_000, 500_005), slice(-5, None)):
        expected = one.space.distance(points[first[some]], points[second[some]])
        assert torch.allclose(found.distances[some].cpu(), expected, rtol=1e-5)
    length = found.gradients.unflatten(-1, (2, 2)).square().sum(-1)
    assert float((length - 1).abs().amax()) < 1e-4  # a distance has slope one, and every row was written


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", KINDS)
def test_equal_points_have_distance_zero_and_finite_gradients(text, way, dtype):
    for metric in ("f1", "riemannian", "finf", "lp(3)", "weighted"):
        one = kernel(way, text, metric, DTYPES[dtype])
        points = one.space.random_points(5, spread=min(1.5, one.space.reach() / 4), seed=2, dtype=one.dtype)
        twice = torch.cat([points, points])
        nodes = one.nodes(*on(one, twice))
        first, second = torch.arange(10), (torch.arange(10) + 5 * (torch.arange(10) % 2)) % 10
        found = one.forward(nodes, first, second, vectors=True, gradients=True)
        assert (found.distances == 0).all()
        assert (found.vectors == 0).all()
        assert found.gradients.isfinite().all()
        assert found.gap == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", KINDS)
def test_near_points_lose_no_digits_but_those_of_their_frames(text, way, dtype):
    one = kernel(way, text, "riemannian", DTYPES[dtype])
    space, spread = one.space, min(1.0, one.space.reach() / 4)
    p = space.random_points(12, spread=spread, seed=3, dtype=torch.float64)
    X = space.random_tangent(p, seed=4)
    step = torch.logspace(-12, -2, 12, dtype=torch.float64).reshape(-1, *[1] * len(space.point_shape))
    points = torch.cat([p, space.exp(p, step * X)]).to(one.dtype)
    nodes = one.nodes(*on(one, points))
    first, second = torch.arange(12), torch.arange(12, 24)
    found = one.forward(nodes, first, second, gradients=True)
    if dtype == "float32":
        points = space.project(points.double())
    expected = space.distance(points[first], points[second], "riemannian")
    assert ((found.distances.double().cpu() - expected).abs() <= DIGITS * eps(one) * (1 + expected)).all()
    assert found.gradients.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", KINDS)
def test_equal_components(text, way, dtype):
    """All components of v equal: gradients of symmetric norms exist, and agree with the reference."""
    one = kernel(way, text, "riemannian", DTYPES[dtype])
    space, length = one.space, one.space.chamber.length
    size = min(2.0, space.reach() / 2)
    o, v = space.origin(), torch.full((length,), size, dtype=torch.float64)
    g = space.random_isometry(seed=5, spread=size / 4)
    points = space.act(g, torch.stack([o, space.exp(o, space.flat_o(v))])).to(one.dtype)
    nodes = one.nodes(*on(one, points))
    found = one.forward(nodes, torch.tensor([0]), torch.tensor([1]), vectors=True, gradients=True)
    assert (found.vectors.double().cpu() - size).abs().amax() <= 3 * DIGITS * eps(one)
    assert found.gap <= 3 * DIGITS * eps(one)
    totals = one._zeros(nodes)[0]
    one._add(
        found.gradients, *on(one, torch.tensor([0]), torch.tensor([1])), None, totals, one._zeros(nodes)[1]
    )
    frame = one.layout.frame_gradient(*on(one, points), totals).double().cpu()
    at = points.double()
    log = torch.stack([space.log(at[0], at[1]), space.log(at[1], at[0])])
    expected = -space.pull(at, log) / (
        length**0.5 * size
    )  # the gradient of a distance: away from the other point
    assert (frame - expected).abs().amax() <= 3 * DIGITS * eps(one)


def far(space, gap, base, seed):
    """p near o and q at components from `base` to `base` + `gap`, both moved by an isometry of spread 1."""
    length, o = space.chamber.length, space.origin()
    v = base + gap * torch.linspace(1, 0, length, dtype=torch.float64)
    g = space.random_isometry(seed=seed, spread=1.0)
    return space.act(g, torch.stack([o, space.exp(o, space.flat_o(space.chamber.fold(v)))]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text", ["upper(1)", "upper(2)", "upper(4)", "spd(4)", "hpd(3)", "qpd(2)", "bounded(3)"]
)
def test_far_points_lose_digits_with_the_gap_alone(text, way, dtype):
    """Frames have condition e^(g/2) in the dtype, dense points e^g in float64; the judge works in twice that."""
    one = kernel(way, text, "f1", DTYPES[dtype])
    space = one.space
    cases = [(gap, 0.5) for gap in (2, 5, 8, 12)] + [(15, 0.5), (20, 0.5)] * (dtype == "float64")
    if text == "bounded(3)":
        cases = [(gap, base) for gap, base in cases if gap + base <= (10 if dtype == "float32" else 16)]
    else:
        cases += [(3, 20.0), (3, 40.0), (0, 60.0)]
    for gap, base in cases:
        points = torch.cat([far(space, gap, base, seed) for seed in range(4)]).to(one.dtype)
        first = torch.arange(0, 8, 2)
        found = one.forward(one.nodes(*on(one, points)), first, first + 1, vectors=True, gradients=True)
        exact = space.vector_distance(points[first].double(), points[first + 1].double(), 1e-14)
        spread = exact[:, 0] - exact[:, -1] if space.chamber.length > 1 else torch.zeros(4)
        spread = spread.clamp(
            min=float(exact.amax()) if text == "bounded(3)" else 0
        )  # a ball keeps o in its middle
        allowed = DIGITS * (eps(one) * (spread / 2).exp() + 2.3e-16 * spread.exp())
        error = (found.vectors.double().cpu() - exact).abs().amax(-1) / exact.amax(-1)
        assert (error <= allowed).all(), (gap, base, error / allowed)
        assert found.gradients.isfinite().all()
        assert (found.gradients.abs().amax(-1) > 0.1).all()  # far points pull as strongly as near ones


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_hyperbolic_distances_of_hundreds(way, dtype):
    one = kernel(way, "hyperbolic(3)", "f1", DTYPES[dtype])
    heights = torch.tensor([-600.0, -300.0, -100.0, -88.0, -40.0, 0.0, 41.0, 90.0, 350.0, 600.0])
    points = torch.stack([torch.tensor([x, -x, h]) for h in heights for x in (0.0, 1.0, 1e4)]).to(one.dtype)
    first, second = (x.flatten() for x in torch.meshgrid(torch.arange(30), torch.arange(30), indexing="ij"))
    nodes = one.nodes(*on(one, points))
    found = one.forward(nodes, first, second, gradients=True)
    p, q = points[first].double(), points[second].double()
    # cosh d = 1 + (|x - x'|² + (y - y')²) / (2yy'), through logarithms
    across = (p - q)[:, :2].square().sum(-1).log()
    half = (p - q)[:, 2].abs() / 2
    steep = 2 * (half + torch.log(-torch.expm1(-2 * half)) + p[:, 2] / 2 + q[:, 2] / 2)
    log_s = (torch.logaddexp(across, steep) - p[:, 2] - q[:, 2]) / 2 - LOG_2
    expected = torch.where(log_s > 20, 2 * (log_s + LOG_2), 2 * log_s.exp().asinh())
    error = (found.distances.double().cpu() - expected).abs()
    assert (error <= 1000 * eps(one) * (expected + 1e-3)).all()
    away = expected > 1e-30  # nearer points are equal in float32
    length = found.gradients.unflatten(-1, (2, 3)).double().square().sum(-1).cpu()
    assert ((length[away] - 1).abs() <= 10_000 * eps(one)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", KINDS)
def test_the_gap_is_the_largest_within_a_factor(text, way, dtype):
    one = kernel(way, text, "f1", DTYPES[dtype])
    points = one.space.random_points(8, spread=min(2.0, one.space.reach() / 4), seed=6, dtype=one.dtype)
    first, second = random_pairs(8, 21)
    found = one.forward(one.nodes(*on(one, points)), first, second, vectors=True)
    gaps = [part[:, 0] - part[:, -1] for part in one.space.chamber.split(found.vectors.cpu())]
    assert abs(found.gap - float(torch.stack(gaps).amax())) <= 10 * eps(one)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", KINDS)
def test_same_bits_whatever_the_threads_and_the_neighbours(text, dtype):
    if "native" not in WAYS:
        return
    outputs = []
    for threads in (1, 2, 3, 5):
        one = kernel("native", text, "weighted", DTYPES[dtype], threads=threads)
        points = one.space.random_points(11, spread=min(1.5, one.space.reach() / 4), seed=7, dtype=one.dtype)
        nodes, (first, second) = one.nodes(points), random_pairs(11, 1501)
        upstream = torch.randn(1501, generator=torch.Generator().manual_seed(8), dtype=one.dtype)
        found = one.forward(nodes, first, second, vectors=True, gradients=True)
        totals, extras, gap = one.gradient(nodes, first, second, lambda _, block, w=upstream: w[block])
        outputs.append([*found, totals, extras, torch.tensor(gap)])
        some = torch.tensor([0, 3, 700, 1500])
        alone = [one.forward(nodes, first[[i]], second[[i]], gradients=True) for i in some.tolist()]
        assert torch.equal(torch.cat([x.gradients for x in alone]), found.gradients[some])
    for other in outputs[1:]:
        assert all(
            torch.equal(torch.as_tensor(a), torch.as_tensor(b))
            for a, b in zip(outputs[0], other, strict=True)
        )


OBJECTIVE = [*OBJECTIVES.values(), *(with_ranking(one, 0.7, 2.0) for one in OBJECTIVES.values())]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text, metric", CASES + [(text, "f1") for text in LEARNED])
def test_a_batch_descends_by_its_slopes(text, metric, dtype):
    """Sums over pairs of the reference's gradients times the slopes of the loss, for every space and norm."""
    if "native" not in WAYS:
        return
    one = case(text, metric, -0.2 if "learn" in text else None)
    made, objective = (
        kernel("native", one.space, one.norm, DTYPES[dtype]),
        OBJECTIVE[len(text) % len(OBJECTIVE)],
    )
    unit, goals = 1.5, torch.linspace(0.5, 6, len(one.first), dtype=torch.float64)
    found = made.descend(
        made.nodes(*on(made, one.points)), one.first, one.second, goals.to(made.dtype), objective.layout(unit)
    )
    d = unit * one.distances
    upstream = unit * objective.slope(d, goals)
    pairs = made.forward(
        made.nodes(*on(made, one.points)), one.first, one.second, gradients=True
    ).gradients.double()
    size = made.layout.gradient_size
    totals = torch.zeros(len(one.points), size, dtype=torch.float64)
    totals.index_add_(0, one.first, upstream[:, None] * pairs[:, :size])
    totals.index_add_(0, one.second, upstream[:, None] * pairs[:, size : 2 * size])
    near = {"rtol": 300 * eps(made), "atol": 300 * eps(made) * float(upstream.abs().sum())}
    assert torch.allclose(found.totals, totals, **near)
    assert torch.allclose(found.extras, (upstream[:, None] * pairs[:, 2 * size :]).sum(0), **near)
    assert found.loss == pytest.approx(float(objective.loss(d, goals).sum()), rel=1000 * eps(made))
    assert found.unit_slope == pytest.approx(
        float((d * objective.slope(d, goals)).sum()), rel=3000 * eps(made)
    )
    assert found.gap == pytest.approx(
        made.forward(made.nodes(*on(made, one.points)), one.first, one.second).gap
    )


@pytest.mark.parametrize("objective", OBJECTIVE, ids=lambda one: f"{one.name} {one.weight:g}")
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_objective_is_compiled_as_it_is_written(objective, dtype):
    """On pairs nearer and farther than they should be, on both sides of the border, and where they should be."""
    if "native" not in WAYS:
        return
    made = kernel("native", "euclidean(1)", "f1", DTYPES[dtype])
    place = torch.tensor([0.0, 1, 2, 2.5, 2.75, 3.5, 5, 9]).to(made.dtype)
    first, second = torch.zeros(7, dtype=torch.int64), torch.arange(1, 8)
    for goals in ([1.0, 1, 4, 1, 8, 5, 7], [1.0, 2, 2.5, 2.75, 3.5, 5, 9], [2.0, 9, 9, 9, 2, 2, 2]):
        g = torch.tensor(goals).to(made.dtype)
        found = made.descend(place[:, None], first, second, g, objective.layout(1.0))
        slope = objective.slope(place[1:], g)
        expected = torch.cat([-slope.sum()[None], slope]).double()
        assert torch.allclose(found.totals[:, 0], expected, rtol=30 * eps(made), atol=30 * eps(made))
        assert found.loss == pytest.approx(
            float(objective.loss(place[1:], g).sum()), rel=30 * eps(made), abs=1e-6
        )


@pytest.mark.parametrize("count", [0, 1, 15, 511, 512, 1025, 4000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_batch_of_any_size_descends_to_the_same_bits(count, dtype):
    if "native" not in WAYS:
        return
    found = []
    for threads in (1, 2, 3, 5):
        one = kernel("native", "product(upper(3), hyperbolic(2))", "weighted", DTYPES[dtype], threads=threads)
        points, (first, second) = (
            one.space.random_points(11, seed=7, dtype=one.dtype),
            random_pairs(11, count),
        )
        goals = 1 + (first + second).to(one.dtype)
        found.append(one.descend(one.nodes(points), first, second, goals, OBJECTIVES["stress"].layout(1.0)))
        plain = one.forward(one.nodes(points), first, second)
        assert found[-1].loss == pytest.approx(
            float((plain.distances - goals).double().square().sum()), rel=1e-5
        )
    for other in found[1:]:
        assert torch.equal(other.totals, found[0].totals) and torch.equal(other.extras, found[0].extras)
        assert other[2:] == found[0][2:]


def test_what_cannot_descend_is_refused():
    if "native" not in WAYS:
        return
    one = kernel("native", "upper(2)")
    points, (first, second) = one.space.random_points(6, seed=7, dtype=one.dtype), random_pairs(6, 10)
    nodes, goals, loss = (
        one.nodes(points),
        torch.ones(10, dtype=torch.float64),
        OBJECTIVES["paper"].layout(1.0),
    )
    bad = [
        (IndexError, "second", (nodes, first, second + 6, goals, loss)),
        (IndexError, "first", (nodes, first - 6, second, goals, loss)),
        (ValueError, "goals", (nodes, first, second, goals[:9], loss)),
        (TypeError, "goals", (nodes, first, second, goals.float(), loss)),
        (ValueError, "objective", (nodes, first, second, goals, loss._replace(kind=4))),
        (ValueError, "nodes", (nodes.float(), first, second, goals, loss)),
    ]
    for error, word, arguments in bad:
        with pytest.raises(error, match=word):
            one.descend(*arguments)


SETS = native._extension().instruction_sets() if native.available() else []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("text", ["upper(17)", *KINDS])
def test_every_instruction_set(text, name, dtype):
    one = case(text, "f1")
    made = kernel("native", one.space, one.norm, DTYPES[dtype])
    nodes = made.nodes(*on(made, one.points))
    found = made.forward(nodes, one.first, one.second, vectors=True, gradients=True)
    same = [torch.empty_like(x) for x in found[:3]]
    outputs = dict(zip(("distances", "vectors", "gradients"), same, strict=True))
    gap = native.pairs(
        made.layout, made.norm_layout, nodes, one.first, one.second, **outputs, instruction_set=name
    )
    for mine, best in zip(same, found[:3], strict=True):
        assert torch.allclose(mine, best, rtol=DIGITS * eps(made), atol=DIGITS * eps(made))
    assert abs(gap - found.gap) <= DIGITS * eps(made) * max(1.0, gap)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["upper(2)", 'ball(2, 2, field="H")', "hyperbolic(3)"])
def test_any_layout_of_the_arguments(text, way):
    one = kernel(way, text)
    space = one.space
    points = space.random_points(6, seed=9, dtype=torch.float64)
    first, second = random_pairs(6, 30)
    (at,) = on(one, points)
    nodes = one.nodes(at)
    expected = one.forward(nodes, first, second, gradients=True)
    turned = at.permute(*range(at.ndim - 1, -1, -1)).contiguous().permute(*range(at.ndim - 1, -1, -1))
    wide = torch.stack([nodes, nodes], -1)[..., 0]
    assert not wide.is_contiguous() and (at.ndim == 2 or not turned.is_contiguous())
    for records in (
        one.nodes(turned),
        wide,
        nodes.clone().requires_grad_(),
        one.nodes(at.clone().requires_grad_()),
    ):
        assert not one.nodes(at.clone().requires_grad_()).requires_grad
        for a, b in (
            (first, second),
            (first.int(), second.short()),
            (first.to(torch.uint8), second.to(torch.int8)),
            (torch.stack([first, second], 1)[:, 0], torch.stack([first, second], 1)[:, 1]),
            on(one, first, second),
        ):
            found = one.forward(records, a, b, gradients=True)
            assert torch.equal(found.distances, expected.distances)
            assert torch.equal(found.gradients, expected.gradients)
            assert not found.distances.requires_grad


def degenerate_points(space, dtype):
    """Equal, nearly equal, far, on common flats, with vanishing and equal components, as dtype rounds them."""
    o, length = space.origin(), space.chamber.length
    end = min(space.reach(dtype) * 0.9, 12.0)
    generator = torch.Generator().manual_seed(10)
    X = space.random_tangents(o.expand(8, *space.point_shape), generator)
    at = [o, o]
    for scale in (1e-300, 1e-30, 1e-12, 1e-6, 0.3, 1.0):
        at += list(space.exp(o.expand_as(X[:2]), min(scale, end) / 4 * X[:2]))
    for v in (1e-9, 1e-4, 0.1, 0.5, end / 2, end):
        one = torch.zeros(length, dtype=torch.float64)
        one[0] = v
        at += [space.exp(o, space.flat_o(x)) for x in (one, one + v * (one == 0), space.chamber.fold(-one))]
    points = torch.stack(at)
    moved = space.act(space.random_isometry(seed=11, spread=end / 12), points)
    return space.project(torch.cat([points, moved, points[:5]]).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", KINDS)
def test_degenerate_pairs_give_finite_numbers(text, way, dtype):
    """About a hundred thousand pairs over all; a gradient of the Riemannian distance is never longer than one."""
    points = degenerate_points(make_space(text), DTYPES[dtype])
    first, second = torch.randint(len(points), (2, 1500), generator=torch.Generator().manual_seed(12))
    for metric in ("f1", "riemannian", "finf", "weighted"):
        one = kernel(way, text, metric, DTYPES[dtype])
        (at,) = on(one, points)
        found = one.forward(one.nodes(at), first, second, vectors=True, gradients=True)
        for values in found[:3]:
            assert values.isfinite().all()
        assert (found.distances >= 0).all() and found.gap < 100
        if metric == "riemannian" and "combine" not in text:
            size = one.layout.gradient_size
            for index, some in ((first, slice(0, size)), (second, slice(size, 2 * size))):
                xi = one.layout.frame_gradient(at[index.to(at.device)], found.gradients[:, some])
                weight = torch.as_tensor(one.space.weight).to(xi)
                length = (weight * xi.square()).flatten(1).sum(-1)
                assert length.amax() <= 1 + 10 * (
                    eps(one) * math.exp(12) + 2.3e-16 * math.exp(24)
                )  # gaps of 24
