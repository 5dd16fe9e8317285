"""A first embedding: a grid with a tree hung on every node, into the Siegel space of rank 2 with F1.

Trains, prints how well distances are kept, draws the graph and the Weyl chamber.
Usage: python examples/first_embedding.py [picture.png]
"""

import sys
from math import pi

import networkx as nx
import numpy as np

import weyl


def graph_of_grid_and_trees() -> nx.Graph:
    """A 3 x 3 grid with a binary tree of height 2 on every node: 63 nodes."""
    return nx.rooted_product(nx.grid_2d_graph(3, 3), nx.balanced_tree(2, 2), 0)


def draw(graph: nx.Graph, embedding: weyl.Embedding, picture: str) -> None:
    """Left the graph, nodes coloured by the direction of v from a root; right v of all pairs in the Weyl chamber."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    root = nx.center(graph)[0]
    others = [node for node in graph if node != root]
    v = embedding.vector_distances([(root, node) for node in others])
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), constrained_layout=True)
    at = nx.kamada_kawai_layout(graph)
    nx.draw_networkx_edges(graph, at, ax=left, edge_color="0.7", width=1.2)
    x, y = np.array([at[node] for node in others]).T
    style = {"cmap": "cividis_r", "vmin": 0, "vmax": pi / 4, "edgecolors": "0.25", "linewidths": 0.6}
    nodes = left.scatter(x, y, c=np.arctan2(v[:, 1], v[:, 0]), s=52, zorder=2, **style)
    left.scatter(*at[root], marker="*", s=260, color="crimson", edgecolors="white", zorder=3)
    left.set_aspect("equal")
    left.axis("off")
    left.set_title("direction of the vector distance from the root (star)", fontsize=11)
    bar = figure.colorbar(nodes, ax=left, ticks=[0, pi / 8, pi / 4], shrink=0.8)
    bar.ax.set_yticklabels(["0  ($v_2 = 0$)", "π/8", "π/4  ($v_1 = v_2$)"])
    pairs = [(a, b) for a in graph for b in graph if a < b]
    v = embedding.vector_distances(pairs)
    steps = dict(nx.all_pairs_shortest_path_length(graph))
    top = v[:, 0].max() * 1.05
    right.fill_between([0, top], [0, 0], [0, top], color="0.94", zorder=0)
    dots = right.scatter(*v.T, c=[steps[a][b] for a, b in pairs], s=6, cmap="viridis")
    right.set(xlim=(0, top), ylim=(0, top * 0.75), xlabel="$v_1$", ylabel="$v_2$")
    right.set_aspect("equal")
    right.set_title("vector distances of all pairs, in the Weyl chamber", fontsize=11)
    figure.colorbar(dots, ax=right, shrink=0.65, label="graph distance")
    figure.savefig(picture, dpi=130)


def main() -> None:
    picture = sys.argv[1] if len(sys.argv) > 1 else "first_embedding.png"
    graph = graph_of_grid_and_trees()
    embedding = weyl.embed(graph, space="upper(2)", metric="f1", effort="quick")
    scores = embedding.scores
    print(f"graph                   grid(3,3) with a binary tree on every node: {len(graph)} nodes")
    print(f"space, metric           upper(2), f1   ({embedding.space.dim} numbers a node)")
    print(f"average distortion      {scores.average_distortion:.2%}")
    print(f"worst distortion        {scores.worst_distortion:.3f}")
    print(f"mean average precision  {scores.mean_average_precision:.1%}")
    print(f"training                {embedding.training['seconds']:.1f} s")
    draw(graph, embedding, picture)
    print(f"picture                 {picture}")


if __name__ == "__main__":
    main()
