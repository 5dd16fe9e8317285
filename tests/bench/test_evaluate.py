"""`weyl bench evaluate`: both ways of scoring find the same scores."""

import numpy as np
import pytest

import weyl
from weyl.bench import evaluate
from weyl.bench.geoopt_pairs import competitor
from weyl.training.starts import random_start

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # geoopt uses it


def test_row_by_row_finds_our_scores():
    """On few nodes the other way looks at all of them: the sum of both scores over the nodes."""
    graph, space = weyl.graph("tree(2,3)"), weyl.space("upper(2)")
    points = random_start(space, 15, 1.0, 0)
    distances = weyl.graph_distances(graph)
    ours = weyl.evaluate(weyl.Embedding(space, space.norm("f1"), points, graph.nodes), graph)
    found = evaluate._row_by_row(competitor(space, "f1", points), graph, distances)
    assert found == pytest.approx(15 * (ours.average_distortion + ours.mean_average_precision), rel=1e-6)
    assert np.isfinite(found)


def test_rows_say_what_was_timed():
    ours, theirs = evaluate.run("grid(5,5)", "upper(2)", "f1", True, repeats=1)
    assert (ours["library"], ours["sources_timed"], ours["ratio"]) == ("weyl", 25, 1.0)
    assert (theirs["library"], theirs["sources_timed"]) == ("geoopt", evaluate.THEIR_SOURCES)
    assert theirs["ratio"] == theirs["seconds"] / ours["seconds"]
    for row in (ours, theirs):
        assert row["pairs_per_second"] == pytest.approx(300 / row["seconds"]) and row["nodes"] == 25
    (alone,) = evaluate.run("grid(3,3)", "upper(2)", "f1", False, repeats=1)
    assert alone["library"] == "weyl" and alone["graph_distances_seconds"] >= 0
