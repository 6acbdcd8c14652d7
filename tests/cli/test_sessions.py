"""Lists of sessions and agents, and commands about a whole session."""

from __future__ import annotations

import json

import pytest

from dragoman.cli.sessions import age
from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned, agent_info, session_info

ESCAPES = "\x1b]0;owned\x07\x1b[31m[bold]red[/bold]\x1b[0m"


def test_ls_shows_a_table(daemon: Canned, terminal: Terminal) -> None:
    waiting = session_info("s2", status="waiting", pendingCount=2, title="fix the tests")
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": [session_info(), waiting]}))
    header, first, second = terminal.run("ls").stdout.splitlines()
    assert header.split() == ["ID", "AGENT", "STATUS", "EVENTS", "AGE", "TITLE"]
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
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info(status="running")))
    daemon.on(method, path, Answer(204))
    assert terminal.run(command, "s1").stdout == f"s1 {word}\n"
    assert json.loads(terminal.run(command, "s1", "--json").stdout) == {
        "sessionId": "s1",
        word: True,
    }
    done = [(seen.method, seen.path) for seen in daemon.seen if seen.method != "GET"]
    assert done == [(method, path)] * 2


def test_interrupting_an_idle_session_says_that_nothing_was_running(
    daemon: Canned, terminal: Terminal
) -> None:
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info()))
    daemon.on("POST", "/v1/sessions/s1/interrupt", Answer(204))
    assert terminal.run("interrupt", "s1").stdout == "s1: nothing was running\n"
    assert json.loads(terminal.run("interrupt", "s1", "--json").stdout) == {
        "sessionId": "s1",
        "interrupted": False,
    }


def test_a_session_is_changed_and_told(daemon: Canned, terminal: Terminal) -> None:
    changed = session_info(title="Mine", model="big", permissionMode="plan")
    daemon.on("PATCH", "/v1/sessions/s1", Answer(body=changed))
    flags = ("--title", "Mine", "--model", "big", "--permission-mode", "plan")
    told = terminal.run("set", "s1", *flags).stdout
    assert told == "s1: title Mine, model big, mode build, permission mode plan\n"
    wanted = {"title": "Mine", "model": "big", "permissionMode": "plan"}
    assert daemon.seen[0].json() == wanted
    assert json.loads(terminal.run("set", "s1", "--title", "", "--json").stdout) == changed
    assert "say what to change" in terminal.run("set", "s1", code=2).stderr


def test_models_are_listed_with_the_modes(daemon: Canned, terminal: Terminal) -> None:
    big = {"id": "big", "name": "Big", "variants": ["low", "high"], "defaultVariant": "high"}
    models = {"models": [big, {"id": "small"}], "defaultModel": "big"}
    modes = [{"id": "plan", "name": "Plan", "description": "Only looks."}]
    daemon.on("GET", "/v1/agents/mock/models", Answer(body=models))
    daemon.on("GET", "/v1/agents/mock/modes", Answer(body={"modes": modes}))
    assert terminal.run("models", "mock").stdout == (
        "ID     VARIANTS   NAME\n"
        "big    low high*  Big (default)\n"
        "small\n"
        "\n"
        "Modes:\n"
        "  plan: Only looks.\n"
    )
    told = json.loads(terminal.run("models", "mock", "--refresh", "--json").stdout)
    assert told == {**models, "modes": modes}
    assert daemon.seen[-2].query == {"refresh": "true"}


def test_agents_are_listed(daemon: Canned, terminal: Terminal) -> None:
    agent = agent_info("mock", "Mock", credentialsAvailable=False, version="1.2")
    daemon.on("GET", "/v1/agents", Answer(body={"agents": [agent]}))
    _, row = terminal.run("agents").stdout.splitlines()
    assert row.split() == ["mock", "Mock", "yes", "1.2", "no"]
    assert json.loads(terminal.run("agents", "--json").stdout) == {"agents": [agent]}


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (200_000, "2d")]
)
def test_age_is_told_in_one_unit(seconds: int, shown: str) -> None:
    assert age(0, seconds * 1000) == shown
