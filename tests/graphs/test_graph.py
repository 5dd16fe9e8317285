"""Graph: what its fields promise, its components, its fingerprint, and what reading notes."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weyl
from weyl.graphs import Graph
from weyl.graphs.tidy import tidy

PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"edges": PAIRS.astype(np.int32)}, "edges must be (m, 2) of int64"),
        ({"edges": PAIRS.ravel()}, "edges must be (m, 2)"),
        ({"edges": PAIRS[:, ::-1]}, "pairs i < j of rows below 3"),
        ({"edges": PAIRS + 1}, "pairs i < j of rows below 3"),
        ({"edges": PAIRS - 1}, "pairs i < j of rows below 3"),
        ({"edges": np.array([[1, 1]])}, "pairs i < j of rows below 3"),
        ({"edges": PAIRS[::-1]}, "must be sorted, each once"),
        ({"edges": PAIRS[[0, 0, 1]]}, "must be sorted, each once"),
        ({"weights": np.ones(2)}, "weights must be 3 numbers of float64"),
        ({"weights": np.ones(3, np.float32)}, "weights must be 3 numbers of float64"),
        ({"nodes": ["a", "b", "a"]}, "two nodes have the name 'a'"),
    ],
)
def test_fields_are_checked(fields, message):
    with pytest.raises(ValueError) as caught:
        Graph(**{"name": "three", "nodes": range(3), "edges": PAIRS, **fields})
    assert message in str(caught.value) and "three" in str(caught.value)


# ── tidy ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@settings(max_examples=200, deadline=None)
@given(st.integers(2, 7), st.data())
def test_any_edges_become_each_edge_once_with_its_smallest_weight(n, data):
    ends = st.integers(0, n - 1)
    found = data.draw(
        st.lists(st.tuples(ends, ends, st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=20)
    )
    smallest = {}
    for a, b, w in found:
        if a != b:
            smallest[frozenset((a, b))] = min(w, smallest.get(frozenset((a, b)), np.inf))
    first, second, weights = (np.array(column) for column in zip(*found, strict=True))
    if not smallest:
        with pytest.raises(ValueError, match="no edges"):
            tidy("any", range(n), first, second, weights)
        return
    graph = tidy("any", range(n), first, second, weights)
    lengths = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    assert {frozenset(e): w for e, w in zip(graph.edges.tolist(), lengths.tolist(), strict=True)} == smallest
    loops = sum(a == b for a, b, _ in found)
    repeats = len(found) - loops - len(smallest)
    assert any(f"dropped {loops} self loop" in note for note in graph.notes) == (loops > 0)
    assert any(f"merged {repeats} repeated edge" in note for note in graph.notes) == (repeats > 0)
    plain = tidy("any", range(n), second, first)  # direction does not count
    np.testing.assert_array_equal(plain.edges, graph.edges)
    assert plain.weights is None


def test_direction_is_noted_where_it_mattered():
    graph = weyl.graph([(0, 1, 2.0), (1, 0, 3.0), (1, 2, 1.0), (2, 1, 1.0)])
    assert graph.weights.tolist() == [2, 1]
    assert graph.notes == (
        "merged 2 repeated edges, keeping the smallest weight",
        "ignored direction: 1 edge with another weight the other way",
    )


# ── components ───────────────────────────────────────────────────────────────────────────────────────────────────
@settings(max_examples=100, deadline=None)
@given(st.integers(2, 12), st.data())
def test_components_are_those_of_networkx_largest_first(n, data):
    ends = st.integers(0, n - 1)
    pairs = data.draw(st.sets(st.tuples(ends, ends).filter(lambda two: two[0] < two[1]), min_size=1))
    source = nx.Graph(list(pairs))
    source.add_nodes_from(range(n))
    graph = weyl.graph(nx.relabel_nodes(source, str))
    parts = sorted(nx.connected_components(nx.relabel_nodes(source, str)), key=len, reverse=True)
    found = [{graph.nodes[i] for i in np.flatnonzero(graph.components == k)} for k in range(len(parts))]
    assert list(map(len, found)) == list(map(len, parts)) and all(part in parts for part in found)
    assert any("components" in note for note in graph.notes) == (len(parts) > 1)
    largest = graph.largest_component()
    assert set(largest.nodes) == found[0] and largest.components.max() == 0
    kept = nx.relabel_nodes(source, str).subgraph(found[0])
    assert {frozenset((largest.nodes[i], largest.nodes[j])) for i, j in largest.edges.tolist()} == {
        frozenset(edge) for edge in kept.edges
    }
    if len(parts) > 1:
        assert largest.notes == (f"kept the largest component: {len(largest)} of {n} nodes",)
    else:
        assert largest is graph


def test_the_note_names_the_components():
    graph = weyl.graph([(0, 1), (1, 2), (3, 4), (5, 6), (7, 8), (9, 10)])
    assert graph.notes[0].startswith("5 components of 3, 2, 2, 2, … nodes: pairs in different components")


def test_of_equal_components_the_first_comes_first():
    assert weyl.graph([(0, 3), (1, 2)]).components.tolist() == [0, 1, 1, 0]


def test_weights_stay_with_their_edges_in_the_largest_component():
    graph = weyl.graph([(0, 1, 5.0), (2, 3, 1.5), (3, 4, 2.5)]).largest_component()
    assert graph.nodes == [2, 3, 4] and graph.weights.tolist() == [1.5, 2.5]


# ── fingerprint ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_fingerprint_is_of_the_content_alone():
    one = weyl.graph([("a", "b", 2.0), ("b", "c", 1.0)])
    same = weyl.graph([("a", "b", 2.0), ("c", "b", 1.0), ("a", "b", 3.0)])
    assert one.fingerprint == same.fingerprint == replace(one, name="other", notes=("x",)).fingerprint
    others = [
        replace(one, nodes=["a", "b", "d"]),
        replace(one, nodes=["b", "a", "c"]),
        replace(one, weights=np.array([2.0, 1.5])),
        replace(one, weights=None),
        replace(one, edges=np.array([[0, 1], [0, 2]])),
        replace(one, nodes=["a", "b", "c", "d"]),
        replace(one, given=True),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == len(others) + 1


def test_numbers_and_their_text_are_other_names():
    assert weyl.graph([("0", "1")]).fingerprint != weyl.graph([(0, 1)]).fingerprint


def test_a_graph_is_taken_as_it_is():
    graph = weyl.graph("cycle(4)")
    assert weyl.graph(graph) is graph and repr(graph) == "<Graph cycle(4): 4 nodes, 4 edges>"
