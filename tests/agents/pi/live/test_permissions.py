"""What our own extension asks before a tool of Pi's runs."""

from __future__ import annotations

from tests.agents.live import Bench, calls
from tests.agents.pi.live.scripts import bash, tool
from tests.agents.results import output, results
from tests.agents.watch import kill
from tests.testing.story import of_type


def test_an_edit_is_asked_for_with_its_diff(pi: Bench) -> None:
    edit = tool("edit", path="a.txt", edits=[{"oldText": "two", "newText": "TWO"}])
    live = pi.session(calls(edit), "Done.")
    (live.workspace / "a.txt").write_text("one\ntwo\n")
    live.send("Go")
    request = live.until("permission.requested")
    about = request["data"]["metadata"]
    assert "-two\n+TWO\n" in about["diff"]
    assert about["path"] == str(live.workspace / "a.txt")
    assert (live.workspace / "a.txt").read_text() == "one\ntwo\n"
    live.reply(request, "once")
    live.until("turn.ended")
    assert (live.workspace / "a.txt").read_text() == "one\nTWO\n"
    live.conforms()


def test_reading_is_not_asked_for(pi: Bench) -> None:
    live = pi.session(calls(tool("read", path="a.txt")), "Done.")
    (live.workspace / "a.txt").write_text("one\n")
    events = live.turn("Go")
    assert of_type(events, "permission.requested") == []
    assert [each["status"] for each in results(events)] == ["completed"]
    live.conforms()


def test_calls_side_by_side_are_asked_for_one_by_one(pi: Bench) -> None:
    live = pi.session(calls(bash("touch one"), bash("touch two")), "Done.")
    live.send("Go")
    live.reply(live.until("permission.requested"), "reject")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    events = live.conforms()
    assert [each["status"] for each in results(events)] == ["failed", "completed"]
    assert [path.name for path in live.workspace.iterdir()] == ["two"]


def test_a_session_that_began_without_asking_asks_when_it_is_told_to(pi: Bench) -> None:
    live = pi.session(
        calls(bash("touch one")), "One.", calls(bash("touch two")), "Two.", permissionMode="bypass"
    )
    assert of_type(live.turn("1"), "permission.requested") == []
    live.patch(permissionMode="default")
    live.send("2")
    live.reply(live.until("permission.requested"), "reject")
    live.until("turn.ended")
    assert [path.name for path in live.workspace.iterdir()] == ["one"]
    live.conforms()


def test_what_is_asked_is_nothing_that_a_command_can_see(pi: Bench) -> None:
    live = pi.session(calls(bash("env | grep -c DRAGOMAN_PI")), "Done.", permissionMode="bypass")
    (result,) = results(live.turn("Go"))
    assert output(result).strip() == "0"
    live.conforms()


def test_a_process_that_replaces_a_killed_one_asks_as_well(pi: Bench) -> None:
    live = pi.session("One.", calls(bash("touch two")), "Two.")
    live.turn("1")
    kill(live)
    live.send("2")
    live.reply(live.until("permission.requested"), "reject", message="Not now.")
    live.until("turn.ended")
    assert [each["reason"] for each in results(live.conforms())] == ["declined"]
