"""A cycle of ten nodes into upper(2) with the metric F∞, by geoopt's RiemannianAdam.

Usage: python examples/with_geoopt.py      (needs pip install "weyl[geoopt]")
"""

import geoopt
import torch

import weyl


def train(steps: int = 300) -> float:
    """The average distortion of the cycle after so many steps."""
    manifold = weyl.geoopt_manifold("upper(2)", metric="finf")
    start = manifold.space.random_points(10, spread=0.1, seed=0, dtype=torch.float64)
    points = geoopt.ManifoldParameter(start, manifold=manifold)
    optimizer = geoopt.optim.RiemannianAdam([points], lr=0.05)
    i, j = torch.triu_indices(10, 10, 1)
    goal = torch.minimum(j - i, 10 - (j - i)).double()
    error = torch.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        error = (manifold.dist(points[i], points[j]) / goal - 1).abs().mean()
        error.backward()
        optimizer.step()
    return float(error.detach())


if __name__ == "__main__":
    print(f"average distortion {train():.4f}")
