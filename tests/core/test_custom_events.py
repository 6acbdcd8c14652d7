"""Names and values of what is particular to agents and sandboxes."""

from __future__ import annotations

import pytest

from dragoman.agents import adapters
from dragoman.core.custom_events import sandbox_event, session_id_event
from dragoman.core.fold import SessionState
from dragoman.schema.events import FileChanged, SandboxFile, SandboxFileDiff, TurnStarted

NAMES = {
    "amp": "amp.session-id",
    "claude": "claude-code.session-id",
    "codex": "codex.session-id",
    "grok": "grok-build.session-id",
    "mock": "mock.session-id",
    "opencode": "opencode.session-id",
    "pi": "pi.session-id",
}


@pytest.mark.parametrize("agent", NAMES)
def test_an_agents_own_id_has_the_name_that_front_ends_know(agent: str) -> None:
    prefix = adapters()[agent].event_prefix
    name, value = session_id_event(prefix, "n-1", SessionState(agent_mode="build"))
    assert (name, value) == (NAMES[agent], {"sessionId": "n-1"})


def test_model_and_tools_are_told_where_they_are_known() -> None:
    state = SessionState(agent_mode="build", model="large", tools=("Bash", "Read"))
    _, value = session_id_event("claude-code", "n-1", state)
    assert value == {"sessionId": "n-1", "model": "large", "tools": ["Bash", "Read"]}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (
            SandboxFile(change="create", path="/w/a", timestamp=7),
            {"type": "create", "path": "/w/a", "timestamp": 7},
        ),
        (SandboxFileDiff(path="/w/a", diff="d"), {"path": "/w/a", "diff": "d"}),
        (FileChanged(diff="d"), {"path": ".", "diff": "d"}),
    ],
    ids=lambda each: getattr(each, "type", ""),
)
def test_what_happens_to_files_keeps_name_and_shape(body: SandboxFile, value: object) -> None:
    assert sandbox_event(body) == (body.type, value)


def test_whatever_else_happens_is_none_of_these() -> None:
    assert sandbox_event(TurnStarted(turn_id="t")) is None
