"""What the real Claude Code asks leave for, and what it hears."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.scripts import bash, tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import output, results
from tests.testing.story import Event, of_type, outcome, said


def asked_for(events: list[Event]) -> list[str]:
    """The commands that a person was asked for, and nobody else has answered."""
    ours = {each["permission_id"] for each in of_type(events, "permission.resolved")
            if (each.get("approver") or {}).get("rule")}  # fmt: skip
    return [
        each["metadata"]["command"]
        for each in of_type(events, "permission.requested")
        if each["permission_id"] not in ours
    ]


def allow(live: Live, reply: str, times: int = 1) -> None:
    """Answer the next requests alike."""
    for _ in range(times):
        live.reply(live.until("permission.requested"), reply)


def test_always_allows_what_is_alike_and_nothing_else(claude: Bench) -> None:
    commands = ["touch one", "touch two", "touch ../out", "touch x; rm one", "rm one"]
    live = claude.session(*(calls(bash(command)) for command in commands), "Done.")
    live.send("Make them")
    allow(live, "always")
    allow(live, "reject", times=3)
    live.until("turn.ended")
    events = live.conforms()
    assert asked_for(events) == ["touch one", "touch ../out", "touch x; rm one", "rm one"]
    assert of_type(events, "permission.requested")[0]["metadata"]["rule"] == "Bash(touch *)"
    assert of_type(events, "permission.resolved")[0]["status"] == "accept_for_session"
    assert sorted(path.name for path in live.workspace.iterdir()) == ["one", "two"]
    assert live.info["permissionMode"] == "default"


def test_always_allows_an_odd_command_word_for_word(claude: Bench) -> None:
    loop = "for i in 1 2; do touch f$i; done"
    live = claude.session(calls(bash(loop)), calls(bash(loop)), calls(bash("touch g")), "Done.")
    live.send("Make them")
    allow(live, "always")
    resolved = live.until("permission.resolved")
    again = live.until("permission.resolved")
    assert resolved["data"]["status"] == "accept_for_session"
    assert again["data"]["approver"]["rule"] == f"always:Bash({loop})"
    allow(live, "reject")
    live.until("turn.ended")
    assert asked_for(live.conforms()) == [loop, "touch g"]
    assert sorted(path.name for path in live.workspace.iterdir()) == ["f1", "f2"]


def test_always_allows_writing_in_the_workspace_only(claude: Bench) -> None:
    live = claude.session()
    names = ["a.txt", "b.txt", "../out.txt", ".claude/settings.json"]
    paths = [str(live.workspace / name) for name in names]
    writes = [calls(tool("Write", file_path=path, content="x\n")) for path in paths]
    live.model.add(*writes, "Done.")
    live.send("Write them")
    allow(live, "always")
    live.until("permission.resolved")
    assert live.until("permission.resolved")["data"]["approver"]["rule"].startswith("always:Write(")
    allow(live, "reject", times=2)
    live.until("turn.ended")
    events = live.conforms()
    assert [given["status"] for given in results(events)] == ["completed"] * 2 + ["failed"] * 2
    assert sorted(path.name for path in live.workspace.iterdir()) == ["a.txt", "b.txt"]
    assert live.info["permissionMode"] == "default"


def test_another_input_is_allowed_instead(claude: Bench) -> None:
    live = claude.session(calls(bash("touch wrong")), "Done.")
    live.send("Make it")
    asked = live.until("permission.requested")
    changed = {"command": "touch right", "description": "Better"}
    live.reply(asked, "once", updatedInput=changed)
    live.until("turn.ended")
    assert [path.name for path in live.workspace.iterdir()] == ["right"]
    events = live.conforms()
    assert of_type(events, "permission.resolved")[0]["metadata"]["updated_input"] == changed
    assert results(events)[0]["command"] == "touch right"


def outside(live: Live, *names: str) -> dict[str, Any]:
    """A step that reads files outside of the workspace, all at once; each is asked for."""
    paths = [live.home / name for name in names]
    for path in paths:
        path.write_text(f"{path.name}\n")
    return calls(*(tool("Read", file_path=str(path)) for path in paths))


def test_two_requests_are_answered_in_any_order(claude: Bench) -> None:
    live = claude.session()
    live.model.add(outside(live, "one", "two"), "Done.")
    live.send("Read both")
    first, second = live.until("permission.requested"), live.until("permission.requested")
    assert live.info["pendingCount"] == 2
    live.reply(second, "once")
    live.reply(first, "reject")
    live.until("turn.ended")
    one, two = results(live.conforms())
    assert (one["status"], two["status"]) == ("failed", "completed")
    assert "two" in output(two)


def test_an_interrupt_withdraws_what_was_asked(claude: Bench) -> None:
    live = claude.session()
    live.model.add(outside(live, "one", "two"), "Not that.")
    live.send("Read both")
    first = live.until("permission.requested")
    live.until("permission.requested")
    live.interrupt()
    live.until("turn.ended")
    events = live.conforms()
    assert outcome(events) == "interrupted"
    withdrawn = of_type(events, "permission.resolved")
    assert [(each["status"], each["metadata"]["reason"]) for each in withdrawn] == [
        ("reject", "interrupt")
    ] * 2
    late = live.post(f"/permissions/{first['data']['permission_id']}/reply", {"reply": "once"})
    assert late.status == 409
    assert said(live.turn("And now?")) == ["Not that."]
    live.conforms()
