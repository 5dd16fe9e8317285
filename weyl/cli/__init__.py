"""The command line: one file a subcommand, no mathematics. `main` keeps the promise that all commands share.

A command prints its result on stdout and returns, or raises. What it raises becomes one line on stderr and
exit status 2 (problems.py words it); with WEYL_TRACEBACK=1 in the environment the traceback is shown instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0 done, 2 with one line on stderr, 130 after Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        from weyl.cli.application import run  # imported here so that Ctrl-C is met from the first moment

        status = run(arguments)
        print(end="", flush=True)  # a full disk or a closed pipe shows now, not after the last word
        return status
    except KeyboardInterrupt:
        status, line = 130, "weyl: interrupted"
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        status, line = 0, ""
    except Exception as problem:
        if os.environ.get("WEYL_TRACEBACK"):
            raise
        from weyl.cli.problems import describe

        status, line = 2, describe(problem, arguments)
    _write_or_drop("", sys.stdout)
    _write_or_drop(line and line + "\n", sys.stderr)
    return status


def _write_or_drop(text: str, stream: TextIO) -> None:
    """Writes and flushes; where nobody listens, drops it, so that Python does not complain at exit."""
    try:
        print(text, end="", file=stream, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
