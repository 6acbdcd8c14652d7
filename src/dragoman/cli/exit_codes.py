"""Exit codes, and which error has which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dragoman.cli.sanitize import clean
from dragoman.errors import (
    DaemonError,
    DragomanError,
    InvalidRequest,
    RequestError,
    StartRefused,
    WrongSetting,
)

OK = 0
ERROR = 1
USAGE = 2  # given by Typer, too
UNREACHABLE = 3
REFUSED = 4
FAILED = 5
INTERRUPTED = 130  # given by Typer


@contextmanager
def reporting(as_json: bool = False, *, asking: bool = False) -> Iterator[None]:
    """Tell errors to the person on stderr, and leave with the code that they stand for.

    `asking`: they are the daemon's. Otherwise nobody but us refuses anything.
    """
    try:
        yield
    except DragomanError as error:
        typer.echo(_as_json(error) if as_json else _as_text(error, asking), err=True)
        raise typer.Exit(code_of(error, asking)) from None


def code_of(error: DragomanError, asking: bool) -> int:
    """The exit code of an error."""
    match error:
        case WrongSetting():
            return USAGE
        case StartRefused():
            return ERROR
        case RequestError() if asking:
            return REFUSED
        case InvalidRequest():
            return USAGE
        case RequestError():
            return ERROR
        case DaemonError():
            return FAILED
    # Imported late: it loads the HTTP client, which the daemon's own start does without.
    from dragoman.client import Unreachable

    return UNREACHABLE if isinstance(error, Unreachable) else ERROR


def _as_text(error: DragomanError, asking: bool) -> str:
    notes: list[str] = getattr(error, "__notes__", [])
    field = error.details.get("field") if asking else None
    # Where the sentence does not say what it is about.
    named = isinstance(field, str) and field not in ("body", "query") and field not in str(error)
    told = f"{field}: {error}" if named else str(error)
    return "\n".join([f"dragoman: {clean(told)}", *map(clean, notes)])


def _as_json(error: DragomanError) -> str:
    told = {"title": error.title, "message": str(error), "details": error.details}
    return json.dumps({"error": told})
