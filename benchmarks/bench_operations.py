"""Each operation of the geometry in microseconds an element, and the distance with its gradient against geoopt's."""

from collections.abc import Callable
from typing import Any

import torch

import weyl
from weyl.bench.timing import medians

SPACES = (
    "upper(2)",
    "upper(4)",
    "upper(8)",
    "bounded(4)",
    "spd(4)",
    'ball(2, 3, field="H")',
    "hyperbolic(20)",
)
BATCH = 2000


def operations(space: Any) -> dict[str, Callable[[], Any]]:
    """What is timed, on one batch of random points at spread 1."""
    p, q = (space.random_points(BATCH, seed=seed, dtype=torch.float64) for seed in (0, 1))
    X = space.random_tangent(p, seed=2) / space.dim**0.5

    def distance_and_gradient() -> None:
        a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
        space.distance(a, b, "f1", tolerance=1e-8).sum().backward()

    return {
        "distance": lambda: space.distance(p, q, "f1", tolerance=1e-8),
        "+ gradient": distance_and_gradient,
        "exp": lambda: space.exp(p, X),
        "retract": lambda: space.retract(p, X),
        "log": lambda: space.log(p, q),
        "transport": lambda: space.transport(p, q, X),
        "inner": lambda: space.inner(p, X, X),
        "riem. grad.": lambda: space.riemannian_gradient(p, X),
    }


def against_geoopt(n: int) -> tuple[float, float]:
    """Seconds of F1 distance and gradient on upper(n): ours, geoopt's, interleaved."""
    import geoopt

    space = weyl.space(f"upper({n})")
    manifold = geoopt.UpperHalf(
        metric=geoopt.manifolds.siegel.vvd_metrics.SiegelMetricType.FINSLER_ONE, rank=n
    )
    p, q = (space.random_points(BATCH, seed=seed, dtype=torch.complex128) for seed in (0, 1))

    def ours() -> None:
        a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
        space.distance(a, b, "f1", tolerance=1e-8).sum().backward()

    def theirs() -> None:
        a, b = p.clone().requires_grad_(), q.clone().requires_grad_()
        manifold.dist(a, b).sum().backward()

    first, second = medians((ours, theirs), repeats=5)
    return first, second


def main() -> None:
    print(f"microseconds an element, float64, batches of {BATCH}, {torch.get_num_threads()} threads")
    names = list(operations(weyl.space("upper(2)")))
    print(f"{'':22}" + "".join(f"{name:>12}" for name in names))
    for text in SPACES:
        seconds = medians(tuple(operations(weyl.space(text)).values()), repeats=3)
        print(f"{text:22}" + "".join(f"{1e6 * t / BATCH:12.2f}" for t in seconds))
    try:
        print("\nF1 distance and gradient on upper(n), microseconds a pair: ours, geoopt's, ratio")
        for n in (2, 4, 8):
            ours, theirs = (1e6 * t / BATCH for t in against_geoopt(n))
            print(f"upper({n}){ours:12.2f}{theirs:12.2f}{theirs / ours:12.1f}")
    except ImportError:
        print("geoopt is not installed: nothing to compare")


if __name__ == "__main__":
    main()
