"""Files of numpy, scipy, Matrix Market and GraphML: what their own libraries wrote comes back, packed or not."""

import gzip
import io
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

import weyl


def edges(graph):
    weights = [1.0] * len(graph.edges) if graph.weights is None else graph.weights.tolist()
    return {
        frozenset((graph.nodes[i], graph.nodes[j])): w
        for (i, j), w in zip(graph.edges.tolist(), weights, strict=True)
    }


@pytest.fixture(params=[False, True], ids=["plain", "packed"])
def read(request, tmp_path):
    """Reads the graph in bytes that a function writes."""

    def reader(suffix, write, *arguments, **keywords):
        file = io.BytesIO()
        write(file, *arguments, **keywords)
        path = tmp_path / (f"a{suffix}.gz" if request.param else f"a{suffix}")
        path.write_bytes(gzip.compress(file.getvalue()) if request.param else file.getvalue())
        graph = weyl.graph(path)
        assert graph.name == "a"
        return graph

    return reader


LENGTHS = np.array([[0, 1.5, 0, 7], [1.5, 0, 2, 0], [0, 2, 0, 0], [7, 0, 0, 0]])
EDGES = {frozenset((0, 1)): 1.5, frozenset((1, 2)): 2.0, frozenset((0, 3)): 7.0}


# ── numpy ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_a_matrix_of_distances(read, dtype):
    matrix = abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(dtype)
    graph = read(".npy", np.save, matrix)
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(graph)), matrix)
    assert len(graph.edges) == 10 and graph.nodes == range(5) and not graph.notes


def test_a_matrix_of_distances_is_taken_as_it_is(read):
    matrix = np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0.0]])  # a shortcut would be shorter
    graph = read(".npz", np.savez, distances=matrix, nodes=["a", "b", "c"])
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(graph)), matrix)
    assert graph.nodes == ["a", "b", "c"]


def test_arrays_of_edges(read):
    assert edges(read(".npy", np.save, [[3, 1], [1, 7]])) == {frozenset((1, 3)): 1, frozenset((1, 7)): 1}
    assert edges(read(".npy", np.save, [[3, 1, 2.5], [1, 7, 1]]))[frozenset((1, 3))] == 2.5
    named = read(".npz", np.savez, edges=[["a", "b"], ["b", "c"]], weights=[1, 2.5])
    assert edges(named) == {frozenset("ab"): 1, frozenset("bc"): 2.5}
    rows = read(".npz", np.savez_compressed, edges=[[0, 1], [1, 3]], nodes=["a", "b", "c", "d"])
    assert rows.nodes == ["a", "b", "c", "d"] and edges(rows) == {frozenset("ab"): 1, frozenset("bd"): 1}


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices(read, kind):
    matrix = sparse.csr_array(LENGTHS).asformat(kind)
    graph = read(".npz", sparse.save_npz, matrix)
    assert edges(graph) == EDGES and not [note for note in graph.notes if "zeros" not in note]


def test_indices_out_of_range_are_refused(tmp_path):
    matrix = sparse.csr_array(LENGTHS)
    path = tmp_path / "a.npz"
    parts = {"indptr": matrix.indptr, "shape": matrix.shape, "data": matrix.data, "format": b"csr"}
    np.savez(path, indices=matrix.indices + 10**6, **parts)
    with pytest.raises(ValueError, match="cannot be read as a sparse matrix: "):
        weyl.graph(path)


# ── Matrix Market ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_matrix_market_as_scipy_writes_it(read, way, field, symmetry):
    matrix = sparse.coo_array(LENGTHS if field == "real" else np.ceil(LENGTHS))
    if field == "integer":
        matrix = matrix.astype(int)
    graph = read(".mtx", scipy_io.mmwrite, matrix, comment="a graph", field=field, symmetry=symmetry)
    expected = {
        key: 1 if field == "pattern" else np.ceil(w) if field == "integer" else w for key, w in EDGES.items()
    }
    assert edges(graph) == expected and not graph.notes


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_dense_matrix_market_is_a_matrix_of_distances(read, symmetry):
    matrix = abs(np.subtract.outer([0, 1, 4.5], [0, 1, 4.5]))
    graph = read(".mtx", scipy_io.mmwrite, matrix, symmetry=symmetry)
    np.testing.assert_array_equal(np.asarray(weyl.graph_distances(graph)), matrix)


def test_matrix_market_without_sizes_and_under_another_name(tmp_path, way):
    banner = "%%MatrixMarket matrix coordinate pattern symmetric\n"
    for name, sizes in (("a.mtx", ""), ("a.edges", "4 4 2\n"), ("a.txt", "% x\n\n4 4 2\n")):
        path = tmp_path / name
        path.write_text(f"{banner}{sizes}2 1\n4 2\n")
        graph = weyl.graph(path)
        assert graph.nodes == range(4) and edges(graph) == {frozenset((0, 1)): 1, frozenset((1, 3)): 1}


# ── GraphML ──────────────────────────────────────────────────────────────────────────────────────────────────────
def write_graphml(file, source):
    nx.write_graphml(source, file)


def labelled(names, key="label"):
    source = nx.path_graph([f"n{k}" for k in range(len(names))])
    nx.set_node_attributes(source, dict(zip(source, names, strict=True)), key)
    return source


@pytest.mark.parametrize(
    "source, nodes",
    [
        (nx.path_graph(4), [0, 1, 2, 3]),
        (nx.path_graph("abc"), ["a", "b", "c"]),
        (labelled(["São Paulo", "New York", "x"]), ["São Paulo", "New York", "x"]),
        (labelled(["p", "q"], "name"), ["p", "q"]),
        (labelled(["p", "p"]), ["n0", "n1"]),  # labels that name no single node
        (nx.path_graph("xy", create_using=nx.MultiDiGraph), ["x", "y"]),
    ],
)
def test_graphml_keeps_names(read, source, nodes):
    graph = read(".graphml", write_graphml, source)
    assert list(graph.nodes) == nodes
    assert edges(graph) == {frozenset(pair): 1 for pair in pairwise(nodes)}


def test_graphml_keeps_ids_that_somebody_chose(read):
    source = nx.path_graph(["ann", "bob"])
    nx.set_node_attributes(source, {"ann": "A", "bob": "B"}, "label")
    assert list(read(".graphml", write_graphml, source).nodes) == ["ann", "bob"]


def test_graphml_weights(read):
    source = nx.Graph()
    source.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2)])
    assert edges(read(".graphml", write_graphml, source)) == {frozenset("ab"): 1.5, frozenset("bc"): 2}
