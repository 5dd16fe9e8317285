"""`weyl bench`: measurements of this machine, ours beside other libraries."""

from __future__ import annotations

import sys
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

    rows = run(request, _show if sys.stderr.isatty() else lambda text: None)
    if sys.stderr.isatty():
        _show("")
    if picture is not None:
        from weyl.bench.picture import draw

        draw(rows, picture)
    if as_json:
        print_json(rows)
    else:
        _print_rows([row for row in rows if row["series"] == "table"])


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
