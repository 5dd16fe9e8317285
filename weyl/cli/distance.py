"""`weyl distance`: the distance and the vector-valued distance of two nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from weyl.cli.printing import print_json


def command(
    file: Annotated[str, typer.Argument(metavar="FILE.weyl", help="The embedding.")],
    first: Annotated[str, typer.Argument(metavar="NODE", help="The name of a node.")],
    second: Annotated[str, typer.Argument(metavar="NODE", help="The name of another.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Measure between two nodes, in graph units."""
    import weyl
    from weyl.storage import plain

    embedding = weyl.load(file)
    pair = embedding.named(first), embedding.named(second)
    distance = embedding.distance(*pair)
    vector = embedding.vector_distances([pair])[0].tolist()
    if as_json:
        record = {"nodes": plain(pair), "distance": distance, "vector_distance": vector}
        print_json(record | {"space": embedding.space.name, "metric": embedding.metric})
    else:
        print(f"distance         {distance:.6g}")
        print(f"vector distance  {'  '.join(f'{one:.6g}' for one in vector)}")
