"""OpenCode's agents are modes, those too that a person has made."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.agents.live import Bench, chosen, command
from tests.agents.opencode.live.agent import OPENCODE
from tests.daemon import running
from tests.testing.story import of_type, outcome, said

POET = """---
description: Writes verse only
mode: primary
---
You write nothing but verse.
"""


def with_poet(url: str, home: Path) -> dict[str, str]:
    """OpenCode's environment, with an agent of the person's own."""
    env = OPENCODE.environ(url, home)
    folder = Path(env["XDG_CONFIG_HOME"]) / "opencode" / "agent"
    folder.mkdir(parents=True)
    (folder / "poet.md").write_text(POET)
    return env


def test_an_agent_that_a_person_has_made_is_a_mode(opencode: Bench) -> None:
    live = opencode.session("Roses.", environ=with_poet, agentMode="poet")
    assert said(live.turn("Go")) == ["Roses."]
    (request,) = live.model.mains
    assert "nothing but verse" in msgspec.json.encode(request.body).decode()
    live.conforms()


def test_an_agent_of_the_project_is_a_mode_of_a_running_session(opencode: Bench) -> None:
    live = opencode.session("One.", "Two.")
    folder = live.workspace / ".opencode" / "agent"
    folder.mkdir(parents=True)
    (folder / "poet.md").write_text(POET)
    live.turn("Go")
    live.patch(agentMode="poet")
    live.turn("Go on")
    first, second = (msgspec.json.encode(each.body).decode() for each in live.model.mains)
    assert ("nothing but verse" in first, "nothing but verse" in second) == (False, True)
    live.conforms()


def test_an_agent_that_nobody_has_made_is_told_once(opencode: Bench) -> None:
    live = opencode.session("Never.", agentMode="nobody")
    events = live.turn("Go")
    (error,) = of_type(events, "error")
    assert "Agent not found" in error["message"]
    assert "build" in error["message"]
    assert outcome(events) == "failed"
    live.patch(agentMode="build")
    assert said(live.turn("And now?")) == ["Never."]
    live.conforms()


def test_agents_are_listed_as_modes(tmp_path: Path) -> None:
    command(OPENCODE.adapter)
    env = {**OPENCODE.environ("http://127.0.0.1:9", tmp_path), **chosen(OPENCODE.adapter)}
    with running(tmp_path / "data", env=env) as daemon:
        modes = daemon.get("/agents/opencode/modes")["modes"]
    assert [mode["id"] for mode in modes] == ["build", "plan"]
    assert all(mode["description"] for mode in modes)
