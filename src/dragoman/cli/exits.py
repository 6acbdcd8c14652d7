"""What the exit codes mean, and the one place that decides them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dragoman.cli.plain import clean
from dragoman.errors import DaemonError, DragomanError, RequestError, StartRefused

OK = 0
ERROR = 1
USAGE = 2  # given by Typer
UNREACHABLE = 3
REFUSED = 4
FAILED = 5
INTERRUPTED = 130  # given by Typer


@contextmanager
def reporting(as_json: bool = False) -> Iterator[None]:
    """Tell errors to the person on stderr, and leave with the code that they stand for."""
    try:
        yield
    except DragomanError as error:
        typer.echo(_as_json(error) if as_json else _as_text(error), err=True)
        raise typer.Exit(code_of(error)) from None


def code_of(error: DragomanError) -> int:
    """The exit code of an error."""
    match error:
        case StartRefused():
            return ERROR
        case RequestError():
            return REFUSED
        case DaemonError():
            return FAILED
    # Imported late: it loads the HTTP client, which the daemon's own start does without.
    from dragoman.client import Unreachable

    return UNREACHABLE if isinstance(error, Unreachable) else ERROR


def _as_text(error: DragomanError) -> str:
    notes: list[str] = getattr(error, "__notes__", [])
    field = error.details.get("field")
    # Where the sentence does not say what it is about.
    named = isinstance(field, str) and field not in ("body", "query") and field not in str(error)
    told = f"{field}: {error}" if named else str(error)
    return "\n".join([f"dragoman: {clean(told)}", *map(clean, notes)])


def _as_json(error: DragomanError) -> str:
    told = {"title": error.title, "message": str(error), "details": error.details}
    return json.dumps({"error": told})
