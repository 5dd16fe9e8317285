"""Graphs by formula: trees, grids, products, expanders, random graphs; nodes are numbered from 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isqrt, prod

import numpy as np

from .graph import Graph
from .tidy import sorted_once, tidy

LARGEST = 50_000_000  # nodes or edges; beyond it an argument is taken for a slip


def _whole(value: object, what: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what} must be a whole number, at least {least}, got {value!r}")
    return value


def _check_size(nodes: int, edges: int) -> None:
    if max(nodes, edges) > LARGEST:
        raise ValueError(f"{nodes:.6g} nodes and {edges:.6g} edges are too many: at most {LARGEST:,}")


def _prime(value: object, what: str) -> int:
    p = _whole(value, what, 3)
    if any(p % divisor == 0 for divisor in range(2, isqrt(min(p, LARGEST**2)) + 1)):
        raise ValueError(f"{what} must be a prime number, got {p}")
    return p


def _graph(name: str, n: int, first: np.ndarray, second: np.ndarray, connected: bool = True) -> Graph:
    """The graph of edges that may repeat or be loops, which the formulas of expanders produce: no notes of that."""
    key = sorted_once((np.minimum(first, second) * n + np.maximum(first, second))[first != second])
    first, second = np.divmod(key, n)
    if connected and len(key):
        return Graph(name, range(n), np.stack([first, second], 1))
    return tidy(name, range(n), first, second)


# ── trees, grids and their kin ───────────────────────────────────────────────────────────────────────────────────
def tree(b: int = 3, h: int = 5) -> Graph:
    """The tree of height h whose inner nodes have b children; the root is 0, numbered level by level."""
    b, h = _whole(b, "the branching b", 1), _whole(h, "the height h", 1)
    n = h + 1 if b == 1 else (b ** (h + 1) - 1) // (b - 1) if h < 64 else 2**64
    _check_size(n, n - 1)
    child = np.arange(1, n)
    return _graph(f"tree({b},{h})", n, (child - 1) // b, child)


def grid(*sizes: int) -> Graph:
    """The grid of the given numbers of nodes along its axes; the last axis counts fastest, corner 0."""
    if not sizes:
        raise ValueError("a grid needs at least one size, such as grid(5, 5)")
    for size in sizes:
        _whole(size, "a size", 1)
    n = prod(sizes)
    _check_size(n, n * len(sizes))
    first, second, stride = [], [], n
    index = np.arange(n)
    for size in sizes:
        stride //= size
        inner = index[(index // stride) % size < size - 1]
        first.append(inner)
        second.append(inner + stride)
    return _graph(f"grid({','.join(map(str, sizes))})", n, np.concatenate(first), np.concatenate(second))


def cycle(n: int) -> Graph:
    """A closed ring of n nodes."""
    _check_size(_whole(n, "n", 3), n)
    node = np.arange(n)
    return _graph(f"cycle({n})", n, node, (node + 1) % n)


def complete(n: int) -> Graph:
    """n nodes, each an edge from all others."""
    _check_size(_whole(n, "n", 2), n * (n - 1) // 2)
    return _graph(f"complete({n})", n, *np.triu_indices(n, 1))


def hypercube(n: int) -> Graph:
    """The 2^n corners of a cube of dimension n."""
    _check_size(2 ** min(_whole(n, "the dimension n", 1), 64), n << min(n - 1, 63))
    node = np.arange(2**n)
    first = np.concatenate([node[node >> bit & 1 == 0] for bit in range(n)])
    bits = np.repeat(1 << np.arange(n), 2 ** (n - 1))
    return _graph(f"hypercube({n})", 2**n, first, first + bits)


# ── products ─────────────────────────────────────────────────────────────────────────────────────────────────────
def cartesian(a: Graph, b: Graph) -> Graph:
    """Pairs of nodes, adjacent where one coordinate moves along an edge: distances add up."""
    a, b = _operand(a), _operand(b)
    rows, columns = np.arange(len(a)), np.arange(len(b))
    parts = [
        (a.edges[:, None] * len(b) + columns[:, None], a, len(b)),
        (rows[:, None, None] * len(b) + b.edges, b, len(a)),
    ]
    return _product(f"cartesian({a.name},{b.name})", a, b, parts)


def rooted(a: Graph, b: Graph) -> Graph:
    """A copy of b at every node of a, hung by its node 0: the root of a tree, a corner of a grid."""
    a, b = _operand(a), _operand(b)
    rows = np.arange(len(a))
    parts = [(a.edges[:, None] * len(b), a, 1), (rows[:, None, None] * len(b) + b.edges, b, len(a))]
    return _product(f"rooted({a.name},{b.name})", a, b, parts)


def _operand(graph: object) -> Graph:
    if isinstance(graph, str):
        from .sources import read

        graph = read(graph, None)
    if not isinstance(graph, Graph):
        raise ValueError(f"expected a graph such as tree(2,3), got {graph!r}")
    return graph


def _product(name: str, a: Graph, b: Graph, parts: list) -> Graph:
    _check_size(len(a) * len(b), sum(edges.size // 2 for edges, _, _ in parts))
    edges = np.concatenate([edges.reshape(-1, 2) for edges, _, _ in parts])
    weights = None
    if a.weights is not None or b.weights is not None:
        lengths = [np.ones(len(g.edges)) if g.weights is None else g.weights for _, g, _ in parts]
        # Edges of a repeat fastest over the copies, edges of b over themselves: the order of the arrays above.
        weights = np.concatenate([np.repeat(lengths[0], parts[0][2]), np.tile(lengths[1], parts[1][2])])
    first, second = edges.T
    order = np.lexsort((second, first))
    return tidy(
        name, range(len(a) * len(b)), first[order], second[order], None if weights is None else weights[order]
    )


# ── expanders ────────────────────────────────────────────────────────────────────────────────────────────────────
def margulis(n: int) -> Graph:
    """Margulis, Gabber and Galil: (x, y) mod n with (x + 2y, y), (x + 2y + 1, y), (x, y + 2x), (x, y + 2x + 1)."""
    _check_size(_whole(n, "n", 2) ** 2, 4 * n * n)
    x, y = np.divmod(np.arange(n * n), n)
    targets = [(x + 2 * y, y), (x + 2 * y + 1, y), (x, y + 2 * x), (x, y + 2 * x + 1)]
    second = np.concatenate([u % n * n + v % n for u, v in targets])
    return _graph(f"margulis({n})", n * n, np.tile(np.arange(n * n), 4), second)


def paley(n: int) -> Graph:
    """Numbers mod the prime n = 1 mod 4, adjacent where they differ by a square."""
    if _prime(n, "n") % 4 != 1:
        raise ValueError(f"n must be 1 more than a multiple of 4, got {n}; try 5, 13, 17, 29, 37, 41, 53, 61")
    _check_size(n, n * (n - 1) // 4)
    squares = np.unique(np.arange(1, n) ** 2 % n)
    node = np.arange(n)
    steps = squares[squares <= n // 2]
    second = (node[:, None] + steps) % n
    return _graph(f"paley({n})", n, np.repeat(node, len(steps)), second.ravel())


def chordal(n: int) -> Graph:
    """The cycle of a prime number n of nodes with chords from x to its inverse mod n."""
    _check_size(_prime(n, "n"), 2 * n)
    node = np.arange(n)
    inverse, base, exponent = np.ones(n, np.int64), node.copy(), n - 2
    while exponent:  # x^(n-2), by squaring
        if exponent & 1:
            inverse = inverse * base % n
        base, exponent = base * base % n, exponent >> 1
    first, second = np.concatenate([node, node[1:]]), np.concatenate([(node + 1) % n, inverse[1:]])
    return _graph(f"chordal({n})", n, first, second)


# ── random graphs ────────────────────────────────────────────────────────────────────────────────────────────────
def random_regular(d: int, n: int, seed: int = 0) -> Graph:
    """n nodes with d random edges each: a random pairing of edge ends, whose loops and repeats are paired again."""
    d, n = _whole(d, "the degree d", 1), _whole(n, "n", 2)
    if d >= n or d * n % 2:
        raise ValueError(f"d must be below n and d times n even, got d={d}, n={n}")
    _check_size(n, d * n // 2)
    random = np.random.default_rng([_whole(seed, "seed", 0), d, n])
    name = f"random_regular({d},{n}{_seed(seed)})"
    if 2 * d >= n and d < n - 1:  # nearly complete: what is missing is sparse, and as random
        missing = _regular_pairs(n - 1 - d, n, random)
        absent = np.zeros((n, n), bool)
        absent[missing[:, 0], missing[:, 1]] = absent[missing[:, 1], missing[:, 0]] = True
        first, second = np.nonzero(np.triu(~absent, 1))
        return _graph(name, n, first, second, connected=False)
    if d == n - 1:
        return _graph(name, n, *np.triu_indices(n, 1))
    first, second = _regular_pairs(d, n, random).T
    return _graph(name, n, first, second, connected=False)


def _regular_pairs(d: int, n: int, random: np.random.Generator) -> np.ndarray:
    """A random pairing of edge ends; each loop or repeat trades ends with a random pair until none is left."""
    pairs = random.permutation(np.repeat(np.arange(n), d)).reshape(-1, 2)
    while True:
        key = _key(pairs, n)
        order = np.argsort(key, kind="stable")
        bad = pairs[:, 0] == pairs[:, 1]
        bad[order[1:]] |= np.diff(key[order]) == 0
        if not bad.any():
            return pairs
        mine = np.flatnonzero(bad)
        others, place = np.unique(random.integers(len(pairs), size=len(mine)), return_index=True)
        mine = mine[place]
        traded = np.stack([pairs[mine], pairs[others]], 1)  # (trades, two pairs, two ends)
        traded[:, 0, 1], traded[:, 1, 1] = pairs[others, 1], pairs[mine, 1]
        new = _key(traded, n)
        _, where, count = np.unique(new, return_inverse=True, return_counts=True)
        fine = (
            ~np.isin(new, key) & (count[where].reshape(new.shape) == 1) & (traded[..., 0] != traded[..., 1])
        )
        done = fine.all(1) & ~bad[others]
        pairs[mine[done]], pairs[others[done]] = traded[done, 0], traded[done, 1]


def _key(pairs: np.ndarray, n: int) -> np.ndarray:
    return pairs.min(-1) * n + pairs.max(-1)


def preferential(n: int, m: int, seed: int = 0) -> Graph:
    """Barabási and Albert: from a star of m + 1 nodes, each new node gets m edges to nodes drawn by their degree."""
    n, m = _whole(n, "n", 2), _whole(m, "m", 1)
    if m >= n:
        raise ValueError(f"m must be below n, got n={n}, m={m}")
    _check_size(n, m * (n - m))
    random = np.random.default_rng([_whole(seed, "seed", 0), n, m])
    ends = [
        end for leaf in range(1, m + 1) for end in (0, leaf)
    ]  # edge by edge: a node stands here as often as its degree
    for node in range(m + 1, n):
        chosen: set[int] = set()
        while len(chosen) < m:
            chosen.add(ends[int(random.random() * len(ends))])
        for target in sorted(chosen):
            ends += node, target
    both = np.array(ends).reshape(-1, 2)
    return _graph(f"preferential({n},{m}{_seed(seed)})", n, *both.T)


def small_world(n: int, k: int, p: float, seed: int = 0) -> Graph:
    """Watts and Strogatz: a ring whose nodes know their k nearest, each edge with probability p led elsewhere."""
    n, k = _whole(n, "n", 3), _whole(k, "k", 2)
    if k % 2 or k >= n:
        raise ValueError(f"k must be even and below n, got n={n}, k={k}")
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
        raise ValueError(f"p is a probability between 0 and 1, got {p!r}")
    if p > 0 and 2 * k > n:
        raise ValueError(f"k must be at most n/2 for edges to find another end, got n={n}, k={k}")
    _check_size(n, n * k // 2)
    random = np.random.default_rng([_whole(seed, "seed", 0), n, k])
    first = np.tile(np.arange(n), k // 2)
    second = (first + np.repeat(np.arange(1, k // 2 + 1), n)) % n
    moved = random.random(len(first)) < p
    again = np.flatnonzero(moved)
    while len(again):
        second[again] = random.integers(n, size=len(again))
        key = np.minimum(first, second) * n + np.maximum(first, second)
        order = np.lexsort((moved, key))  # an edge of the ring comes before those moved onto it
        repeated = np.zeros(len(key), bool)
        repeated[order[1:]] = np.diff(key[order]) == 0
        again = np.flatnonzero(moved & (repeated | (first == second)))
    return _graph(f"small_world({n},{k},{p:g}{_seed(seed)})", n, first, second, connected=False)


def _seed(seed: int) -> str:
    return f",seed={seed}" if seed else ""


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _named(name: str, make: Callable[[], Graph]) -> Callable[[], Graph]:
    def made() -> Graph:
        return replace(make(), name=name)

    made.__doc__ = make.__doc__
    return made


def _social(name: str, maker: str) -> Callable[[], Graph]:
    def made() -> Graph:
        import networkx

        from .objects import from_networkx

        # networkx's weights count meetings: more is nearer, so they are no lengths.
        return from_networkx(name, getattr(networkx, maker)(), weight=None)

    return made


PAPER: dict[str, Callable[[], Graph]] = {
    "grid4d": lambda: grid(5, 5, 5, 5),
    "tree-x-grid": lambda: cartesian(tree(2, 4), grid(4, 4)),
    "tree-x-tree": lambda: cartesian(tree(2, 3), tree(2, 3)),
    "tree-o-grids": lambda: rooted(tree(2, 4), grid(5, 5)),
    "grid-o-trees": lambda: rooted(grid(5, 5), tree(2, 4)),
    "grid2d-36": lambda: grid(6, 6),
    "tree-40": lambda: tree(3, 3),
}
SOCIAL = {
    "karate": "karate_club_graph",
    "davis": "davis_southern_women_graph",
    "florentine": "florentine_families_graph",
    "lesmiserables": "les_miserables_graph",
}
GENERATORS: dict[str, Callable[..., Graph]] = {
    **{
        make.__name__: make
        for make in (
            tree, grid, cycle, complete, hypercube, random_regular, preferential, small_world,
            margulis, paley, chordal, cartesian, rooted,
        )
    },
    **{name: _named(name, make) for name, make in PAPER.items()},
    **{name: _social(name, maker) for name, maker in SOCIAL.items()},
}  # fmt: skip
