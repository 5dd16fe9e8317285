"""`weyl bench`: measurements of this machine, ours beside other libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from weyl.bench.request import Request
from weyl.cli.printing import print_json, print_table

TEXTS = Request.texts()
application = typer.Typer(rich_markup_mode=None, help="Measure speed, beside other libraries.")


@application.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@application.command()
def pairs(
    space: Annotated[str, typer.Option(metavar="SPACE", help=TEXTS["space"])] = Request.space,
    metric: Annotated[str, typer.Option(metavar="METRIC", help=TEXTS["metric"])] = Request.metric,
    ranks: Annotated[str, typer.Option(metavar="N,N,…", help=TEXTS["ranks"])] = Request.ranks,
    dtype: Annotated[str, typer.Option(metavar="DTYPE", help=TEXTS["dtype"])] = Request.dtype,
    device: Annotated[str, typer.Option(metavar="DEVICE", help=TEXTS["device"])] = Request.device,
    pairs: Annotated[int | None, typer.Option(metavar="N", help=TEXTS["pairs"])] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help=TEXTS["threads"])] = None,
    repeats: Annotated[int, typer.Option(metavar="N", help=TEXTS["repeats"])] = Request.repeats,
    against: Annotated[str | None, typer.Option(metavar="LIBRARY", help=TEXTS["against"])] = None,
    sympa: Annotated[str | None, typer.Option(metavar="PATH", help=TEXTS["sympa"])] = None,
    picture: Annotated[str | None, typer.Option(metavar="FILE", help=TEXTS["picture"])] = None,
    curves: Annotated[bool, typer.Option("--curves", help=TEXTS["curves"])] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Time distances of pairs and their gradients: medians of interleaved repeats."""
    request = Request(
        space, metric, ranks, dtype, device, pairs, threads, repeats, against, sympa, picture, curves
    )
    from weyl.bench.pairs import run

    rows = run(request, _shown())
    _close()
    if picture is not None:
        from weyl.bench.picture import draw

        draw(rows, picture)
    if as_json:
        print_json(rows)
    else:
        _print_rows([row for row in rows if row["series"] == "table"])


@application.command()
def train(
    graph: Annotated[str, typer.Option(metavar="GRAPH", help="What is embedded.")] = "tree-x-tree",
    space: Annotated[str, typer.Option(metavar="SPACE", help="Where the points lie.")] = "upper(4)",
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Norm of the vector-valued distance.")] = "f1",
    goal: Annotated[
        float, typer.Option(metavar="SHARE", help="Average distortion to reach, as a fraction.")
    ] = 0.0126,
    time_limit: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Of training, for each library.")
    ] = 120.0,
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help=TEXTS["threads"])] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the start and the order of pairs.")] = 0,
    against: Annotated[str | None, typer.Option(metavar="LIBRARY", help=TEXTS["against"])] = None,
    sympa: Annotated[str | None, typer.Option(metavar="PATH", help=TEXTS["sympa"])] = None,
    data: Annotated[str | None, typer.Option(metavar="FOLDER", help="Where datasets lie.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Time whole training loops: pairs a second, and the time until a distortion is reached."""
    others: list[tuple[str, str | None]] = [("geoopt", None)] if _is_geoopt(against) else []
    others += [("sympa", sympa)] if sympa else []
    from weyl.bench.train import run

    rows = run(
        graph, space, metric, goal, time_limit, others, seed=seed, threads=threads, data=data, show=_shown()
    )
    _close()
    if as_json:
        print_json(rows)
        return
    one = rows[0]
    print(f"{one['machine']}, {one['threads']} threads; {one['graph']}, {one['space']}, {one['metric']}")
    headings = ("library", "pairs a second", "kernel %", "seconds", "distortion %", "seconds to goal")
    lines = []
    for row in rows:
        share = "-" if row["kernel_share"] is None else _percent(row["kernel_share"])
        reached = "not reached" if row["seconds_to_goal"] is None else _short(row["seconds_to_goal"])
        lines.append((row["library"], f"{row['pairs_per_second']:,.0f}", share, _short(row["seconds"]),
                      _short(100 * row["distortion"]), reached))  # fmt: skip
    print_table(headings, lines)


@application.command()
def evaluate(
    graph: Annotated[str, typer.Option(metavar="GRAPH", help="What is evaluated on.")] = "tree-o-grids",
    space: Annotated[str, typer.Option(metavar="SPACE", help="Where the points lie.")] = "upper(4)",
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Norm of the vector-valued distance.")] = "f1",
    repeats: Annotated[int, typer.Option(min=3, metavar="N", help="Rounds of measuring all in turns.")] = 3,
    against: Annotated[str | None, typer.Option(metavar="LIBRARY", help=TEXTS["against"])] = None,
    data: Annotated[str | None, typer.Option(metavar="FOLDER", help="Where datasets lie.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Time exact scores of all pairs: distortion, average precision, rank correlation."""
    against_geoopt = _is_geoopt(against)
    from weyl.bench.evaluate import run

    rows = run(graph, space, metric, against_geoopt, repeats=repeats, data=data, show=_shown())
    _close()
    if as_json:
        print_json(rows)
        return
    one = rows[0]
    print(
        f"{one['machine']}, {one['threads']} threads; {one['graph']}, {one['nodes']:,} nodes, {one['space']}"
    )
    lines = [
        (row["library"], _short(row["seconds"]), f"{row['pairs_per_second']:,.0f}", _short(row["ratio"]))
        for row in rows
    ]
    print_table(("library", "seconds", "pairs a second", "ratio"), lines)


def _is_geoopt(against: str | None) -> bool:
    if against not in (None, "geoopt"):
        raise ValueError(f"--against knows geoopt, not {against!r}")
    return against is not None


def _shown() -> Callable[[str], None]:
    return _show if sys.stderr.isatty() else lambda text: None


def _close() -> None:
    if sys.stderr.isatty():
        _show("")


def _show(text: str) -> None:
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """One line a case and work; every other library adds three columns."""
    one = rows[0]
    where = f"{one['machine']}, {one['threads']} threads, torch {one['torch']}"
    print(f"{where}; {one['pairs']:,} pairs, {one['metric']}; microseconds a pair")
    others = list(dict.fromkeys(row["against"] for row in rows if row["against"]))
    headings = ["space", "dtype", "work", "weyl", "± %"]
    headings += [heading for other in others for heading in (other, "± %", "ratio")]
    headings += ["peak %"] + ["first call s"] * (one["device"] == "cuda")
    lines: dict[tuple[str, ...], list[object]] = {}
    for row in rows:
        key = (row["space"], row["dtype"], row["work"].replace("distance+", "+ "))
        line = lines.setdefault(
            key, [*key, _short(row["microseconds_per_pair"]), _percent(row["spread"] / 2)]
        )
        if row["against"]:
            line += [_short(row["against_microseconds_per_pair"]), _percent(row["against_spread"] / 2)]
            line.append(_short(row["ratio"]))
        if row["against"] in (None, others[-1] if others else None):
            line.append("" if row["share_of_peak"] is None else _percent(row["share_of_peak"]))
            line += [_short(row["first_call_seconds"])] * (one["device"] == "cuda")
    print_table(headings, list(lines.values()))


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _percent(share: float) -> int:
    return round(100 * share)
