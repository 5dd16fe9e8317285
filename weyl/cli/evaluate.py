"""`weyl evaluate`: how well an embedding keeps its graph, or another one with the same nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weyl.cli.printing import print_json

if TYPE_CHECKING:
    from weyl.embedding import Embedding
    from weyl.graphs import Graph


def command(
    file: Annotated[str, typer.Argument(metavar="FILE.weyl", help="The embedding.")],
    graph: Annotated[
        str | None,
        typer.Argument(metavar="GRAPH", help="A file or an expression; default: the one embedded."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where datasets lie; default: WEYL_DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Measure distortion and mean average precision."""
    import weyl
    from weyl.evaluation.scores import summary
    from weyl.graphs.graph import graph as make_graph

    start = time.perf_counter()
    embedding = weyl.load(file)
    made = make_graph(graph, data=data) if graph is not None else _embedded(embedding, file, data)
    scores = weyl.evaluate(embedding, made)
    record = summary(embedding, scores)
    record |= {"graph": made.name, "seconds": round(time.perf_counter() - start, 3), "out": file}
    record["notes"] = [*made.notes, *_notes(embedding, made, scores.nodes)]
    if as_json:
        print_json(record)
    else:
        print_scores(record)


def _embedded(embedding: Embedding, file: str, data: str | None) -> Graph:
    """The graph that was embedded, or its largest component; by its name, or from a file of that name close by."""
    from weyl.graphs.graph import graph as make_graph

    hint = f"add the graph, as in weyl evaluate {file} GRAPH"
    if not embedding.graph:
        raise ValueError(f"{file} does not say which graph it embeds: {hint}")
    found, problem = None, ""
    for source in (embedding.graph, *_close_by(embedding.graph, file, data)):
        try:
            made = make_graph(source, data=data)
        except (ValueError, OSError) as error:
            problem = problem or f" ({error})"
            continue
        part = made.largest_component()
        if embedding.fingerprint in ("", made.fingerprint):
            return made
        if embedding.fingerprint == part.fingerprint:
            return part
        found = found or made
    if found is None:
        raise ValueError(f"{file} embeds {embedding.graph!r}, which is not to be found here{problem}: {hint}")
    return found


def _close_by(name: str, file: str, data: str | None) -> Iterator[Path]:
    """Files with a graph of this name: beside the embedding, in this folder, in that of the data."""
    from weyl.graphs.files import SUFFIXES

    folders = (Path(file).parent, Path(), Path(data or os.environ.get("WEYL_DATA") or "."))
    for folder in dict.fromkeys(folders):
        for suffix in SUFFIXES:
            for packed in ("", ".gz"):
                path = os.path.join(folder, f"{name}{suffix}{packed}")
                if "/" not in name and os.path.isfile(path):
                    yield Path(path)


def _notes(embedding: Embedding, graph: Any, shared: int) -> list[str]:
    notes = []
    if shared < max(len(graph.nodes), len(embedding)):
        sizes = f"{len(graph.nodes):,} in the graph, {len(embedding):,} in the embedding"
        notes.append(f"measured on the {shared:,} nodes that both have: {sizes}")
    elif embedding.fingerprint and embedding.fingerprint != graph.fingerprint:
        notes.append("this is not the graph that was embedded: it has other edges or weights")
    return notes


def print_scores(record: dict[str, Any]) -> None:
    """The scores of a record that `summary` made, for people."""
    percent = ("average_distortion", "mean_average_precision", "precision_at_10")
    lines = [(key, record[key]) for key in ("graph", "nodes", "edges", "space", "metric")]
    for key in (*percent[:1], "worst_distortion", *percent[1:], "rank_correlation"):
        unit, factor = (" %", 100) if key in percent else ("", 1)
        missing = "infinite" if key == "worst_distortion" else "-"
        text = missing if record[key] is None else f"{factor * record[key]:.4g}"
        ends = [end for end in record.get(f"{key}_interval", ()) if end is not None]
        if len(ends) == 2:
            text += f"  ({factor * ends[0]:.4g} to {factor * ends[1]:.4g}, 95 %)"
        lines.append((key + unit, text if len(ends) != 1 else f"at least {text}"))
    if record["tie_share"]:
        by_order = record["mean_average_precision_by_sort_order"]
        lines.append(
            ("ties by row order %", f"{100 * by_order:.4g}  (mean average precision as the paper counts)")
        )
        lines.append(("tied neighbours %", f"{100 * record['tie_share']:.4g}"))
    measured = f"{record['pairs']:,}"
    if record["sampled"]:
        measured += f", sampled: from {record['sources']:,} of {record['nodes']:,} nodes"
    lines += [("pairs", measured), ("seconds", f"{record['seconds']:.1f}"), ("file", record["out"])]
    lines += [("note", note) for note in record["notes"]]
    for key, value in lines:
        print(f"{key.replace('_', ' '):<24}  {value}")
