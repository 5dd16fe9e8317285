"""The face of the pair kernels: which one runs, what is refused, autograd, matrices of distances and neighbours."""

import logging

import pytest
import torch
from pair_cases import CUDA, DTYPES, WAYS, eps, kernel, on, random_pairs
from torch.autograd import grad, gradcheck

from weyl.geometry import space as make_space
from weyl.geometry.symmetric import SymmetricSpace
from weyl.kernels import autograd, cuda, dispatch, native
from weyl.kernels.dispatch import PairKernel

SPACES = [
    "upper(2)", "spd(3)", "hpd(2, det=1)", "qpd(2)", "bounded(2)", "dual(2)", 'ball(2, 3, field="H")', "sphere(3)",
    "antisymmetric(4)", "hyperbolic(3)", "product(upper(2), sphere(2), euclidean(3))", "power(bounded(1), 3)",
]  # fmt: skip


def points_of(space, count=6, dtype=torch.float64, seed=0):
    return space.random_points(count, spread=min(1.0, space.reach() / 4), seed=seed, dtype=dtype)


# ── which kernel runs ────────────────────────────────────────────────────────────────────────────────────────────
def test_the_fastest_kernel_is_chosen():
    assert PairKernel("upper(2)").backend == ("native" if native.available() else "batched")
    assert PairKernel("upper(2)", backend="batched").backend == "batched"
    if CUDA:
        assert PairKernel("upper(2)", device="cuda").backend == ("cuda" if cuda.available() else "batched")


def test_without_the_extension_torch_does_the_work_and_says_so_once(monkeypatch, caplog):
    expected = PairKernel("spd(3)", dtype=torch.float64)
    points, (first, second) = points_of(expected.space), random_pairs(6, 10)
    monkeypatch.setattr(native, "_extension", lambda: None)
    native.say_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="weyl"):
        made = [PairKernel(text, dtype=torch.float64) for text in ("spd(3)", "upper(2)", "spd(3)")]
    assert [one.backend for one in made] == ["batched"] * 3
    assert [record.message for record in caplog.records] == [
        "no compiled pair kernel for device 'cpu': using batched torch, which is slower"
    ]
    found = made[0].distances(points, first, second)
    assert torch.allclose(found, expected.space.distance(points[first], points[second]), rtol=1e-12)
    native.say_once.cache_clear()


class Alien(SymmetricSpace):
    """A space that no kernel knows."""

    name, point_shape, dim = "alien", (2,), 2
    frame = inverse = move = push = lift = pull = symmetry = rotation = transvection = None
    log_o = retract_o = flat_o = origin = vector_at = structured = inside = defect = nearest = None
    chamber = make_space("euclidean(2)").chamber


def test_what_no_kernel_can_do_is_refused():
    def message(error, **arguments):
        with pytest.raises(error) as caught:
            PairKernel(**{"space": "upper(2)", **arguments})
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no backend 'abacus'; there are cuda, native, batched" in message(ValueError, backend="abacus")
    assert "backend 'cuda' is not to be had on device 'cpu'" in message(ValueError, backend="cuda")
    assert "expected torch.float32 or torch.float64, got torch.float16" in message(
        ValueError, dtype=torch.float16
    )
    assert "got torch.complex128" in message(ValueError, dtype=torch.complex128)
    assert "threads must be at least 1, got 0" in message(ValueError, threads=0)
    assert "is no norm here" in message(ValueError, space="spd(2)", metric="fmin")
    assert "uper" in message(ValueError, space="uper(2)")
    assert "no pair kernel covers alien" in message(ValueError, space=Alien())


def test_a_space_without_frames_is_refused():
    class Unframed:
        """Not a symmetric space."""

    with pytest.raises(ValueError):
        PairKernel(Unframed())


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bad", [-1, 6, 2**31, 2**62, -(2**63)])
@pytest.mark.parametrize("place", [0, 17, 40])
def test_indices_out_of_range_are_refused(way, bad, place):
    one = kernel(way, "upper(2)")
    (points,) = on(one, points_of(one.space))
    good = torch.arange(41) % 6
    wrong = good.clone()
    wrong[place] = bad
    nodes = one.nodes(points)
    totals, extras = one._zeros(nodes)
    rows = one.forward(nodes, good, good, gradients=True).gradients
    for first, second in ((wrong, good), (good, wrong)):
        for call in (
            lambda f, s: one.forward(nodes, f, s),
            lambda f, s: one.distances(points, f, s),
            lambda f, s: one.vector_distances(points, f, s),
            lambda f, s: one.gradient(nodes, f, s, lambda d, _: torch.ones_like(d)),
            lambda f, s: one.distance_matrix(points, f, s),
            lambda f, s: one.neighbours(points, 2, f, s),
            lambda f, s: one.accumulate(rows, f, s, None, totals, extras),
        ):
            with pytest.raises(IndexError, match=f"{bad}.*6 nodes"):
                call(first, second)
    assert (totals == 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_bad_indices_are_refused(way):
    one = kernel(way, "upper(2)")
    nodes, good = one.nodes(*on(one, points_of(one.space))), torch.tensor([0, 1])
    points = on(one, points_of(one.space))[0]
    for bad in (good.double(), good.bool(), good.to(torch.complex64), [0, 1], good.numpy(), None, 3):
        for pair in ((bad, good), (good, bad)):
            with pytest.raises(TypeError, match="must be a tensor of node indices"):
                one.forward(nodes, *pair)
            with pytest.raises(TypeError, match="must be a tensor of node indices"):
                one.distances(points, *pair)
    for call in (one.forward, one.distances, one.vector_distances):
        at = nodes if call == one.forward else points
        with pytest.raises(ValueError, match="2 first nodes and 3 second ones"):
            call(at, good, torch.tensor([0, 1, 2]))
        with pytest.raises(ValueError, match="0 first nodes and 2 second ones"):
            call(at, good[:0], good)
        with pytest.raises(ValueError, match="one axis, got shape"):
            call(at, good[None], good[None])
        with pytest.raises(ValueError, match="one axis, got shape"):
            call(at, good[0], good[0])


@pytest.mark.parametrize("way", WAYS)
def test_bad_points_are_refused(way):
    one = kernel(way, "upper(2)")
    pair = torch.tensor([0]), torch.tensor([1])
    (points,) = on(one, points_of(one.space))
    with pytest.raises(ValueError, match=r"made for torch.float64 .* got points of torch.float32"):
        one.distances(points.float(), *pair)
    with pytest.raises(ValueError, match=r"got points of .*complex"):
        one.distances(torch.complex(points, points), *pair)
    for shape in ((2, 2, 2), (6, 2, 2), (6, 3, 3, 2), (6, 8), (1, 6, 2, 2, 2)):
        with pytest.raises(ValueError, match=r"expected points \(n, 2, 2, 2"):
            one.distances(points.new_zeros(shape), *pair)
    outside, skew, undefined = points.clone(), points.clone(), points.clone()
    outside[3, ..., 1] *= -1
    skew[3, 0, 1] += 0.5
    undefined[3, 0, 0, 0] = torch.nan
    for bad, reason in ((outside, "not positive definite"), (skew, "not symmetric"), (undefined, "NaN")):
        for call in (one.distances, one.vector_distances):
            with pytest.raises(ValueError, match=f"point 3 of 6 .*{reason}"):
                call(bad, *pair)
    with pytest.raises(ValueError, match="length"):
        kernel(way, "sphere(2)").nodes(*on(one, torch.ones(4, 3).double()))
    if CUDA:
        other = points.cpu() if "cuda" in way else points.cuda()
        with pytest.raises(ValueError, match="got points of"):
            one.distances(other, *pair)


@pytest.mark.parametrize("way", WAYS)
def test_bad_records_and_sums_are_refused(way):
    one = kernel(way, "upper(2)")
    first = second = on(one, torch.tensor([0, 1]))[0]
    nodes = one.nodes(*on(one, points_of(one.space)))
    with pytest.raises(ValueError, match=r"got nodes of .*float32"):
        one.forward(nodes.float(), first, second)
    for bad in (nodes[:, :-1], nodes[0], nodes[None]):
        with pytest.raises(ValueError, match="expected node records"):
            one.forward(bad, first, second)
    found = one.forward(nodes, first, second, gradients=True)
    totals, extras = one._zeros(nodes)
    good = {"gradients": found.gradients, "upstream": found.distances, "totals": totals, "extras": extras}
    wrong = {
        "gradients": [found.gradients[:1], found.gradients.float(), found.gradients.mT.contiguous().mT, None],
        "upstream": [found.distances[:1], found.distances.float(), found.distances[0]],
        "totals": [totals[:, :-1], totals.float(), totals.mT.contiguous().mT],
        "extras": [extras.float(), torch.zeros(3, dtype=torch.float64, device=extras.device)],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"PairKernel: {name} must be"):
                one.accumulate(first=first, second=second, **{**good, name: value})
    with pytest.raises(TypeError, match="node indices"):
        one.accumulate(first=first.double(), second=second, **good)
    assert (totals == 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_empty_arguments(way):
    one = kernel(way, "product(upper(2), hyperbolic(2))", "weighted")
    (points,) = on(one, points_of(one.space))
    none = torch.empty(0, dtype=torch.int64)
    assert one.distances(points, none, none).shape == (0,)
    assert one.vector_distances(points, none, none).shape == (0, 3)
    assert one.distance_matrix(points, none).shape == (0, 6)
    assert one.distance_matrix(points, None, none).shape == (6, 0)
    assert one.distance_matrix(points[:0]).shape == (0, 0)
    assert [x.shape for x in one.neighbours(points, 2, none)] == [(0, 2), (0, 2)]
    with pytest.raises(IndexError, match="0 nodes"):
        one.distances(points[:0], torch.tensor([0]), torch.tensor([0]))
    free = points.clone().requires_grad_()
    one.distances(free, none, none).sum().backward()
    assert (free.grad == 0).all()


# ── autograd ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", SPACES)
def test_euclidean_gradients_are_those_of_the_geometry(text, way, dtype):
    one = kernel(way, text, "riemannian", DTYPES[dtype])
    (points,) = on(one, points_of(one.space, dtype=one.dtype))
    first, second = random_pairs(6, 15)
    weight = torch.linspace(-1, 2, 15).to(points)
    free = points.clone().requires_grad_()
    (found,) = grad((one.distances(free, first, second).square() * weight).sum(), free)
    at = one.space.project(points.double()) if dtype == "float32" else points
    at = at.clone().requires_grad_()
    distances = one.space.distance(at[first], at[second], "riemannian")
    (expected,) = grad((distances.square() * weight).sum(), at)
    # Only what moves points along the space counts: entries that are no freedom of a point may get any gradient.
    p = at.detach()
    found, expected = (
        one.space.pull(p, one.space.riemannian_gradient(p, x.to(p))) for x in (found, expected)
    )
    assert (found - expected).abs().amax() <= 500 * eps(one) * expected.abs().amax()


@pytest.mark.parametrize("way", WAYS)
def test_a_step_along_the_gradient_does_what_it_says(way):
    one = kernel(way, "hyperbolic(2)")
    first, second = random_pairs(5, 9)
    free = on(one, points_of(one.space, 5))[0].requires_grad_()
    assert gradcheck(lambda x: one.distances(x, first, second), free, eps=1e-6, atol=1e-8)


@pytest.mark.parametrize("kept", [autograd.KEPT, 0])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text, metric",
    [
        ("upper(2)", "weighted"),
        ('interpolated(2, k="learn")', "f1"),
        ('power(interpolated(2, k="learn"), 2)', "weighted"),
        (
            'product(ball(2, 3, k="learn"), sphere(2), antisymmetric(4, k="learn"), combine="pythagoras")',
            "weighted",
        ),
    ],
)
def test_what_is_learned_gets_its_gradient(text, metric, way, kept, monkeypatch):
    """Also where forward keeps no pair gradients, and backward finds them again."""
    monkeypatch.setattr(autograd, "KEPT", kept)
    monkeypatch.setattr(dispatch, "BLOCK", 4)
    one = kernel(way, text, metric)
    learned = [*one.norm.parameters(), *one.space.parameters()]
    points, (first, second) = points_of(one.space), random_pairs(6, 15)
    weight = torch.linspace(-1, 2, 15).double()
    for parameter in one.space.parameters():
        parameter.data.fill_(-0.5)
    at = points.clone().requires_grad_()
    loss = (one.space.distance(at[first], at[second], one.norm) * weight).sum()
    expected = grad(loss, [at, *learned])
    free = on(one, points)[0].requires_grad_()
    found = grad((one.distances(free, first, second) * weight.to(free)).sum(), [free, *learned])
    p = points
    for index, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        assert mine.device == (free.device if index == 0 else learned[index - 1].device)
        if index == 0:
            mine, theirs = (one.space.riemannian_gradient(p, x.to(p)) for x in (mine, theirs))
        assert torch.allclose(mine, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
def test_parameters_of_any_precision(way):
    one = kernel(way, "bounded(2)", "weighted", torch.float32)
    (raw,) = one.norm.parameters()
    raw.data = raw.data.float()
    points, (first, second) = on(one, points_of(one.space, dtype=torch.float32))[0], random_pairs(6, 15)
    one.distances(points, first, second).sum().backward()
    assert raw.grad.dtype == torch.float32 and raw.grad.isfinite().all() and (raw.grad > 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_only_what_is_wanted_gets_a_gradient(way):
    one = kernel(way, "upper(2)", "weighted")
    (points,) = on(one, points_of(one.space))
    first, second = random_pairs(6, 15)
    assert one.distances(points, first, second).requires_grad  # the weights
    fixed = kernel(way, "upper(2)")
    assert not fixed.distances(points, first, second).requires_grad
    assert not fixed.vector_distances(points.clone().requires_grad_(), first, second).requires_grad
    with torch.no_grad():
        assert not one.distances(points.clone().requires_grad_(), first, second).requires_grad


@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_of_the_gradient_is_refused(way):
    one = kernel(way, "upper(2)")
    free = on(one, points_of(one.space))[0].requires_grad_()
    first, second = random_pairs(6, 15)
    for loss in (torch.sum, torch.linalg.vector_norm):
        (once,) = grad(loss(one.distances(free, first, second)), free, create_graph=True)
        with pytest.raises(RuntimeError, match="can be differentiated once"):
            once.square().sum().backward()


@pytest.mark.parametrize("way", WAYS)
def test_equal_points_pull_nowhere(way):
    one = kernel(way, "spd(3)", "riemannian")
    free = on(one, points_of(one.space))[0].requires_grad_()
    same = torch.arange(6)
    (found,) = grad(one.distances(free, same, same).sum(), free)
    assert (found == 0).all()


# ── matrices and neighbours ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wide", [dispatch.WIDE, 50])
def test_a_matrix_of_distances(way, wide, monkeypatch):
    monkeypatch.setattr(dispatch, "WIDE", wide)
    one = kernel(way, "upper(2)", "riemannian")
    points = points_of(one.space, 17)
    (at,) = on(one, points)
    expected = one.space.distance(points[:, None], points[None], "riemannian")
    whole = one.distance_matrix(at).cpu()
    assert torch.allclose(whole, expected, rtol=1e-12, atol=0)
    assert (whole.diagonal() == 0).all()
    rows, columns = torch.tensor([3, 3, 16, 0]), torch.tensor([5, 3, 1], dtype=torch.int32)
    assert torch.equal(one.distance_matrix(at, rows, columns).cpu(), whole[rows][:, columns])
    assert torch.equal(one.distance_matrix(at, columns=columns).cpu(), whole[:, columns])
    first, second = random_pairs(17, 333)
    assert torch.equal(one.distances(at, first, second).cpu(), whole[first, second])
    vectors = one.vector_distances(at, first, second).cpu()
    assert torch.allclose(vectors.square().sum(-1).sqrt(), whole[first, second], rtol=1e-12)


def nearest_by_sorting(distances, queries, among, k):
    """The k nearest others of every query, ties in the order of the candidates."""
    found = []
    for query in queries.tolist():
        order = [(float(distances[query, c]), place) for place, c in enumerate(among.tolist()) if c != query]
        found.append([int(among[place]) for _, place in sorted(order)[:k]])
    return torch.tensor(found)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wide", [dispatch.WIDE, 90])
@pytest.mark.parametrize("k", [1, 3, 7, 39])
def test_neighbours_with_many_ties(way, wide, k, monkeypatch):
    """Points of a square grid: most distances occur many times."""
    monkeypatch.setattr(dispatch, "WIDE", wide)
    one = kernel(way, "euclidean(2)")
    grid = torch.cartesian_prod(torch.arange(8.0), torch.arange(5.0)).double()
    (at,) = on(one, grid)
    distances = torch.cdist(grid, grid)
    everyone, generator = torch.arange(40), torch.Generator().manual_seed(0)
    shuffled = torch.randperm(40, generator=generator)
    for queries, among in (
        (None, None),
        (torch.tensor([7, 7, 0, 39]), None),
        (None, shuffled),
        (shuffled[:5], shuffled),
    ):
        indices, near = one.neighbours(at, k, queries, among)
        asked = everyone if queries is None else queries
        candidates = everyone if among is None else among
        expected = nearest_by_sorting(distances, asked, candidates, k)
        assert torch.equal(indices.cpu(), expected)
        assert torch.allclose(near.cpu(), distances[asked.unsqueeze(1), expected], rtol=1e-14)
        assert (indices.cpu() != asked.unsqueeze(1)).all()


@pytest.mark.parametrize("way", WAYS)
def test_neighbours_among_a_few(way):
    one = kernel(way, "upper(2)")
    points = points_of(one.space, 12)
    (at,) = on(one, points)
    distances = one.distance_matrix(at).cpu()
    queries, among = torch.tensor([0, 1, 2]), torch.tensor([9, 3, 7, 1])
    indices, _ = one.neighbours(at, 3, queries, among)
    assert torch.equal(indices.cpu(), nearest_by_sorting(distances, queries, among, 3))
    apart, _ = one.neighbours(
        at, 4, torch.tensor([0]), among
    )  # no query among the candidates: all four count
    assert sorted(apart[0].tolist()) == [1, 3, 7, 9]
    for k in (0, -1, 4, 1000):
        with pytest.raises(ValueError, match=f"k must be between 1 and 3, got {k}"):
            one.neighbours(at, k, queries, among)
    with pytest.raises(ValueError, match="k must be between 1 and 11, got 12"):
        one.neighbours(at, 12)
    with pytest.raises(
        ValueError, match="k must be between 1 and 1, got 2"
    ):  # a query twice is still no neighbour
        one.neighbours(at, 2, torch.tensor([5]), torch.tensor([5, 3, 5]))
    with pytest.raises(TypeError, match="node indices"):
        one.neighbours(at, 1, queries.double())
