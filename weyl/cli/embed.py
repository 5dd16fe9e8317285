"""`weyl embed`: from a graph to one file with its embedding, and how good that is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weyl.cli.evaluate import print_scores
from weyl.cli.printing import print_json
from weyl.cli.progress import Progress

if TYPE_CHECKING:
    from weyl.embedding import Embedding


def command(
    context: typer.Context,
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A file, a dataset, or such as 'tree(3,5)'.")],
    space: Annotated[
        str, typer.Option(metavar="SPACE", help="Where the points lie: see weyl spaces.")
    ] = "upper(4)",
    metric: Annotated[
        str, typer.Option(metavar="METRIC", help="riemannian, f1, finf, fmin, lp(3), weighted.")
    ] = "f1",
    out: Annotated[
        str | None, typer.Option(metavar="FILE.weyl", help="Default: the graph's name, here.")
    ] = None,
    effort: Annotated[str, typer.Option(metavar="EFFORT", help="quick, normal or best.")] = "normal",
    recipe: Annotated[
        str, typer.Option(metavar="RECIPE", help="default, or paper: as it was done in 2021.")
    ] = "default",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For all of it; the best found until then is kept."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The same seed gives the same bits on a CPU.")
    ] = 0,
    dtype: Annotated[
        str, typer.Option(metavar="DTYPE", help="Of the pair kernels: float32 or float64.")
    ] = "float32",
    device: Annotated[str, typer.Option(metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")] = None,
    component: Annotated[
        str, typer.Option(metavar="WHICH", help="all, or largest: drop what is not connected to it.")
    ] = "all",
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where datasets lie; default: WEYL_DATA.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that was interrupted.")
    ] = False,
    log: Annotated[
        str | None, typer.Option(metavar="FILE.jsonl", help="Write the losses, a JSON object a line.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE.toml", help="Settings of training, such as rate = 0.05.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")] = False,
) -> None:
    """Embed a graph and write one file that can be queried, exported, evaluated and plotted."""
    began = time.perf_counter()
    with Progress("weyl embed") as progress:
        progress.say("loading torch")
        from weyl.graphs.graph import graph as make_graph
        from weyl.tasks.reconstruction import Interrupted, embed
        from weyl.training.workers import Workers

        settings = _settings(config, context)
        progress.say("reading the graph and its distances")
        made = make_graph(graph, data=data)
        made = made.largest_component() if component == "largest" else made
        target = _target(out, made.name)
        _check_apart({"--out": target, "--log": log}, (graph, config))
        checkpoint = f"{target}.checkpoint"
        if resume and not Path(checkpoint).exists() and Path(target).exists():
            asked = {"recipe": recipe, "effort": effort, "seed": seed, "dtype": dtype}
            asked |= {"space": space, "metric": metric, **settings}
            found = _finished(target, made.fingerprint, asked)
            _report(found, target, time.perf_counter() - began, as_json)
            return
        try:
            embedding = embed(
                made, space, metric, effort=effort, recipe=recipe, seed=seed, time_limit=time_limit, dtype=dtype,
                device=device, threads=threads, callback=progress, component=component, config=settings,
                checkpoint=checkpoint, resume=resume, log=log,
            )  # fmt: skip
            if progress.speaks:
                embedding.save(target)
        except Interrupted as stopped:
            if not progress.speaks:
                raise typer.Exit(130) from None
            stopped.embedding.save(target)
            hint = "; --resume goes on from here" if Path(checkpoint).exists() else ""
            progress.warn(f"stopped; the best so far is in {target}{hint}")
            raise
        finally:
            Workers.close()
    if not progress.speaks:
        return
    if Path(checkpoint).is_file():
        Path(checkpoint).unlink()
    _report(embedding, target, time.perf_counter() - began, as_json)


def _settings(path: str | None, context: typer.Context) -> dict[str, Any]:
    """The fields of the configuration that a file sets, without those that options on the command line set."""
    import tomllib

    from weyl.training.config import Config

    if path is None:
        return {}
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        Config().with_(found)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    given = {name for name in found if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}
    return {name: value for name, value in found.items() if name not in given}


def _target(out: str | None, name: str) -> str:
    """Where the embedding goes; refused now rather than after training."""
    target = Path(out if out is not None else f"{_file_name(name)}.weyl")
    if target.is_dir():
        raise ValueError(f"--out {target} is a folder: give a file name, such as {target / 'embedding.weyl'}")
    if not target.parent.is_dir():
        raise ValueError(f"--out {target}: there is no folder {target.parent}")
    probe = target.parent / f".{target.name[:200]}.probe"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"--out {target}: cannot write into {target.parent}: {error.strerror}") from None
    return str(target)


def _check_apart(written: dict[str, str | None], read: tuple[str | None, ...]) -> None:
    """Refuses to write over what is read, or one file over another."""
    taken = {os.path.realpath(path) for path in read if path is not None and Path(path).is_file()}
    for option, path in written.items():
        if path is None:
            continue
        if os.path.realpath(path) in taken:
            raise ValueError(
                f"{option} {path} would be written over a file of this very command: name another"
            )
        taken.add(os.path.realpath(path))


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.(),=" else "_" for c in name)[:100] or "graph"


def _finished(target: str, fingerprint: str, asked: dict[str, Any]) -> Embedding:
    """The embedding of a run that came to its end, where there is nothing to resume."""
    import weyl

    embedding = weyl.load(target)
    space = weyl.space(asked["space"])
    asked |= {"space": space.name, "metric": str(space.norm(asked["metric"]))}
    other = sorted(name for name, value in asked.items() if embedding.config.get(name) != value)
    if embedding.fingerprint != fingerprint or embedding.scores is None:
        other = ["graph"] if embedding.scores else ["end: it was stopped"]
    if other:
        what = ", ".join(other)
        raise ValueError(
            f"--resume: there is no checkpoint, and {target} is of a run with another {what}: leave out --resume"
        )
    return embedding


def _report(embedding: Embedding, target: str, seconds: float, as_json: bool) -> None:
    from weyl.evaluation.scores import summary

    assert embedding.scores is not None
    record = summary(embedding, embedding.scores)
    record |= {"seconds": round(seconds, 3), "dtype": embedding.training["dtype"], "out": target}
    record["notes"] = embedding.training["notes"]
    if not embedding.training["complete"]:
        record["notes"] = [*record["notes"], "training was stopped before its end"]
    if as_json:
        print_json(record)
        return
    print_scores(record)
