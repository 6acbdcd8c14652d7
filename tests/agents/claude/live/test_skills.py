"""Skills that a session is given, as the real Claude Code finds and loads them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.agents.claude.live.scripts import tool
from tests.agents.live import Bench, calls
from tests.agents.skills import local, skill, tree
from tests.testing.story import items, outcome, parts


def test_a_skill_of_the_session_is_listed_and_loaded(claude: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    skill(tmp_path / "given" / "other", "Greets nobody at all.", "Say nothing.")
    before = tree(tmp_path / "given")
    live = claude.session(
        calls(tool("Skill", skill="session:greet")),
        {"text": "quaxolotl"},
        skills=local(tmp_path / "given", skills=["greet"]),
    )
    events = live.turn("Greet")
    assert outcome(events) == "completed"
    first, second = (msgspec.json.encode(request.body) for request in live.model.mains)
    assert b"session:greet: Greets the zebra quartet." in first
    assert b"Greets nobody at all." not in first
    assert b"Say quaxolotl." not in first
    assert b"Say quaxolotl." in second
    (result,) = items(events, "tool_result")
    assert (result["status"], "session:greet" in parts(result, "tool_result")[0]["output"]) == (
        "completed",
        True,
    )
    assert tree(tmp_path / "given") == before
    assert tree(live.workspace) == []
    live.conforms()


def test_a_skill_that_is_not_there_makes_no_session(claude: Bench, tmp_path: Path) -> None:
    body = {"agent": "claude", "directory": str(tmp_path), "skills": local(tmp_path / "gone")}
    reply = claude.daemon.request("POST", "/sessions/no-skill", body)
    assert (reply.status, reply.json["details"]) == (400, {"field": "skills"})
    assert str(tmp_path / "gone") in reply.json["detail"]
    body["skills"] = {"sources": [{"type": "git", "source": str(tmp_path / "gone.git")}]}
    reply = claude.daemon.request("POST", "/sessions/no-skill", body)
    assert (reply.status, reply.json["title"]) == (500, "Install Failed")
    assert claude.daemon.request("GET", "/sessions/no-skill").status == 404
