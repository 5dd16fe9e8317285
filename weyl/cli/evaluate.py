"""`weyl evaluate`: how well an embedding keeps its graph, or another one with the same nodes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weyl.cli.printing import print_json

if TYPE_CHECKING:
    from weyl.embedding import Embedding


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
    from weyl.graphs import graph as make_graph

    start = time.perf_counter()
    embedding = weyl.load(file)
    made = make_graph(_source(embedding, file, graph), data=data)
    scores = weyl.evaluate(embedding, made)
    record = summary(embedding, scores)
    record |= {"graph": made.name, "seconds": round(time.perf_counter() - start, 3), "out": file}
    record["notes"] = [*made.notes, *_notes(embedding, made, scores.nodes)]
    if as_json:
        print_json(record)
    else:
        print_scores(record)


def _source(embedding: Embedding, file: str, graph: str | None) -> str:
    if graph is not None:
        return graph
    if not embedding.graph:
        raise ValueError(
            f"{file} does not say which graph it embeds: add it, as in weyl evaluate {file} GRAPH"
        )
    return embedding.graph


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
        lines.append(("tied neighbours %", f"{100 * record['tie_share']:.4g}"))
    measured = f"{record['pairs']:,}"
    if record["sampled"]:
        measured += f", sampled: from {record['sources']:,} of {record['nodes']:,} nodes"
    lines += [("pairs", measured), ("seconds", f"{record['seconds']:.1f}"), ("file", record["out"])]
    lines += [("note", note) for note in record["notes"]]
    for key, value in lines:
        print(f"{key.replace('_', ' '):<24}  {value}")
