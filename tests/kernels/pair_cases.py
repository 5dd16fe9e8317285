"""What the tests of the pair kernels share: kernels, spaces, norms, points, and the reference evaluated once a case."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from weyl.geometry import SymmetricSpace
from weyl.geometry import space as make_space
from weyl.geometry.norms import BoundNorm
from weyl.kernels import native
from weyl.kernels.dispatch import PairKernel
from weyl.kernels.layout import WEIGHTED
from weyl.kernels.reference import reference

CUDA = torch.cuda.is_available()
WAYS = [
    *(["native"] if native.available() else []),
    "batched",
    *(["cuda", "batched on cuda"] if CUDA else []),
]
DTYPES = {"float32": torch.float32, "float64": torch.float64}

UNROLLED = [f"{name}({n})" for name in ("upper", "bounded", "spd", "hpd") for n in range(1, 9)]
LARGE = ["upper(17)", "bounded(17)", "spd(17)", "hpd(17)", "ball(17, 17)", 'ball(17, 17, field="C")']
LARGEST = ["upper(64)", "spd(64)", "ball(3, 64)"]
QUATERNIONIC = """
qpd(1)  qpd(2)  qpd(3)  qpd(4)  qpd(2, det=1)  qpd(3, det=1)  qpd(9)
ball(1, 1, field="H")  ball(2, 2, field="H")  ball(1, 3, field="H")  ball(3, 2, field="H")  ball(4, 4, field="H")
ball(2, 3, field="H", k=0.4)  ball(3, 2, field="H", k=0)  quaternionic_hyperbolic(1)  quaternionic_hyperbolic(3)
"""
CURVED = """
dual(1)  dual(2)  dual(3)  dual(5)  interpolated(2, k=-0.3)  interpolated(3, k=0)  interpolated(4, k=0.2)
interpolated(2, k=-4)  interpolated(3, k=-0.001)  interpolated(3, k=0.001)
ball(1, 1)  ball(2, 2)  ball(3, 3)  ball(4, 4)  ball(5, 5)  ball(6, 6)  ball(7, 7)  ball(8, 8)
ball(2, 3)  ball(3, 2)  ball(1, 6)  ball(6, 1)  ball(5, 9)  ball(9, 5)  ball(2, 3, k=0.5)  ball(3, 2, k=0)
ball(1, 1, field="C")  ball(2, 2, field="C")  ball(3, 3, field="C")  ball(4, 4, field="C")  ball(5, 5, field="C")
ball(6, 6, field="C")  ball(7, 7, field="C")  ball(8, 8, field="C")
ball(2, 4, field="C")  ball(4, 2, field="C")  ball(1, 5, field="C")  ball(9, 4, field="C", k=-0.5)
ball(2, 3, field="C", k=0.5)  ball(3, 2, field="C", k=0)  complex_hyperbolic(1)  complex_hyperbolic(4)
antisymmetric(2)  antisymmetric(3)  antisymmetric(4)  antisymmetric(5)  antisymmetric(6)  antisymmetric(7)
antisymmetric(8)  antisymmetric(17)  antisymmetric(5, k=0.5)  antisymmetric(4, k=0)
"""
OTHERS = """
spd(2, det=1)  spd(5, det=1)  hpd(2, det=1)  hpd(4, det=1)
euclidean(1)  euclidean(3)  euclidean(20)  hyperbolic(1)  hyperbolic(2)  hyperbolic(9)  sphere(1)  sphere(2)  sphere(7)
power(upper(2), 3)  power(product(hyperbolic(3), euclidean(1)), 2)  power(hyperbolic(2), 70)
product(upper(2), euclidean(3))  product(hyperbolic(3), sphere(3), spd(2))  product(dual(2), ball(2, 3), hpd(3))
product(upper(2), hyperbolic(3), spd(3), combine="pythagoras")  product(upper(3), combine="pythagoras")
product(upper(1), power(hyperbolic(2), 2), qpd(2, det=1))  product(ball(1, 3, field="H"), antisymmetric(5))
"""
SPACES = [*UNROLLED, *LARGE, *LARGEST]
SPACES += [
    text for line in (QUATERNIONIC + CURVED + OTHERS).splitlines() for text in line.split("  ") if text
]
KINDS = [  # one of every kind of code
    "upper(3)", "upper(9)", "spd(4)", "hpd(3)", "qpd(2)", "bounded(4)", "dual(2)", "interpolated(2, k=0)", "ball(2, 3)",
    'ball(3, 2, field="C")', 'ball(2, 2, field="H")', "antisymmetric(5)", "euclidean(3)", "hyperbolic(3)", "sphere(3)",
    'product(upper(2), hyperbolic(3), spd(3), combine="pythagoras")', "power(dual(2), 2)",
]  # fmt: skip

METRICS = ["riemannian", "finf", "fmin", "lp(3)", "lp(1.5)", "weighted"]  # f1 goes through every space
PRODUCT = "product(upper(2), hyperbolic(3), spd(3, det=1){})"
PRODUCTS = [PRODUCT.format(""), PRODUCT.format(', combine="pythagoras"')]
NORMED = ["upper(3)", "spd(3, det=1)", "ball(2, 3)", 'ball(3, 2, field="H")', "antisymmetric(5)", "sphere(3)"]
NORMED += [*PRODUCTS, "power(bounded(2), 2)"]
GIVEN = {"upper(3)": "weighted(3, 2, 0.5)", "spd(3)": "weighted(2, 1, 1)", "hyperbolic(2)": "weighted(0.5)"}
GIVEN |= dict.fromkeys(PRODUCTS, "weighted(2, 1, 5, 1, 0.5, 0)")
CASES = [
    *((text, "f1") for text in SPACES),
    *((text, metric) for text in NORMED for metric in METRICS),
    *GIVEN.items(),
]
LEARNED = [
    'interpolated(3, k="learn")', 'ball(2, 3, k="learn")', 'ball(3, 2, field="C", k="learn")',
    'ball(2, 2, field="H", k="learn")', 'antisymmetric(5, k="learn")', 'power(interpolated(2, k="learn"), 2)',
    'product(interpolated(2, k="learn"), upper(2), ball(1, 2, k="learn"))',
]  # fmt: skip
CURVATURES = (-1.0, -0.2, -0.001, 0.0, 0.001, 0.2)


def kernel(
    way: str,
    space: str | SymmetricSpace,
    metric: str | BoundNorm = "f1",
    dtype: torch.dtype = torch.float64,
    threads: int | None = None,
) -> PairKernel:
    """A kernel by the name of a way: its backend, and the device."""
    device = "cuda" if "cuda" in way else "cpu"
    return PairKernel(space, metric, dtype, device, threads, backend=way.split()[0])


def random_pairs(nodes: int, count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Indices of pairs, no node with itself."""
    first, step = torch.randint(
        nodes * (nodes - 1), (2, count), generator=torch.Generator().manual_seed(seed)
    )
    return first % nodes, (first % nodes + 1 + step % (nodes - 1)) % nodes


class Case:
    """A space and norm, a few points that float32 holds too, pairs of them, and what the reference says."""

    def __init__(self, text: str, metric: str, curvature: float | None, nodes: int, pairs: int):
        self.space = make_space(text)
        for parameter in self.space.parameters():
            parameter.data.fill_(curvature)
        self.norm = self.space.norm(metric)
        spread = min(1.5, self.space.reach() / 4)
        points = self.space.random_points(nodes, spread=spread, seed=0, dtype=torch.float32)
        self.points = self.space.project(points.double())  # a sphere holds no points of float32 exactly
        self.first, self.second = random_pairs(nodes, pairs)
        self.upstream = torch.randn(pairs, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        found = reference(self.space, self.norm, self.points, self.first, self.second, self.upstream)
        self.distances, self.vectors, self.frame_gradients, self.learned = found


@cache
def case(text: str, metric: str, curvature: float | None = None) -> Case:
    """The same object for every kernel and dtype: the reference is evaluated once."""
    large = "64" in text or "17" in text
    return Case(text, metric, curvature, *((3, 4) if large else (7, 23)))


def on(kernel: PairKernel, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors on the device of a kernel; floating point ones in its dtype."""
    return tuple(x.to(kernel.device, kernel.dtype if x.is_floating_point() else x.dtype) for x in tensors)


def learned_gradients(kernel: PairKernel, extras: Tensor) -> list[Tensor]:
    """Gradients of what is learned, in the order of the reference, from a kernel's sums."""
    extras, found = extras.cpu(), []
    if kernel.norm_layout.kind == WEIGHTED and kernel.norm_layout.learned:
        in_weights, extras = extras.split([kernel.layout.components, len(kernel.layout.curvatures)])
        weights = kernel.norm_layout.weights()
        found += torch.autograd.grad(weights, kernel.norm.parameters(), in_weights.to(weights))
    totals: dict[int, Tensor] = {}
    for part, value in zip(kernel.layout.curvatures, extras, strict=True):
        totals[id(part.curvature)] = totals.get(id(part.curvature), 0) + value
    return found + list(totals.values())


def eps(kernel: PairKernel) -> float:
    return torch.finfo(kernel.dtype).eps
