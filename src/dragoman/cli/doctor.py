"""`dragoman doctor`: what is in order, what is not, and what to do about it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, console, say, settings_of_machine
from dragoman.cli.exit_codes import ERROR, reporting
from dragoman.cli.sanitize import line
from dragoman.errors import DragomanError, TokenInvalid

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.http import AgentInfo, AgentList
    from dragoman.settings import Settings

LEAST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 100 * 1024 * 1024
LOW_FREE_BYTES = 1024 * 1024 * 1024

State = Literal["ok", "note", "broken"]


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    advice: str | None = None


def doctor(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check everything that Dragoman needs, and say what to do."""
    with reporting(as_json):
        checks = list(_checks(settings_of_machine(data_dir), url))
    if as_json:
        say({"ok": not _is_broken(checks), "checks": [_as_json(check) for check in checks]})
    else:
        _show(checks)
    if _is_broken(checks):
        raise typer.Exit(ERROR)


def _as_json(check: Check) -> dict[str, Any]:
    fields = check._asdict()
    return {"found" if name == "detail" else name: value for name, value in fields.items()}


def _is_broken(checks: list[Check]) -> bool:
    return any(check.state == "broken" for check in checks)


def _checks(settings: Settings, url: str | None) -> Iterator[Check]:
    folder = Path(settings.data_dir)
    yield _python()
    yield _tool("node", "install Node.js for the agents that come from npm")
    yield _tool("npm", "install npm (it comes with Node.js): agents are installed with it")
    reached, agents = _daemon(settings, url)
    yield from _agents(agents or _agents_here(settings))
    yield from _adapters()
    yield from _data_folder(folder)
    yield from _modes(folder, settings.token_file)
    yield from _store(folder)
    yield _disk(folder)
    yield reached


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= LEAST_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "broken", found, "install Python 3.11 or newer")


def _tool(name: str, advice: str) -> Check:
    if found := shutil.which(name):
        return Check(name, "ok", found)
    return Check(name, "note", "not found", advice)


def _adapters() -> Iterator[Check]:
    """Adapters of installed packages that cannot be used; there is nothing to say of the others."""
    from dragoman.agents import load_problems

    for problem in load_problems():
        advice = "update or uninstall the package it comes from; all other agents work"
        yield Check("adapter", "broken", problem, advice)


def _agents(found: AgentList) -> Iterator[Check]:
    """The agents, as the daemon sees them where one runs: its environment is what counts."""
    from dragoman.cli.agents import lacking

    for agent in found.agents:
        if agent.source == "catalogue" and not agent.installed:
            continue  # that somebody could install it is no news
        check = _agent(agent)
        missing = lacking(agent) if agent.installed and not agent.problem else None
        if missing:
            check = Check(check.name, "note", f"{check.detail}, no credentials", missing)
        yield check


def _agent(agent: AgentInfo) -> Check:
    from dragoman.agents import adapters

    name = f"agent {agent.id}"
    if agent.problem:
        return Check(name, "broken", f"{agent.version} at {agent.path}", agent.problem)
    known = adapters().get(agent.id)
    interpreter = known.package.interpreter if known and known.package else None
    if agent.installed:
        found = f"{agent.version or 'version unknown'} at {agent.path}"
        if agent.interpreter:
            return Check(name, "ok", f"{found}, run by {agent.interpreter}")
        if interpreter is not None and agent.version is None:
            advice = (
                f"it does not tell its version, perhaps because node is too old for it; dragoman "
                f"agents install {agent.id} brings Node.js {interpreter.version} with it"
            )
            return Check(name, "note", found, advice)
        return Check(name, "ok", found)
    if agent.source in ("settings", "api"):
        advice = "correct its command in the settings, or put the program on the daemon's PATH"
    elif known is None or known.package is not None:
        own = f", with Node.js {interpreter.version} of its own" if interpreter else ""
        advice = f"dragoman agents install {agent.id}{own}; a session does it by itself"
    else:
        advice = f"install {agent.name}, or set DRAGOMAN_{agent.id.upper()}_COMMAND"
    return Check(name, "note", "not installed", advice)


def _agents_here(settings: Settings) -> AgentList:
    import asyncio

    from dragoman.agents import adapters
    from dragoman.http.responses import agent_list
    from dragoman.runtime.provision.agents import Agents
    from dragoman.runtime.provision.versions import DEADLINE_S

    agents = Agents(adapters(), settings)
    try:
        return asyncio.run(agent_list(agents, os.environ, DEADLINE_S))
    finally:
        agents.stop()


def _data_folder(folder: Path) -> Iterator[Check]:
    nearest = _nearest(folder)
    if not nearest.is_dir():
        yield Check("data folder", "broken", f"{nearest} is no folder", "choose another --data-dir")
    elif not os.access(nearest, os.W_OK | os.X_OK):
        advice = f"give yourself the right to write to {nearest}, or choose another --data-dir"
        yield Check("data folder", "broken", f"{nearest} is not writable", advice)
    elif nearest == folder:
        yield Check("data folder", "ok", str(folder))
    else:
        yield Check("data folder", "ok", f"{folder}, made at the first start")


def _modes(folder: Path, token_file: str | None) -> Iterator[Check]:
    token = Path(token_file) if token_file else folder / "token"
    private = [folder, token, folder / "daemon.json", folder / "agents.json"]
    exposed = [path for path in private if path.exists() and path.stat().st_mode & 0o077]
    for path in exposed:
        mode = "700" if path.is_dir() else "600"
        found = f"{path} is open to others ({path.stat().st_mode & 0o777:o})"
        yield Check("modes", "broken", found, f"chmod {mode} {shlex.quote(str(path))}")
    if folder.exists() and not exposed:
        yield Check("modes", "ok", "only you can read the data folder")


def _store(folder: Path) -> Iterator[Check]:
    if not folder.is_dir():
        return
    from dragoman.store import check, is_waiting, kept_aside

    problems = check(folder)
    for problem in problems:
        advice = "stop the daemon, copy the data folder, then start again: it keeps what is whole"
        yield Check("store", "broken", problem, advice)
    if not problems:
        yield Check("store", "ok", "whole")
    if kept := kept_aside(folder):
        found = f"set aside by a repair or a restore: {', '.join(path.name for path in kept)}"
        yield Check("store", "note", found, f"remove what you do not need from {folder}")
    if is_waiting(folder):
        found = "a restored backup takes effect when the daemon is next started"
        yield Check("store", "note", found, "start the daemon again")


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(_nearest(folder)).free
    found = f"{free // (1024 * 1024)} MiB free"
    if free < LEAST_FREE_BYTES:
        return Check("disk", "broken", found, "free some space: no event is accepted unstored")
    if free < LOW_FREE_BYTES:
        return Check("disk", "note", found, "free some space soon")
    return Check("disk", "ok", found)


def _daemon(settings: Settings, url: str | None) -> tuple[Check, AgentList | None]:
    """How the daemon is, and its agents, where it tells them."""
    from dragoman.client import Client, Unreachable

    try:
        with Client(
            url,
            settings.token,
            token_file=settings.token_file,
            data_dir=Path(settings.data_dir),
            timeout_s=5.0,
        ) as client:
            client.health()
            check = Check("daemon", "ok", f"version {client.version()} at {client.url}")
            return check, _agents_there(client)
    except Unreachable as error:
        return Check("daemon", "note", f"none at {error.details['url']}", "dragoman serve"), None
    except TokenInvalid:
        advice = "set DRAGOMAN_TOKEN or DRAGOMAN_TOKEN_FILE to the daemon's token"
        return Check("daemon", "broken", "it refuses the token", advice), None
    except DragomanError as error:
        advice = "look into its log, then start it again"
        return Check("daemon", "broken", str(error), advice), None


def _agents_there(client: Client) -> AgentList | None:
    try:
        return client.agents()
    except DragomanError:
        return None  # then what is on this machine is the next best answer


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def _show(checks: list[Check]) -> None:
    from rich.text import Text

    terminal = console()
    marks = {"ok": ("✓", "green"), "note": ("·", "yellow"), "broken": ("✗", "bold red")}
    for check in checks:
        mark, style = marks[check.state]
        shown = Text.assemble((mark, style), f" {check.name}: {line(check.detail, 200)}")
        terminal.print(shown, soft_wrap=True)
        if check.advice:
            terminal.print(Text(f"    {line(check.advice, 300)}"), soft_wrap=True)
