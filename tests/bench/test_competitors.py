"""Other libraries are asked for the same numbers as ours, with batches that suit them."""

import sys

import pytest
import torch

from weyl.bench import geoopt_pairs, sympa_pairs
from weyl.bench.competitor import Competitor
from weyl.kernels.dispatch import PairKernel

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # geoopt uses it
CHECKOUT = {
    "sympa/__init__.py": "",
    "sympa/config.py": "import torch\ntorch.set_default_dtype(torch.float64)\n",
    "sympa/math/__init__.py": "",
    "sympa/math/csym_math.py": "import torch\ndef symeig(y, eigenvectors=True):\n    return torch.symeig(y)\n",
    "sympa/manifolds/__init__.py": "from .upper_half import UpperHalfManifold\n",
    "sympa/manifolds/metrics.py": "from enum import Enum\nMetricType = Enum('MetricType', 'FINSLER_ONE')\n",
    "sympa/manifolds/upper_half.py": """
import torch
from sympa import config
from sympa.math import csym_math as sm
class UpperHalfManifold(torch.nn.Module):
    def __init__(self, dims, metric):
        super().__init__()
    def dist(self, p, q):
        return sm.symeig((p - q)[:, 1])[0].sum(-1)
""",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in CHECKOUT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "sympa"]:
        del sys.modules[name]


@pytest.mark.parametrize("text", ["upper(1)", "upper(3)", "bounded(2)"])
@pytest.mark.parametrize("metric", ["f1", "finf", "riemannian"])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_geoopt_finds_our_distances_and_gradients(text, metric, dtype, tolerance):
    kernel = PairKernel(text, metric, dtype)
    points = kernel.space.random_points(8, seed=0, dtype=dtype)
    first, second = torch.triu_indices(8, 8, 1)
    ours = points.clone().requires_grad_()
    distances = kernel.distances(ours, first, second)
    distances.sum().backward()
    other = geoopt_pairs.competitor(kernel.space, metric, points)
    theirs = other.distance(other.points[first], other.points[second]).flatten()
    assert torch.allclose(theirs, distances, rtol=tolerance, atol=0)
    other.run(first, second, 5, gradients=True)
    gradient = torch.view_as_real(other.points.grad)
    symmetric = (gradient + gradient.transpose(1, 2)) / 2
    assert (symmetric - ours.grad).abs().max() < tolerance * ours.grad.abs().max()


def test_what_geoopt_has_not_is_refused():
    for text, metric, words in (("spd(2)", "f1", "no spd"), ("upper(2)", "lp(3)", "no metric")):
        kernel = PairKernel(text, metric)
        with pytest.raises(ValueError, match=words):
            geoopt_pairs.siegel("geoopt", kernel.space, metric)


def test_a_missing_geoopt_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "geoopt", None)
    with pytest.raises(ImportError, match="pip install"):
        geoopt_pairs.library()


def test_sympa_runs_without_symeig_and_leaves_torch_as_it_was(checkout):
    kernel = PairKernel("upper(2)")
    points = kernel.space.random_points(4, seed=0, dtype=torch.float32)
    before = list(sys.path)
    other = sympa_pairs.competitor(checkout, kernel.space, "f1", points)
    assert torch.get_default_dtype() == torch.float32 and sys.path == before
    Y = points[..., 1]
    expected = (Y[:2] - Y[2:]).diagonal(dim1=-2, dim2=-1).sum(-1)  # the trace is the sum of eigenvalues
    assert torch.allclose(other.distance(other.points[:2], other.points[2:]), expected, atol=1e-6)


def test_sympa_by_path(tmp_path):
    with pytest.raises(ValueError, match="no checkout of sympa"):
        sympa_pairs.load(tmp_path)


def picky(most):
    """A library that fails on more pairs than `most`."""

    def distance(p, q):
        if len(p) > most:
            raise RuntimeError("too large")
        return (p - q).square().sum(-1)

    return Competitor("picky", torch.rand(10, 3, requires_grad=True), distance)


def test_batches_that_fail_are_not_taken():
    first, second = torch.randint(10, (2, 2000))
    batch, tried = picky(300).best_batch(first, second, gradients=True, limit=10.0)
    assert set(tried) == {64, 256} and batch in tried
    with pytest.raises(ValueError, match="picky fails on 64 pairs: too large"):
        picky(10).best_batch(first, second, gradients=True, limit=10.0)


def test_slow_batches_are_not_tried():
    first, second = torch.randint(10, (2, 2000))
    _, tried = picky(5000).best_batch(first, second, gradients=False, limit=0.0)
    assert list(tried) == [64]


def test_batches_add_up_to_the_gradient_of_the_whole():
    other = picky(5000)
    first, second = torch.randint(10, (2, 100))
    other.run(first, second, 100, gradients=True)
    whole = other.points.grad.clone()
    other.run(first, second, 7, gradients=True)
    assert torch.allclose(other.points.grad, whole, rtol=1e-4)
