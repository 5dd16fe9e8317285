"""Rows of distances: which nodes they align, and that no more than a block of them is ever there."""

import networkx as nx
import numpy as np
import pytest
import torch

import weyl
from weyl.evaluation import rows
from weyl.evaluation.distortion import Distortion
from weyl.evaluation.rows import Alignment, measured_rows
from weyl.kernels.dispatch import PairKernel


def embedding_of(names, space="upper(2)"):
    points = weyl.space(space).random_points(len(names), seed=0, dtype=torch.float64)
    return weyl.Embedding(space, "f1", points, names)


def blocks_of(embedding, graph, sources):
    kernel = PairKernel(embedding.space, embedding.norm, torch.float64)
    shared = Alignment.of(embedding, graph)
    goals = weyl.graph_distances(graph).rows
    return measured_rows(embedding, kernel, shared, sources, goals, shared.nodes[sources])


@pytest.mark.parametrize("pairs", [1, 40, 100, 10_000])
def test_blocks_are_no_larger_than_asked_and_hold_every_source_once(monkeypatch, pairs):
    monkeypatch.setitem(rows.PAIRS, "cpu", pairs)
    graph = weyl.graph("karate")
    embedding = embedding_of(graph.nodes)
    sources = np.array([0, 3, 4, 9, 20, 32, 33])
    found = list(blocks_of(embedding, graph, sources))
    assert all(block.d.numel() <= max(34, pairs) for block in found)
    assert sum(len(block.d) for block in found) == len(sources)
    d = torch.cat([block.d for block in found])
    names = [graph.nodes[source] for source in sources]
    for name, row in zip(names, d, strict=True):
        near, distances = embedding.neighbors(name, k=33)
        expected = dict(zip(near, distances, strict=True))
        assert {graph.nodes[i]: row[i].item() for i in range(34) if row[i] < float("inf")} == expected


def test_neighbours_of_a_block_are_those_of_the_graph():
    graph = weyl.graph(nx.star_graph(4))
    (block,) = blocks_of(embedding_of(graph.nodes), graph, np.arange(5))
    listed = [
        set(row[:degree].tolist())
        for row, degree in zip(block.neighbours, block.degrees.tolist(), strict=True)
    ]
    assert listed == [{1, 2, 3, 4}, {0}, {0}, {0}, {0}]
    assert block.real.sum(1).tolist() == block.degrees.tolist()


def test_alignment_keeps_the_edges_between_shared_nodes():
    graph = weyl.graph(nx.path_graph(["a", "b", "c", "d"]))
    shared = Alignment.of(embedding_of(["d", "x", "b", "a"]), graph)
    assert [graph.nodes[row] for row in shared.nodes] == ["a", "b", "d"]
    assert shared.rows.tolist() == [3, 2, 0]
    assert shared.edges.tolist() == [[0, 1]]
    starts, indices = shared.neighbours()
    assert [indices[starts[i] : starts[i + 1]].tolist() for i in range(3)] == [[1], [0], []]


def test_where_there_is_no_path_there_is_no_pair():
    graph = weyl.graph(nx.Graph([("a", "b"), ("c", "d")]))
    (block,) = blocks_of(embedding_of(graph.nodes), graph, np.arange(4))
    joined = torch.eye(2, dtype=torch.bool).repeat_interleave(2, 0).repeat_interleave(2, 1)
    assert torch.equal(block.pairs, joined & ~torch.eye(4, dtype=torch.bool))
    assert torch.equal(block.d.isfinite(), block.pairs) and torch.equal(block.g.isfinite(), block.pairs)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_distances_of_every_dtype_say_where_there_is_no_path(dtype):
    none = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    g, pairs = rows._goals(np.array([[0, 1, none], [1, 0, 254]], dtype))
    assert pairs.tolist() == [[False, True, False], [True, False, True]]
    assert g[pairs].tolist() == [1, 1, 254] and bool(g[~pairs].isinf().all())


def test_distortion_adds_up_over_blocks(monkeypatch):
    graph = weyl.graph("tree(2, 3)")
    embedding = embedding_of(graph.nodes)
    found = []
    for pairs in (15, 10_000):
        monkeypatch.setitem(rows.PAIRS, "cpu", pairs)
        sums = Distortion()
        for block in blocks_of(embedding, graph, np.arange(15)):
            sums.add(block)
        found.append((sums.average, sums.worst, sums.pairs, float(sums.shares().mean())))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0][3] == pytest.approx(found[0][0], rel=1e-12)
