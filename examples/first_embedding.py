"""A first embedding: a 3 x 3 grid with a binary tree hung on every node, into the Siegel space of rank 2 with F1.

Trains points with plain torch, prints how well distances are kept, and draws the graph and the Weyl chamber.
Usage: python examples/first_embedding.py [picture.png]
"""

import sys
import time
from math import pi

import torch

import weyl


def grid_of_trees(side: int = 3, height: int = 2) -> list[tuple[int, int]]:
    """The edges of a side x side grid whose every node is the root of a binary tree."""
    size = 2 ** (height + 1) - 1
    root = [i * size for i in range(side * side)]
    edges = [(root[i], root[i + 1]) for i in range(side * side) if (i + 1) % side]
    edges += [(root[i], root[i + side]) for i in range(side * (side - 1))]
    return edges + [(r + (child - 1) // 2, r + child) for r in root for child in range(1, size)]


def shortest_paths(edges: list[tuple[int, int]]) -> torch.Tensor:
    """All distances of a small unweighted graph (Floyd and Warshall)."""
    n = 1 + max(max(edge) for edge in edges)
    table = torch.full((n, n), float("inf"), dtype=torch.float64).fill_diagonal_(0)
    i, j = torch.tensor(edges).T
    table[i, j] = table[j, i] = 1
    for k in range(n):
        table = torch.minimum(table, table[:, k, None] + table[k])
    return table


def train(goal: torch.Tensor, steps: int) -> weyl.nn.Points:
    """Points of upper(2) whose F1 distances are near the goal: Adam on the relative error of all pairs."""
    points = weyl.nn.Points("upper(2)", len(goal), spread=0.5, seed=1, dtype=torch.float64)
    distance = weyl.nn.PairDistance("upper(2)", metric="f1")
    i, j = torch.triu_indices(len(goal), len(goal), 1)
    optimizer = torch.optim.Adam(points.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        p = points()
        (distance(p[i], p[j]) / goal[i, j] - 1).abs().mean().backward()
        optimizer.step()
        schedule.step()
    return points


def flat_layout(goal: torch.Tensor) -> torch.Tensor:
    """Positions in the plane with small stress, to draw the graph."""
    squared = goal.square()
    centered = squared - squared.mean(0) - squared.mean(1, keepdim=True) + squared.mean()
    at = (
        torch.linalg.eigh(-centered / 2).eigenvectors[:, -2:].clone().mul_(goal.max() ** 0.5).requires_grad_()
    )
    i, j = torch.triu_indices(len(goal), len(goal), 1)
    optimizer = torch.optim.Adam([at], lr=0.05)
    for _ in range(600):
        optimizer.zero_grad()
        length = (at[i] - at[j]).square().sum(-1).add(1e-9).sqrt()
        ((length - goal[i, j]) / goal[i, j]).square().sum().backward()
        optimizer.step()
    return at.detach()


def draw(edges: list, goal: torch.Tensor, points: torch.Tensor, picture: str) -> None:
    """Left the graph, nodes coloured by the direction of v from a root; right v of all pairs in the Weyl chamber."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    space, at = weyl.space("upper(2)"), flat_layout(goal)
    root = int(goal.sum(0).argmin())
    from_root = space.vector_distance(points[root].expand_as(points), points)
    direction = torch.atan2(from_root[:, 1], from_root[:, 0])
    i, j = torch.tensor(edges).T
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), constrained_layout=True)
    left.add_collection(
        LineCollection(torch.stack([at[i], at[j]], 1).numpy(), colors="0.7", linewidths=1.2, zorder=1)
    )
    style = {"cmap": "cividis_r", "vmin": 0, "vmax": pi / 4, "edgecolors": "0.25", "linewidths": 0.6}
    others = torch.arange(len(goal)) != root
    nodes = left.scatter(*at[others].T.numpy(), c=direction[others].numpy(), s=52, zorder=2, **style)
    left.scatter(*at[root].numpy(), marker="*", s=260, color="crimson", edgecolors="white", zorder=3)
    left.set_aspect("equal")
    left.axis("off")
    left.set_title("direction of the vector distance from the root (star)", fontsize=11)
    bar = figure.colorbar(nodes, ax=left, ticks=[0, pi / 8, pi / 4], shrink=0.8)
    bar.ax.set_yticklabels(["0  ($v_2 = 0$)", "π/8", "π/4  ($v_1 = v_2$)"])
    a, b = torch.triu_indices(len(goal), len(goal), 1)
    v = space.vector_distance(points[a], points[b])
    top = float(v[:, 0].max()) * 1.05
    right.fill_between([0, top], [0, 0], [0, top], color="0.94", zorder=0)
    dots = right.scatter(*v.T.numpy(), c=goal[a, b].numpy(), s=6, cmap="viridis")
    right.set(xlim=(0, top), ylim=(0, top * 0.75), xlabel="$v_1$", ylabel="$v_2$")
    right.set_aspect("equal")
    right.set_title("vector distances of all pairs, in the Weyl chamber", fontsize=11)
    figure.colorbar(dots, ax=right, shrink=0.65, label="graph distance")
    figure.savefig(picture, dpi=130)


def main() -> None:
    picture = sys.argv[1] if len(sys.argv) > 1 else "first_embedding.png"
    edges = grid_of_trees()
    goal = shortest_paths(edges)
    began = time.perf_counter()
    points = train(goal, steps=400)().detach()
    i, j = torch.triu_indices(len(goal), len(goal), 1)
    ratio = weyl.space("upper(2)").distance(points[i], points[j], "f1") / goal[i, j]
    print(
        f"graph               grid(3,3) with a binary tree on every node: {len(goal)} nodes, {len(edges)} edges"
    )
    print("space, metric       upper(2), f1   (6 numbers a node)")
    print(f"average distortion  {float((ratio - 1).abs().mean()):.4f}")
    print(f"worst distortion    {float(ratio.max() / ratio.min()):.3f}")
    print(f"training            {time.perf_counter() - began:.1f} s, {len(i)} pairs in every step")
    draw(edges, goal, points, picture)
    print(f"picture             {picture}")


if __name__ == "__main__":
    main()
