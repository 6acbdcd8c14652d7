"""What the real Codex asks leave for, and what it hears."""

from __future__ import annotations

from tests.agents.codex.live.heard import asked_for, rules, told
from tests.agents.codex.live.scripts import added, configured, escalated, patch, run, tool, updated
from tests.agents.live import Bench, Live, calls
from tests.agents.results import called, results
from tests.agents.watch import kill
from tests.testing.story import items, of_type, said, text


def shell(command: str) -> str:
    """A command as Codex runs it."""
    return f"/bin/bash -lc '{command}'"


def allow(live: Live, reply: str, times: int = 1) -> None:
    """Answer the next requests alike."""
    for _ in range(times):
        live.reply(live.until("permission.requested"), reply)


def names(live: Live) -> list[str]:
    """What is in the workspace."""
    return sorted(path.name for path in live.workspace.iterdir())


def test_a_changed_command_is_refused_since_the_asked_one_would_run(codex: Bench) -> None:
    live = codex.session(calls(run("touch made")), "Done.")
    live.send("Make it")
    asked = live.until("permission.requested")
    path = f"/permissions/{asked['data']['permission_id']}/reply"
    changed = {"reply": "once", "updatedInput": {"command": "touch other"}}
    refused = live.post(path, changed)
    assert (refused.status, refused.json["details"]) == (400, {"field": "updatedInput"})
    live.reply(asked, "reject")
    live.until("turn.ended")
    assert names(live) == []


def test_always_allows_the_same_command_and_no_other(codex: Bench) -> None:
    live = codex.session(
        *(calls(run(command)) for command in ("touch a", "touch a", "touch b")), "Done."
    )
    live.send("Make them")
    allow(live, "always")
    allow(live, "reject")
    live.until("turn.ended")
    events = live.conforms()
    asked = of_type(events, "permission.requested")
    assert [each["metadata"]["command"] for each in asked] == [shell("touch a"), shell("touch b")]
    assert asked[0]["metadata"]["rule"] == f"command({shell('touch a')})"
    assert of_type(events, "permission.resolved")[0]["status"] == "accept_for_session"
    assert [given["status"] for given in results(events)] == ["completed", "completed", "failed"]
    assert names(live) == ["a"]


def test_always_still_holds_for_the_next_server(codex: Bench) -> None:
    live = codex.session(
        calls(run("touch a")),
        "Done.",
        calls(run("touch a")),
        calls(run("touch a", workdir="/")),
        calls(escalated("touch a", "Outside, please.")),
        "Again.",
    )
    live.send("Make it")
    allow(live, "always")
    live.until("turn.ended")
    kill(live)
    live.send("Make it again, here and there")
    live.until("permission.resolved")
    allow(live, "reject", times=2)
    live.until("turn.ended")
    events = live.conforms()
    assert rules(events) == [None, f"always:command({shell('touch a')})", None, None]
    here, there, beyond = asked_for(events)
    assert (here["metadata"]["cwd"], there["metadata"]["cwd"]) == (str(live.workspace), "/")
    assert beyond["metadata"]["agent_reason"] == "Outside, please."
    assert said(events) == ["Done.", "Again."]


def test_two_requests_are_answered_in_any_order(codex: Bench) -> None:
    live = codex.session(calls(run("echo one"), run("echo two")), "Done.")
    live.send("Run both")
    first = live.until("permission.requested")
    if len(of_type(live.events(), "permission.requested")) == 1:
        live.reply(first, "reject")
        live.reply(live.until("permission.requested"), "once")
    else:
        live.reply(live.until("permission.requested"), "once")
        live.reply(first, "reject")
    live.until("turn.ended")
    events = live.conforms()
    by_command = {given["command"]: given["status"] for given in results(events)}
    refused = first["data"]["metadata"]["command"]
    assert by_command.pop(refused) == "failed"
    assert list(by_command.values()) == ["completed"]


def test_a_patch_is_allowed_once_and_always(codex: Bench) -> None:
    live = codex.session(
        calls(patch(added("a.txt", "1"))),
        calls(patch(updated("a.txt", "-1", "+2"))),
        calls(patch(updated("a.txt", "-2", "+3"))),
        calls(patch(added("b.txt", "1"))),
        "Done.",
    )
    live.send("Write them")
    allow(live, "once")
    allow(live, "always")
    allow(live, "reject")
    live.until("turn.ended")
    events = live.conforms()
    path = str(live.workspace / "a.txt")
    asked = of_type(events, "permission.requested")
    assert [each["metadata"]["rule"] for each in asked[:2]] == [f"fileChange({path})"] * 2
    assert {each["metadata"]["permission"] for each in asked} == {"fileChange"}
    assert asked[2]["metadata"]["paths"] == [str(live.workspace / "b.txt")]
    assert len(asked) == 3
    assert (live.workspace / "a.txt").read_text() == "3\n"
    assert names(live) == ["a.txt"]


def test_edits_are_accepted_only_where_links_lead_into_the_workspace(codex: Bench) -> None:
    live = codex.session(permissionMode="acceptEdits")
    inside, outside = live.workspace / "own", live.folder / "elsewhere"
    for folder in (inside, outside):
        folder.mkdir()
    (live.workspace / "in").symlink_to(inside)
    (live.workspace / "out").symlink_to(outside)
    live.model.add(
        calls(patch(added("in/a.txt", "1"))), calls(patch(added("out/b.txt", "1"))), "Done."
    )
    live.send("Write both")
    live.until("permission.resolved")
    allow(live, "reject")
    live.until("turn.ended")
    assert rules(live.conforms()) == ["mode:acceptEdits", None]
    assert (inside / "a.txt").exists()
    assert not (outside / "b.txt").exists()


def test_a_patch_outside_is_refused_while_planning(codex: Bench) -> None:
    live = codex.session(permissionMode="plan")
    path = live.folder / "out.txt"
    live.model.add(calls(patch(added(str(path), "1"))), "I only plan.")
    assert rules(live.turn("Write it")) == ["mode:plan"]
    assert not path.exists()
    live.conforms()


def test_nothing_is_changed_while_planning(codex: Bench) -> None:
    live = codex.session(
        calls(patch(added("a.txt", "1"))), calls(run("touch b; echo tried")), "I only plan.",
        permissionMode="plan",
    )  # fmt: skip
    events = live.turn("Write it")
    assert rules(events) == ["mode:plan"]
    (refused,) = called(events, "fileChange")
    given = next(item for item in results(events) if item["native_item_id"] ==
                 refused["native_item_id"])  # fmt: skip
    assert (given["status"], given["reason"]) == ("failed", "declined")
    assert "plan mode: nothing is changed" in [text(item) for item in items(events, "system")]
    assert names(live) == []
    assert said(events) == ["I only plan."]
    live.conforms()


def test_more_permissions_are_asked_for(codex: Bench) -> None:
    wish = {"network": {"enabled": True}, "file_system": {"write": ["/opt/dragons"]}}
    step = calls(tool("request_permissions", permissions=wish, reason="To look it up."))
    live = codex.session(
        step, step, "Done.", environ=configured({"features.request_permissions_tool": True})
    )
    live.send("Look it up")
    asked = live.until("permission.requested")
    about = asked["data"]["metadata"]
    assert (asked["data"]["action"], about["agent_reason"]) == ("permissions", "To look it up.")
    assert about["permission"] == "permissions"
    assert about["permissions"]["network"] == {"enabled": True}
    assert about["permissions"]["fileSystem"]["write"] == ["/opt/dragons"]
    live.reply(asked, "reject")
    asked = live.until("permission.requested")
    refused = live.model.mains[-1].body["input"][-1]["output"]
    assert "dragons" not in refused
    live.reply(asked, "once")
    live.until("turn.ended")
    assert '\\"write\\":[\\"/opt/dragons\\"]' in told(live)
    assert '\\"scope\\":\\"turn\\"' in told(live)
    live.conforms()
