"""Progress of an installation."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dragoman.runtime.provision.install import InstallProgress, Report

EVERY_S = 3.0
"""A log hears of it at least this often."""


@contextmanager
def show_progress(name: str) -> Iterator[Report]:
    """Show the progress that is reported, on stderr."""
    if not sys.stderr.isatty():
        yield _Lines(name).tell
        return
    from rich.console import Console
    from rich.text import Text

    terminal = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with terminal.status(Text(f"{name} …")) as status:
        yield lambda progress: status.update(Text(words(name, progress)))


class _Lines:
    """A line for each phase, and one now and then while it lasts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._phase = ""
        self._last_print = 0.0

    def tell(self, progress: InstallProgress) -> None:
        """Print, unless there is nothing new."""
        now = time.monotonic()
        if progress.phase == self._phase and now - self._last_print < EVERY_S:
            return
        if progress.phase != "done":
            typer.echo(words(self._name, progress), err=True)
        self._phase, self._last_print = progress.phase, now


def words(name: str, progress: InstallProgress) -> str:
    """Progress, said to a person."""
    match progress.phase:
        case "waiting":
            return f"{name}: waiting for another installation"
        case "resolving":
            return f"{name}: asking npm"
        case "downloading":
            return f"{name}: downloading, {progress.size_bytes // 1_000_000} MB so far"
        case "checking":
            return f"{name}: checking {progress.size_bytes // 1_000_000} MB"
        case "done":
            return f"{name}: done"
