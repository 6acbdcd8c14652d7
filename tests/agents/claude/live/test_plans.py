"""The plan mode of the real Claude Code, from the first look to leave."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from tests.agents.claude.live.heard import told
from tests.agents.claude.live.scripts import bash, tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import results
from tests.testing.story import Event, of_type, said

PLAN = "# Plan\n\n1. Look.\n2. Leap 🐉.\n"


def propose(claude: Bench, *then: object) -> tuple[Live, Event]:
    """A session that has made a plan, and the question whether to carry it out."""
    live = claude.session({**calls(bash("ls")), "gate_before": "ready"}, permissionMode="plan")
    live.send("Plan it")
    request = live.model.wait_for_request(1)
    named = re.search(r"/[\w./-]+/plans/[\w-]+\.md", msgspec.json.encode(request.body).decode())
    assert named is not None
    live.model.add(
        calls(tool("Write", file_path=named[0], content=PLAN)),
        calls(tool("ExitPlanMode")),
        *then,  # type: ignore[arg-type]
    )
    live.model.open("ready")
    asked = live.until("question.requested")
    assert Path(named[0]).read_text() == PLAN
    return live, asked


def test_a_plan_is_approved(claude: Bench) -> None:
    live, asked = propose(claude, calls(bash("touch leapt")), "Leapt.")
    assert asked["data"]["prompt"].strip() == PLAN.strip()
    assert asked["data"]["options"] == ["Approve", "Keep planning"]
    assert (asked["source"], asked["synthetic"]) == ("daemon", True)
    assert asked["data"]["metadata"]["call_id"]
    live.answer(asked, ["Approve"])
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    events = live.conforms()
    assert said(events) == ["Leapt."]
    assert (live.workspace / "leapt").exists()
    modes = [each.get("permission_mode") for each in of_type(events, "session.updated")]
    assert [mode for mode in modes if mode] == ["default"]
    assert live.info["permissionMode"] == "default"
    assert of_type(events, "question.resolved")[0]["response"] == "Approve"
    assert [path.name for path in live.workspace.iterdir()] == ["leapt"]


def test_a_plan_is_sent_back_with_a_wish(claude: Bench) -> None:
    live, asked = propose(claude, "I will think again.")
    live.answer(asked, ["Leap twice."])
    live.until("turn.ended")
    assert "Leap twice." in told(live.model.mains[-1])
    events = live.conforms()
    assert said(events) == ["I will think again."]
    assert results(events)[-1]["status"] == "failed"
    assert live.info["permissionMode"] == "plan"


def test_nothing_is_changed_while_planning(claude: Bench) -> None:
    live = claude.session(permissionMode="plan")
    path = live.workspace / "a.txt"
    live.model.add(calls(tool("Write", file_path=str(path), content="x")), "Not yet.")
    events = live.turn("Write it")
    assert results(events)[0]["status"] == "failed"
    assert not path.exists()
    live.conforms()


def test_a_plan_that_was_never_written_is_named_so(claude: Bench) -> None:
    live = claude.session(calls(tool("ExitPlanMode")), "Then I plan.", permissionMode="plan")
    live.send("Go")
    asked = live.until("question.requested")
    assert "no plan" in asked["data"]["prompt"]
    live.answer(asked, ["Keep planning"])
    live.until("turn.ended")
    assert "Keep planning" in told(live.model.mains[-1])
    live.conforms()
