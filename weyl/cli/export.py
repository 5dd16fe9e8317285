"""`weyl export`: points or flat features for other programs."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    file: Annotated[str, typer.Argument(metavar="FILE.weyl", help="The embedding.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="OUT.npz, .csv, .txt (word2vec) or .parquet.")],
    flat: Annotated[
        bool, typer.Option("--flat", help="Features for models that know no geometry, instead of points.")
    ] = False,
) -> None:
    """Write the points with their node names."""
    import weyl

    embedding = weyl.load(file)
    embedding.export(out, flat=flat)
    print(
        f"{out}: {len(embedding):,} nodes, {'flat features' if flat else 'points'} of {embedding.space.name}"
    )
