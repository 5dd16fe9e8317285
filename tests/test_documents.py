"""What the documents show runs: the Python of the README, the examples, the counts they state."""

import importlib.util
import re
from pathlib import Path

import pytest

import weyl
from accuracy.report import filled

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_readme_runs(block):
    exec(compile(block, "README.md", "exec"), {})


def test_readme_counts_the_laws():
    held = weyl.check_space(weyl.space("hyperbolic(2)"))
    for page in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"):
        for count in re.findall(r"(\d+) laws", (ROOT / page).read_text()):
            assert int(count) == len(held), page


def test_every_linked_page_exists():
    for page in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name} links {target}"


def test_the_accuracy_page_shows_what_was_measured():
    page = (ROOT / "accuracy" / "README.md").read_text()
    assert filled(page) == page, "python -m accuracy.report writes the page again"


def test_the_first_embedding_example_learns_and_draws(tmp_path):
    spec = importlib.util.spec_from_file_location("first_embedding", ROOT / "examples" / "first_embedding.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    graph = example.graph_of_grid_and_trees()
    assert (len(graph), graph.number_of_edges()) == (63, 66)
    embedding = weyl.embed(graph, space="upper(2)", effort="quick", config={"steps": 200})
    assert embedding.scores.average_distortion < 0.15
    example.draw(graph, embedding, str(tmp_path / "picture.png"))
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_geoopt_example_learns():
    pytest.importorskip("geoopt")
    spec = importlib.util.spec_from_file_location("with_geoopt", ROOT / "examples" / "with_geoopt.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert example.train(steps=120) < example.train(steps=1) / 3
