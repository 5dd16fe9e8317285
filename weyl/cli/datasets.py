"""`weyl datasets`: graphs by name, where they come from, and the files that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weyl.cli.printing import print_json, print_table

if TYPE_CHECKING:
    from weyl.graphs.catalogue import Dataset

ACTIONS = ("list", "info", "path")


def command(
    action: Annotated[str, typer.Argument(metavar="[list|info|path]", help="What to do.")] = "list",
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of a graph.")] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where datasets lie; default: WEYL_DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """List the graphs that have names, describe one, or print its file."""
    if action not in ACTIONS:
        raise ValueError(f"unknown action {action!r}: list, info NAME or path NAME")
    if action == "list":
        if name is not None:
            raise ValueError(f"list takes no name: weyl datasets info {name} describes one")
        _print_list(data, as_json)
    elif name is None:
        raise ValueError(f"{action} needs a name: weyl datasets {action} NAME")
    elif action == "info":
        _print_info(name, data, as_json)
    else:
        path = _path(name, data)
        print_json({"name": name, "path": path}) if as_json else print(path)


def _print_list(data: str | None, as_json: bool) -> None:
    from weyl.graphs import catalogue
    from weyl.graphs.generators import GENERATORS

    records = [_summary(dataset, data) for dataset in catalogue.DATASETS.values()]
    records += [_own(name, str(path)) for name, path in catalogue.others(data).items()]
    records += [_built_in(name) for name in GENERATORS]
    if as_json:
        print_json(records)
        return
    shown = {True: "here", False: "missing", None: ""}
    keys = ("expression", "nodes", "edges", "here", "about")
    rows = [
        [shown[record[key]] if key == "here" or record[key] is None else record[key] for key in keys]
        for record in records
    ]
    print_table(("graph", "nodes", "edges", "file", "about"), rows)
    folder = catalogue.folder(data)
    print(f"\ndata folder: {folder or f'none; name one with --data FOLDER or {catalogue.FOLDER_VARIABLE}'}")


def _print_info(name: str, data: str | None, as_json: bool) -> None:
    from weyl.graphs import catalogue
    from weyl.graphs.generators import GENERATORS

    others = catalogue.others(data)
    if name in GENERATORS:
        record = _built_in(name)
    elif name in others:
        record = _own(name, str(others[name]))
    else:
        record = _details(catalogue.find(name, beside=[*GENERATORS, *others]), data)
    if as_json:
        print_json(record)
        return
    for key, value in record.items():
        if value is not None:
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            print(f"{key:<10}  {f'{text:,}' if isinstance(text, int) else text}")
    if not record["here"] and record["kind"] == "dataset":
        print(f"missing     {catalogue.how_to_get(catalogue.find(name))}")


def _path(name: str, data: str | None) -> str:
    from weyl.graphs import catalogue
    from weyl.graphs.generators import GENERATORS

    others = catalogue.others(data)
    if name in GENERATORS:
        raise ValueError(f"{name} is built in: it needs no file")
    return str(others.get(name) or catalogue.path(name, data))


def _summary(dataset: Dataset, data: str | None) -> dict[str, Any]:
    path = _found(dataset, data)
    return {
        "name": dataset.name,
        "expression": dataset.name,
        "kind": "dataset",
        "nodes": dataset.nodes,
        "edges": dataset.edges,
        "about": dataset.about,
        "here": path is not None,
        "path": path,
    }


def _details(dataset: Dataset, data: str | None) -> dict[str, Any]:
    from pathlib import Path

    from weyl.graphs.catalogue import checksum

    record = _summary(dataset, data)
    path = record["path"]
    about = {key: getattr(dataset, key) for key in ("source", "address", "licence", "file", "unit", "sha256")}
    return record | about | {"intact": None if path is None else checksum(Path(path)) == dataset.sha256}


def _found(dataset: Dataset, data: str | None) -> str | None:
    from weyl.graphs.catalogue import path

    try:
        return str(path(dataset.name, data))
    except ValueError:
        return None


def _own(name: str, path: str) -> dict[str, Any]:
    """A file of the data folder that is in no catalogue."""
    counts = {"nodes": None, "edges": None, "about": "a file of the data folder"}
    return {"name": name, "expression": name, "kind": "file", **counts, "here": True, "path": path}


def _built_in(name: str) -> dict[str, Any]:
    from weyl.expression import usage
    from weyl.graphs.generators import GENERATORS, PAPER, SOCIAL

    make, nodes, edges = GENERATORS[name], None, None
    about = (make.__doc__ or "").split("\n")[0].rstrip(".")
    if name in PAPER or name in SOCIAL:
        graph = make()
        nodes, edges = len(graph), len(graph.edges)
        about = PAPER[name]().name if name in PAPER else f"networkx.{SOCIAL[name]}, without weights"
    expression = usage(name, make)
    counts = {"nodes": nodes, "edges": edges, "about": about}
    return {"name": name, "expression": expression, "kind": "built in", **counts, "here": None, "path": None}
