"""`weyl neighbors`: the nodes nearest to one, in the embedding."""

from __future__ import annotations

from typing import Annotated

import typer

from weyl.cli.printing import print_json, print_table
from weyl.cli.problems import one_line


def command(
    file: Annotated[str, typer.Argument(metavar="FILE.weyl", help="The embedding.")],
    node: Annotated[str, typer.Argument(metavar="NODE", help="The name of a node.")],
    k: Annotated[int, typer.Option("-k", min=1, metavar="K", help="How many.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """List the nearest nodes with their distances, in graph units."""
    import weyl
    from weyl.storage import plain

    embedding = weyl.load(file)
    name = embedding.named(node)
    names, distances = embedding.neighbors(name, k)
    found = list(zip(names, distances.tolist(), strict=True))
    if as_json:
        near = [{"node": plain(one), "distance": distance} for one, distance in found]
        print_json({"node": plain(name), "neighbors": near})
    else:
        print_table(
            ("node", "distance"), [[one_line(str(one)), f"{distance:.6g}"] for one, distance in found]
        )
