"""All subcommands under one name. Plain help without rich: nothing to import, nothing to wrap in boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from weyl.cli import bench, datasets, distance, embed, evaluate, export, neighbors, spaces

application = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.command("embed")(embed.command)
application.command("evaluate")(evaluate.command)
application.command("neighbors")(neighbors.command)
application.command("distance")(distance.command)
application.command("export")(export.command)
application.command("spaces")(spaces.command)
application.command("datasets")(datasets.command)
application.add_typer(bench.application, name="bench")


@application.callback(invoke_without_command=True)
def weyl(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Embeddings of graphs into Riemannian symmetric spaces."""
    if version:
        _print_version()
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(context.get_help())


def _print_version() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        print(f"weyl {version('weyl')}")
    except PackageNotFoundError:
        raise ValueError("no version, since the package is not installed: run `make setup`") from None


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit status; problems are raised, never printed."""
    command = typer.main.get_command(application)
    try:
        with command.make_context("weyl", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except (typer.Abort, EOFError):
        raise KeyboardInterrupt from None
    return 0
