"""The house: rooms import only downwards, no room for odds and ends, no geometry file that outgrows its reader."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

WEYL = Path(__file__).parent.parent / "weyl"
BELOW = {  # what each room may import; weyl/__init__.py, lazily, all
    "expression": "",
    "geometry": "expression",
    "kernels": "geometry",
    "graphs": "expression",
    "nn": "geometry kernels",
    "scores": "",
    "storage": "",
    "exporting": "storage",
    "placing": "geometry kernels",
    "embedding": "scores storage exporting placing geometry kernels",
    "bench": "geometry kernels graphs embedding training evaluation",
    "training": "embedding storage geometry kernels graphs",
    "evaluation": "scores embedding kernels geometry graphs",
    "analysis": "evaluation embedding geometry graphs",
    "__main__": "cli",
    "tasks": "expression geometry kernels graphs nn embedding training evaluation analysis",
    "estimator": "geometry graphs embedding tasks",
}  # cli may import everything
FILES = sorted(path for path in WEYL.rglob("*.py") if path != WEYL / "__init__.py")


def rooms_imported(path):
    """The rooms of weyl that a file imports, wherever in the file, absolutely or relatively."""
    package = ("weyl", *path.relative_to(WEYL).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            stem = [*start, *(node.module.split(".") if node.module else [])]
            names = [[*stem, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "weyl" and len(name) > 1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(WEYL)))
def test_rooms_import_downwards(path):
    room = path.relative_to(WEYL).parts[0].removesuffix(".py")
    if room == "cli":
        return
    assert room in BELOW, (
        f"{room} is a new room: say in this test, and in ARCHITECTURE.md, what it may import"
    )
    allowed = {room, *BELOW[room].split(), "_native" if room in ("kernels", "graphs") else room}
    assert set(rooms_imported(path)) <= allowed


def test_no_room_for_odds_and_ends():
    names = {part.removesuffix(".py") for path in FILES for part in path.relative_to(WEYL).parts}
    assert not names & {"utils", "base", "core", "common", "helpers"}


def test_geometry_is_readable():
    lines = {path.name: path.read_text().count("\n") for path in (WEYL / "geometry").glob("*.py")}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def test_importing_weyl_is_light():
    program = "import sys, weyl; print(*({'torch', 'numpy', 'scipy', 'typer'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).split() == []
