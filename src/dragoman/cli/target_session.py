"""The session that `dragoman send` talks to: found or created."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from dragoman.cli.sanitize import line
from dragoman.errors import Conflict, DragomanError, SessionExists, SessionNotFound

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.commands import PermissionMode
    from dragoman.schema.http import SessionInfo

PATIENCE_S = 1.0
"""A create that takes longer is explained."""
EVERY_S = 10.0
"""A log hears of it this often."""


class NewSession(NamedTuple):
    """What a new session shall be."""

    agent: str
    directory: str | None = None
    model: str | None = None
    variant: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None
    env: tuple[str, ...] = ()


def ensure(client: Client, session: str, wish: NewSession) -> None:
    """Find the session, or make it. Raise where its id was used, or it has another agent."""
    try:
        found = client.get(session)
    except SessionNotFound:
        _create(client, session, wish)
        return
    if found.agent != wish.agent:
        raise Conflict(
            f"session {session!r} is one of {found.agent}, not of {wish.agent}: leave --agent out "
            "to go on with it, or choose another id for a new session"
        )
    if ignored := _ignored(found, wish):
        names = ", ".join(ignored)
        typer.echo(
            f"{session} exists: only a new session takes {names}; `dragoman set` changes one",
            err=True,
        )


def _create(client: Client, session: str, wish: NewSession) -> None:
    from dragoman.schema.http import CreateSession

    # On another machine this folder need not exist; there the daemon chooses.
    here = wish.directory or ("." if client.is_local else None)
    wanted = CreateSession(
        agent=wish.agent,
        directory=str(Path(here).expanduser().absolute()) if here else None,
        model=wish.model,
        variant=wish.variant,
        agent_mode=wish.mode,
        permission_mode=wish.permission_mode,
        env=environment(wish.env) or None,
    )
    try:
        with _explained(client, wish.agent):
            client.create(wanted, session)
    except SessionExists as error:
        if not _exists(client, session):
            told = f"the id {session!r} was used before and removed; choose another id"
            raise Conflict(told) from error
        # Somebody was faster: then this is their session.
        ensure(client, session, wish)


def _exists(client: Client, session: str) -> bool:
    try:
        client.get(session)
    except SessionNotFound:
        return False
    return True


def environment(given: tuple[str, ...]) -> dict[str, str]:
    """Variables as `NAME=VALUE`, or `NAME` alone with its value here."""
    found: dict[str, str] = {}
    for each in given:
        name, is_given, value = each.partition("=")
        if not is_given and name not in os.environ:
            raise typer.BadParameter(
                f"{name} is not set here; write {name}=VALUE", param_hint="--env"
            )
        found[name] = value if is_given else os.environ[name]
    return found


def _ignored(found: SessionInfo, wish: NewSession) -> list[str]:
    """The options that do not say what the session is."""
    directory = wish.directory and str(Path(wish.directory).expanduser().absolute())
    pairs = (
        ("--dir", directory, found.directory),
        ("--model", wish.model, found.model),
        ("--variant", wish.variant, found.variant),
        ("--mode", wish.mode, found.agent_mode),
        ("--permission-mode", wish.permission_mode, found.permission_mode),
        ("--env", wish.env or None, None),
    )
    return [name for name, wished, is_so in pairs if wished is not None and wished != is_so]


# --- While it takes long ---


@contextmanager
def _explained(client: Client, agent: str) -> Iterator[None]:
    """Say on stderr what takes so long, once it does."""
    done = threading.Event()
    thread = threading.Thread(target=_tell, args=(client, agent, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(PATIENCE_S)


def _tell(client: Client, agent: str, done: threading.Event) -> None:
    since = time.monotonic()
    if done.wait(PATIENCE_S):
        return
    words = _reason(client, agent)
    lives = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    while not done.is_set():
        shown = f"{words} {time.monotonic() - since:.0f} s"
        sys.stderr.write(f"\r{shown}\x1b[K" if lives else f"{shown}\n")
        sys.stderr.flush()
        done.wait(1.0 if lives else EVERY_S)
    if lives:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _reason(client: Client, agent: str) -> str:
    """Why a create takes long: mostly an agent has to be installed."""
    try:
        missing = [each for each in client.agents().agents if not each.installed]
    except DragomanError:
        missing = []
    name = next((each.name for each in missing if each.id == agent), None)
    return f"installing {line(name)}…" if name else "making the session…"
