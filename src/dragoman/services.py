"""What the daemon does for an agent that asks for it: text files and terminals.

A converter says what is to be done as it says anything else, by a step; what became of it comes
back as an event. So the dialect stays pure, and only the runtime sees a file or a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

# --- What is to be done ---


class ReadTextFile(Struct, frozen=True, kw_only=True):
    """Read a text file beneath the session's directory. Leads to FileRead or ServiceRefused."""

    key: str
    path: str
    line: int | None = None
    """The first line that is wanted, counted from 1; None: from the beginning."""
    limit: int | None = None
    """So many lines; None: to the end."""


class WriteTextFile(Struct, frozen=True, kw_only=True):
    """Put a text file beneath the session's directory. Leads to FileWritten or ServiceRefused."""

    key: str
    path: str
    content: str


class StartTerminal(Struct, frozen=True, kw_only=True):
    """Run a command. Leads to TerminalStarted, and later TerminalExited, or to ServiceRefused."""

    key: str
    """The terminal's, unique in its session."""
    command: str
    """A program; without arguments, words for a shell."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str


class EndTerminal(Struct, frozen=True, kw_only=True):
    """End a command and all that it started; its TerminalExited follows."""

    key: str


Service = ReadTextFile | WriteTextFile | StartTerminal | EndTerminal


# --- What became of it ---


class FileRead(Struct, frozen=True, kw_only=True):
    """The lines that were wanted."""

    key: str
    content: str


class FileWritten(Struct, frozen=True, kw_only=True):
    """The file is in its place."""

    key: str
    is_new: bool
    """There was none before."""
    before: str | None = None
    """What was in it; None: there was none, or it was no text, or too long to be kept."""


class ServiceRefused(Struct, frozen=True, kw_only=True):
    """It was not done."""

    key: str
    reason: Literal["not_found", "invalid", "failed"]
    """There is no such file; it is asked for what may not be; or it did not work."""
    message: str


class TerminalStarted(Struct, frozen=True, kw_only=True):
    """The command runs."""

    key: str


class TerminalOutput(Struct, frozen=True, kw_only=True):
    """The command has printed this."""

    key: str
    text: str


class TerminalExited(Struct, frozen=True, kw_only=True):
    """The command is over, and nothing of what it started is left."""

    key: str
    code: int | None = None
    signal: str | None = None
    """The signal that ended it, e.g. `SIGTERM`."""


ServiceEvent = (
    FileRead | FileWritten | ServiceRefused | TerminalStarted | TerminalOutput | TerminalExited
)
