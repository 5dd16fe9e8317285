"""Graphs by formula against networkx, closed formulas and the sizes that the paper prints."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import weyl
from weyl.expression import ExpressionError
from weyl.graphs.generators import GENERATORS, PAPER, SOCIAL


def pairs(graph):
    """The edges by node names, without direction."""
    return {frozenset((graph.nodes[i], graph.nodes[j])) for i, j in graph.edges.tolist()}


def pairs_of(source, number=lambda node: node):
    return {frozenset((number(a), number(b))) for a, b in source.edges() if a != b}


def distances(graph):
    return np.asarray(weyl.graph_distances(graph), float)


# ── against networkx ─────────────────────────────────────────────────────────────────────────────────────────────
SAME = {
    "tree(3,2)": nx.balanced_tree(3, 2),
    "tree(1,4)": nx.path_graph(5),
    "tree(2,1)": nx.star_graph(2),
    "cycle(3)": nx.cycle_graph(3),
    "cycle(8)": nx.cycle_graph(8),
    "complete(2)": nx.complete_graph(2),
    "complete(7)": nx.complete_graph(7),
    "paley(5)": nx.paley_graph(5),
    "paley(29)": nx.paley_graph(29),
    "chordal(3)": nx.chordal_cycle_graph(3),
    "chordal(13)": nx.chordal_cycle_graph(13),
    "small_world(10,4,0)": nx.watts_strogatz_graph(10, 4, 0),
    "preferential(4,3)": nx.star_graph(3),
    "random_regular(5,6)": nx.complete_graph(6),
}


@pytest.mark.parametrize("text", SAME)
def test_same_edges_as_networkx(text):
    made = weyl.graph(text)
    assert pairs(made) == pairs_of(SAME[text]) and list(made.nodes) == sorted(SAME[text])


@pytest.mark.parametrize("sizes", [(5,), (2, 3), (4, 1, 3), (2, 2, 2, 2)])
def test_grids_are_those_of_networkx_numbered_row_by_row(sizes):
    source = nx.grid_graph(dim=sizes[::-1])  # its first size is the last coordinate

    def number(node):
        node = node if isinstance(node, tuple) else (node,)
        return int(np.ravel_multi_index(node, sizes))

    made = weyl.graph(f"grid{sizes}".replace(",)", ")"))
    assert pairs(made) == pairs_of(source, number) and len(made) == np.prod(sizes)


def test_hypercube_nodes_differ_in_one_bit():
    made = weyl.graph("hypercube(5)")
    source = nx.hypercube_graph(5)
    assert pairs(made) == pairs_of(source, lambda bits: sum(bit << i for i, bit in enumerate(bits)))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_margulis(n):
    source = nx.margulis_gabber_galil_graph(n)
    assert pairs(weyl.graph(f"margulis({n})")) == pairs_of(source, lambda node: node[0] * n + node[1])


@pytest.mark.parametrize("name", SOCIAL)
def test_social_graphs_keep_their_names_and_are_unweighted(name):
    made, source = weyl.graph(name), getattr(nx, SOCIAL[name])()
    assert pairs(made) == pairs_of(source) and list(made.nodes) == list(source)
    assert made.weights is None and made.name == name


# ── products: what they mean for distances ───────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "a, b", [("tree(2,2)", "grid(2,3)"), ("cycle(5)", "complete(3)"), ("karate", "tree(1,1)")]
)
def test_products_against_networkx_and_their_distances(a, b):
    first, second = weyl.graph(a), weyl.graph(b)
    m, n = len(first), len(second)
    d, e = distances(first), distances(second)
    x, y = np.divmod(np.arange(m * n), n)

    product = weyl.graph(f"cartesian({a},{b})")
    assert len(product.edges) == len(first.edges) * n + len(second.edges) * m
    np.testing.assert_array_equal(distances(product), d[np.ix_(x, x)] + e[np.ix_(y, y)])

    hung = weyl.graph(f"rooted({a},{b})")
    assert len(hung.edges) == len(first.edges) + len(second.edges) * m
    through = e[y, 0][:, None] + d[np.ix_(x, x)] + e[0, y]
    np.testing.assert_array_equal(distances(hung), np.where(x[:, None] == x, e[np.ix_(y, y)], through))


def test_lengths_survive_products():
    path = weyl.graph(np.array([[0, 1, 2.5], [1, 2, 4.0]]))
    square = weyl.graph("complete(2)")
    from weyl.graphs.generators import cartesian, rooted

    product = distances(cartesian(path, square))
    np.testing.assert_allclose(product[0], [0, 1, 2.5, 3.5, 6.5, 7.5])
    np.testing.assert_allclose(distances(rooted(square, path))[2], [6.5, 4, 0, 7.5, 10, 14])


# ── random graphs ────────────────────────────────────────────────────────────────────────────────────────────────
RANDOM = ["random_regular(3,20", "preferential(30,2", "small_world(30,4,0.3", "random_regular(15,20"]


@pytest.mark.parametrize("start", RANDOM)
def test_seeds_repeat_and_differ(start):
    zero, same, other = (weyl.graph(f"{start}{seed})") for seed in ("", ",seed=0", ",seed=1"))
    assert zero.fingerprint == same.fingerprint != other.fingerprint
    assert "seed=1" in other.name and other.name != zero.name


@pytest.mark.parametrize("d, n", [(1, 2), (3, 4), (3, 50), (4, 9), (40, 50), (25, 50), (48, 50), (49, 50)])
def test_random_regular_graphs_are_regular(d, n):
    for seed in range(3):
        made = weyl.graph(f"random_regular({d},{n},seed={seed})")
        assert (np.bincount(made.edges.ravel(), minlength=n) == d).all()


@pytest.mark.parametrize("n, m", [(2, 1), (50, 1), (50, 3), (20, 19)])
def test_preferential_graphs_are_connected_and_prefer(n, m):
    made = weyl.graph(f"preferential({n},{m})")
    assert (len(made), len(made.edges)) == (n, m * (n - m)) and made.components.max() == 0
    assert (np.bincount(made.edges.max(1), minlength=n)[m + 1 :] == m).all()  # each newcomer brings m


def test_preferential_degrees_have_a_heavy_tail():
    ours = np.bincount(weyl.graph("preferential(2000,2)").edges.ravel()).max()
    even = np.bincount(weyl.graph("random_regular(4,2000)").edges.ravel()).max()
    assert even == 4 and ours > 40  # the largest degree grows with the root of n


@pytest.mark.parametrize("p", [0, 0.1, 1])
def test_small_worlds_keep_their_number_of_edges_and_move_their_share(p):
    n, k = 400, 6
    made, ring = weyl.graph(f"small_world({n},{k},{p})"), nx.watts_strogatz_graph(n, k, 0)
    assert len(made.edges) == n * k // 2
    moved = 1 - len(pairs(made) & pairs_of(ring)) / (n * k // 2)
    assert abs(moved - p * (1 - k / n)) < 0.04


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
SIZES = {  # tables "Synthetic graph stats" and, for the last two, the page on compact duals
    "grid4d": (625, 2000, 195_000),
    "tree": (364, 363, 66_066),
    "tree-x-grid": (496, 1224, 122_760),
    "tree-x-tree": (225, 420, 25_200),
    "tree-o-grids": (775, 1270, 299_925),
    "grid-o-trees": (775, 790, 299_925),
    "grid2d-36": (36, 60, 630),
    "tree-40": (40, 39, 780),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_the_paper(name):
    made = weyl.graph(name)
    found = len(made), len(made.edges), weyl.graph_distances(made).connected_pairs
    assert found == SIZES[name] and not made.notes


def test_every_promised_name_exists():
    sizes = {
        "tree",
        "grid",
        "cycle",
        "complete",
        "hypercube",
        "random_regular",
        "preferential",
        "small_world",
    }
    others = {"margulis", "paley", "chordal", "cartesian", "rooted"}
    social = {"karate", "davis", "florentine", "lesmiserables"}
    paper = {"grid4d", "tree-x-grid", "tree-x-tree", "tree-o-grids", "grid-o-trees"}
    promised = sizes | others | social | paper
    assert promised <= set(GENERATORS) and {*PAPER, *SOCIAL} <= set(GENERATORS)


def test_every_generator_is_tested_here():
    source = Path(__file__).read_text()
    shown = {name for name in GENERATORS if f"{name}(" in source or f'"{name}"' in source}
    assert shown | set(SOCIAL) == set(GENERATORS)


@pytest.mark.parametrize("text, name", [(" tree ( b=2 , h=3 ) ", "tree(2,3)"), ("grid4d()", "grid4d")])
def test_names_of_graphs_are_plain(text, name):
    assert weyl.graph(text).name == name


@pytest.mark.parametrize(
    "text, message",
    [
        ("tre(2,3)", "unknown graph 'tre'; did you mean 'tree'"),
        ("tree(0,3)", "tree(0, 3): the branching b must be a whole number, at least 1, got 0"),
        ("tree(2,0)", "the height h must be a whole number, at least 1"),
        ("tree(2,60)", "are too many: at most 50,000,000"),
        ("tree(2.5,3)", "must be a whole number"),
        ("tree(True,3)", "must be a whole number"),
        ("grid()", "a grid needs at least one size"),
        ("grid(0,3)", "a size must be a whole number, at least 1, got 0"),
        ("grid(1)", "1 node and no edges"),
        ("grid(100000,100000)", "are too many"),
        ("cycle(2)", "at least 3"),
        ("complete(1)", "at least 2"),
        ("complete(20000)", "are too many"),
        ("hypercube(99)", "are too many"),
        ("random_regular(3,5)", "d times n even"),
        ("random_regular(5,5)", "d must be below n"),
        ("random_regular(3,4,seed=-1)", "seed must be a whole number, at least 0"),
        ("preferential(3,3)", "m must be below n"),
        ("small_world(10,3,0.1)", "k must be even"),
        ("small_world(10,4,1.5)", "p is a probability between 0 and 1"),
        ("small_world(10,8,0.5)", "k must be at most n/2"),
        ("margulis(1)", "at least 2"),
        ("paley(7)", "1 more than a multiple of 4"),
        ("paley(9)", "must be a prime"),
        ("chordal(8)", "must be a prime"),
        ("cartesian(3,tree)", "expected a graph such as tree(2,3), got 3"),
        ("rooted(tree)", "missing 'b'; usage: rooted(a, b)"),
    ],
)
def test_bad_arguments_in_one_line(text, message):
    with pytest.raises(ExpressionError) as caught:
        weyl.graph(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)
