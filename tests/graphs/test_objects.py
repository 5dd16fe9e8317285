"""Graphs of other libraries, as they stand in memory."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import weyl


def edges(graph):
    weights = [1.0] * len(graph.edges) if graph.weights is None else graph.weights.tolist()
    return {
        frozenset((graph.nodes[i], graph.nodes[j])): w
        for (i, j), w in zip(graph.edges.tolist(), weights, strict=True)
    }


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx(kind):
    source = kind(name="friends")
    source.add_node(("a", 1))
    source.add_weighted_edges_from([(frozenset("x"), 2.5, 3), (2.5, "z", 4)])
    graph = weyl.graph(source)
    assert list(graph.nodes) == [("a", 1), frozenset("x"), 2.5, "z"] and graph.name == "friends"
    assert edges(graph) == {frozenset((frozenset("x"), 2.5)): 3, frozenset((2.5, "z")): 4}


def test_networkx_without_some_weights_says_so():
    source = nx.path_graph(4)
    source.edges[0, 1]["weight"] = 2.5
    graph = weyl.graph(source)
    assert edges(graph)[frozenset((2, 3))] == 1 and graph.notes == ("2 edges without a weight got weight 1",)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.data())
def test_sparse_matrices_of_any_kind(n, data):
    pairs = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1))
    pairs = {(i, j) for i, j in pairs if i < j} or {(0, 1)}
    upper = np.zeros((n, n))
    for i, j in pairs:
        upper[i, j] = data.draw(st.floats(0.1, 9))
    shape = data.draw(st.sampled_from(["upper", "lower", "both"]))
    matrix = {"upper": upper, "lower": upper.T, "both": upper + upper.T}[shape]
    kind = data.draw(
        st.sampled_from([sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix, sparse.lil_array])
    )
    graph = weyl.graph(kind(matrix))
    assert edges(graph) == {frozenset((i, j)): upper[i, j] for i, j in pairs} and len(graph) == n
    assert not [note for note in graph.notes if "components" not in note]


def test_sparse_zeros_and_diagonals_are_noted():
    matrix = sparse.coo_array(([0.0, 2.0, 3.0], ([0, 0, 1], [1, 2, 1])), shape=(3, 3))
    graph = weyl.graph(matrix)
    assert edges(graph) == {frozenset((0, 2)): 2}
    assert graph.notes[:2] == ("dropped 1 stored zeros", "dropped 1 self loop")


@pytest.mark.parametrize("make", [torch.tensor, np.array])
def test_data_of_torch_geometric(make):
    data = SimpleNamespace(edge_index=make([[0, 1, 1, 3], [1, 0, 3, 1]]), num_nodes=5)
    graph = weyl.graph(data)
    assert len(graph) == 5 and edges(graph) == {frozenset((0, 1)): 1, frozenset((1, 3)): 1}
    assert not [note for note in graph.notes if "components" not in note]
    data.edge_weight = make([2.0, 2.0, 5.0, 5.0])
    assert edges(weyl.graph(data)) == {frozenset((0, 1)): 2, frozenset((1, 3)): 5}


@pytest.mark.parametrize("source", [
    [(0, 5), (5, 9)], np.array([[0, 5], [5, 9]]), torch.tensor([[0, 5], [5, 9]]), np.array([[0, 5], [5, 9.0]]),
])  # fmt: skip
def test_arrays_of_edges_name_their_nodes(source):
    graph = weyl.graph(source)
    assert graph.nodes == [0, 5, 9] and edges(graph) == {frozenset((0, 5)): 1, frozenset((5, 9)): 1}


def test_arrays_of_names_keep_their_order():
    graph = weyl.graph([("b", "a"), ("a", "c")])
    assert graph.nodes == ["b", "a", "c"]
    assert edges(weyl.graph([("b", "a", "2"), ("a", "c", "1.5")]))[frozenset("ab")] == 2


def test_square_arrays_are_distances():
    matrix = np.array([[0, 1, 1.5], [1, 0, 2], [1.5, 2, 0]])
    graph = weyl.graph(matrix)
    assert graph.given and edges(graph) == {
        frozenset((0, 1)): 1,
        frozenset((0, 2)): 1.5,
        frozenset((1, 2)): 2,
    }


def test_missing_distances_are_filled_within_components():
    inf = np.inf
    matrix = np.array([[0, 1, inf, inf], [1, 0, 2, inf], [inf, 2, 0, inf], [inf, inf, inf, 0]])
    graph = weyl.graph(matrix)
    assert any("filled 1 missing" in note for note in graph.notes)
    expected = np.array([[0, 1, 3, inf], [1, 0, 2, inf], [3, 2, 0, inf], [inf, inf, inf, 0]])
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(graph)), expected)


def pyg(edge_index, **keywords):
    return SimpleNamespace(edge_index=np.array(edge_index), **keywords)


def weighted(weight):
    source = nx.path_graph(3)
    source.edges[1, 2]["weight"] = weight
    return source


BAD = [
    (object(), "cannot read a graph from object: expected an expression, a path"),
    (7, "cannot read a graph from int"),
    (nx.Graph(), "0 nodes and no edges"),
    (nx.empty_graph(3), "3 nodes and no edges: an embedding needs at least one edge"),
    (weighted("far"), "edges carry a 'weight' that is not a number"),
    (weighted(-1), "edge (1, 2): weight -1 is negative"),
    (weighted(float("nan")), "edge (1, 2): weight nan is not a number"),
    (sparse.csr_array((2, 3)), "an adjacency matrix is square, this one is (2, 3)"),
    (sparse.csr_array([[0, -1.0], [0, 0]]), "entry (0, 1): weight -1 is negative"),
    (sparse.csr_array([[0, 1j], [0, 0]]), "complex entries"),
    (sparse.csr_array((4, 4)), "4 nodes and no edges"),
    (pyg([0, 1]), "edge_index is an array (2, m) of whole numbers"),
    (pyg([[0.5], [1]]), "edge_index is an array (2, m) of whole numbers"),
    (pyg([[0], [5]], num_nodes=3), "edge_index names node 5 of 3"),
    (pyg([[0], [-2]]), "edge_index names node -2"),
    (pyg([[0], [1]], edge_weight=np.ones(2)), "2 weights for 1 edges"),
    (pyg([[0], [1]], edge_weight=np.zeros(1)), "edge 0 (0, 1): weight 0 is zero"),
    ([], "expected edges (m, 2) or (m, 3)"),
    ([(0, 1, 2, 3)], "expected edges (m, 2) or (m, 3)"),
    ([("a", "b", "far")], "a weight is not a number"),
    ([(0, 1, -2.0)], "edge 0 (0, 1): weight -2 is negative"),
    ([(0.5, 1.0)], "node numbers must be whole"),
    ([(0, np.inf)], "node numbers must be whole"),
    (np.array([[0, 1], [1]], dtype=object), "rows of one length"),
    (np.ones((4, 4)), "the distance of node 0 from itself is 1, expected 0"),
    (np.array([[0, 1.0, 2], [1, 0, 2], [3, 2, 0]]), "not symmetric, entry (0, 2) is 2 and (2, 0) is 3"),
    (np.array([[0, 1.0, np.inf], [1, 0, 2], [3, 2, 0]]), "not symmetric, entry (0, 2) is inf"),
    (np.array([[0, 0.0], [0, 0]]), "entry (0, 1): weight 0 is zero"),
    (np.array([[0, -1.0], [-1, 0]]), "entry (0, 1): weight -1 is negative"),
    (np.array([[0, np.nan], [np.nan, 0]]), "entry (0, 1): weight nan"),
    (np.zeros((3, 3, 3)), "got an array (3, 3, 3)"),
]  # fmt: skip


@pytest.mark.parametrize("source, message", BAD, ids=[message[:40] for _, message in BAD])
def test_bad_objects_in_one_line(source, message):
    with pytest.raises(ValueError) as caught:
        weyl.graph(source)
    assert message in str(caught.value) and "\n" not in str(caught.value)
