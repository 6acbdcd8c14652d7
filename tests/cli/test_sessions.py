"""Lists of sessions and agents, and commands about a whole session."""

from __future__ import annotations

import json

import msgspec
import pytest

from dragoman.cli.sessions import age
from dragoman.schema.http import AgentCapabilities
from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned, session_info

ESCAPES = "\x1b]0;owned\x07\x1b[31m[bold]red[/bold]\x1b[0m"


def test_ls_shows_a_table(daemon: Canned, terminal: Terminal) -> None:
    waiting = session_info("s2", status="waiting", pendingCount=2, title="fix the tests")
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": [session_info(), waiting]}))
    header, first, second = terminal.run("ls").stdout.splitlines()
    assert header.split() == ["ID", "AGENT", "STATUS", "TITLE", "EVENTS", "AGE"]
    assert first.split()[:3] == ["s1", "mock", "idle"]
    assert "waiting (2)" in second
    assert "fix the tests" in second


def test_ls_passes_its_filters(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": []}))
    terminal.run("ls", "--agent", "mock", "--status", "idle", "-q", "x", "--limit", "3")
    assert daemon.seen[0].query == {"agent": "mock", "status": "idle", "q": "x", "limit": "3"}


def test_ls_for_programs_is_one_document(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": [session_info()]}))
    (session,) = json.loads(terminal.run("ls", "--json").stdout)["sessions"]
    assert session == session_info()


def test_a_hostile_title_is_only_text(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": [session_info(title=ESCAPES)]}))
    shown = terminal.run("ls").stdout
    assert "[bold]red[/bold]" in shown
    assert "owned" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("command", "method", "path", "word"),
    [
        ("interrupt", "POST", "/v1/sessions/s1/interrupt", "interrupted"),
        ("terminate", "POST", "/v1/sessions/s1/terminate", "terminated"),
        ("rm", "DELETE", "/v1/sessions/s1", "removed"),
    ],
)
def test_commands_about_a_session(
    daemon: Canned, terminal: Terminal, command: str, method: str, path: str, word: str
) -> None:
    daemon.on(method, path, Answer(204))
    assert terminal.run(command, "s1").stdout == f"s1 {word}\n"
    assert json.loads(terminal.run(command, "s1", "--json").stdout) == {
        "sessionId": "s1",
        word: True,
    }
    assert [(seen.method, seen.path) for seen in daemon.seen] == [(method, path)] * 2


def test_agents_are_listed(daemon: Canned, terminal: Terminal) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(AgentCapabilities)}
    flags = dict.fromkeys(sorted(names - {"stability", "features"}), True)
    agent = {
        "id": "mock",
        "name": "Mock",
        "installed": True,
        "credentialsAvailable": False,
        "version": "1.2",
        "capabilities": {**flags, "stability": "stable", "features": {}},
    }
    daemon.on("GET", "/v1/agents", Answer(body={"agents": [agent]}))
    _, row = terminal.run("agents").stdout.splitlines()
    assert row.split() == ["mock", "Mock", "yes", "1.2", "no"]
    assert json.loads(terminal.run("agents", "--json").stdout) == {"agents": [agent]}


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (200_000, "2d")]
)
def test_age_is_told_in_one_unit(seconds: int, shown: str) -> None:
    assert age(0, seconds * 1000) == shown
