"""What went wrong, in one line for a person: where, what, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

EXPECTED = (
    ValueError,
    OSError,
    ImportError,
    MemoryError,
)  # what a command raises to say what the user can mend


def describe(problem: Exception, arguments: Sequence[str]) -> str:
    """The line for a problem met while running `weyl` with these arguments."""
    from typer.exceptions import TyperException

    where = " ".join(["weyl", *(word for word in arguments[:1] if not word.startswith("-"))])
    if isinstance(problem, TyperException):
        context = getattr(problem, "ctx", None)  # usage errors alone have one
        where = context.command_path if context else where
        message = problem.format_message().rstrip(".")
        pause = "" if message.endswith("?") else ";"
        return one_line(f"{where}: {message[:1].lower()}{message[1:]}{pause} see '{where} --help'")
    if isinstance(problem, OSError) and problem.strerror:
        name = f"{problem.filename}: " if problem.filename is not None else ""
        return one_line(f"{where}: {name}{problem.strerror}")
    kind = type(problem).__name__
    if isinstance(problem, EXPECTED):
        return one_line(f"{where}: {problem}" if str(problem) else f"{where}: {kind}")
    return one_line(
        f"{where}: {kind} in {_origin(problem)}: {problem}; this is a fault of weyl: "
        "please report it with the traceback that the same command prints under WEYL_TRACEBACK=1"
    )


def one_line(text: str) -> str:
    """White space squeezed, characters that would move the cursor spelled out."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined)


def _origin(problem: Exception) -> str:
    trace = problem.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return (
        f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    )
