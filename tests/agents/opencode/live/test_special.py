"""What only OpenCode does: loops, subagents with sessions of their own, a server for many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.agents.opencode import probes
from tests.agents.live import Bench, Live, alone, calls
from tests.agents.opencode.live.agent import OPENCODE, servers
from tests.agents.results import called, file_of, result
from tests.agents.watch import failed_with, goes_on, kill, outcomes, statuses
from tests.cases.common import eventually
from tests.testing.story import items, of_type, outcome, parts, said


def beside(bench: Bench, live: Live, name: str, **create: Any) -> Live:
    """A session at the same server, in another directory."""
    directory = live.folder / name
    directory.mkdir()
    return bench.another(live.model, folder=live.folder, directory=str(directory), **create)


def test_a_stream_that_ends_without_a_reason_is_a_loop_that_is_stopped(opencode: Bench) -> None:
    live = opencode.session({"text": ["Once ", "upon"], "end": "cut", "times": 100})
    error = failed_with(live.turn("Tell me"))
    assert error["code"] in ("loop", "connection_failed", "retries_exhausted")
    goes_on(live)


def test_an_unknown_model_is_told_once(opencode: Bench) -> None:
    live = opencode.session("Never.", model="scripted/none")
    error = failed_with(live.turn("Hi"))
    assert "scripted/none" in error["message"]
    live.patch(model=probes.MODEL)
    goes_on(live)


def test_a_subagent_works_in_a_session_of_its_own(opencode: Bench) -> None:
    live = opencode.session(
        calls(dict(probes.delegate("Touch it"))),
        calls(opencode.agent.shell("touch made")),
        "Touched.",
        "All done.",
    )
    live.send("Let somebody touch it")
    request = live.until("permission.requested")
    child = request["data"]["metadata"]["subagent_id"]
    live.reply(request, "once")
    live.until("turn.ended")
    events = live.conforms()
    (task,) = called(events, "task")
    (bash,) = called(events, "bash")
    assert bash["subagent_id"] == child
    assert "subagent_id" not in task
    (status,) = statuses(events, "subagent")
    assert (status["subagent_id"], status["parent_id"]) == (child, task["item_id"])
    assert said(events) == ["Touched.", "All done."]
    assert (live.workspace / "made").exists()
    assert outcomes(events) == ["completed"]


def test_a_file_is_written_edited_and_read(opencode: Bench) -> None:
    live = opencode.session(permissionMode="bypass")
    path = str(live.workspace / "a.txt")
    edit = {"tool": "edit", "input": {"filePath": path, "oldString": "one", "newString": "two"}}
    live.model.add(
        calls(opencode.agent.write(path, "one\n")),
        calls({"tool": "read", "input": {"filePath": path}}),
        calls(edit),
        "Done.",
    )
    events = live.turn("Write it")
    found = [file_of(result(events, call)) for call in items(events, "tool_call")]
    assert [(each["path"], each["action"]) for each in found] == [
        (path, "write"), (path, "read"), (path, "patch"),
    ]  # fmt: skip
    assert "+one" in found[0]["diff"]
    assert "-one\n+two" in found[2]["diff"]
    live.conforms()


def test_a_list_of_things_to_do_is_a_plan(opencode: Bench) -> None:
    todos = [{"content": "Look", "status": "completed", "priority": "high"},
             {"content": "Leap", "status": "pending", "priority": "low"}]  # fmt: skip
    live = opencode.session(calls({"tool": "todowrite", "input": {"todos": todos}}), "Noted.")
    (plan,) = statuses(live.turn("Plan"), "plan")
    assert [each["content"] for each in parts(plan, "json")[0]["json"]["todos"]] == ["Look", "Leap"]
    live.conforms()


def test_always_holds_for_the_session_that_said_so_and_no_other(opencode: Bench) -> None:
    touch = calls(opencode.agent.shell("touch made"))
    live = opencode.session(touch, "One.", touch, "Two.", touch, "Three.")
    other = opencode.another(live.model, folder=live.folder)
    live.send("Touch")
    live.reply(live.until("permission.requested"), "always")
    live.until("turn.ended")
    other.send("Touch")
    other.reply(other.until("permission.requested"), "reject")
    other.until("turn.ended")
    assert len(servers(live)) == 1
    again = live.turn("Again")
    assert of_type(again, "permission.resolved")[0]["approver"]["rule"] == "always:bash: touch *"
    live.conforms()
    other.conforms()


def test_a_server_that_dies_costs_the_turns_of_all_and_no_session(opencode: Bench) -> None:
    live = opencode.session({"text": ["One ", "two"], "gate": "never", "times": 2})
    other = beside(opencode, live, "other")
    live.send("Count")
    other.send("Count")
    live.model.wait_for_request(2, timeout_s=60)
    (pid,) = servers(live)
    kill(live)
    for each in (live, other):
        each.until("turn.ended")
        assert outcome(each.events()) == "failed"
    live.model.script("I am back.", "Me too.")
    assert [said(each.turn("And now?")) for each in (live, other)] == [["I am back."], ["Me too."]]
    assert servers(live) != [pid]
    live.conforms()
    other.conforms()


def test_what_is_deleted_here_is_deleted_there(opencode: Bench) -> None:
    live = opencode.session("Hello.", "Never.")
    native = live.turn("Hi")[-1]["native_session_id"]
    assert opencode.daemon.request("DELETE", live.path).status == 204
    other = beside(opencode, live, "other", resume={"nativeSessionId": native})
    other.send("Are you there?")
    end = other.until("session.ended")
    assert native in end["data"]["message"]


def test_a_conversation_is_compacted(opencode: Bench) -> None:
    full = {"text": "One.", "usage": {"input": 199_000, "output": 10}}
    live = opencode.session(full, "Two.", "Three.")
    live.turn("1")
    live.turn("2")
    events = live.conforms()
    assert statuses(events, "compacting")
    assert statuses(events, "compacted")
    assert set(outcomes(events)) == {"completed"}


def test_a_server_is_shown_with_its_memory_and_ends_when_nobody_needs_it(tmp_path: Path) -> None:
    with alone(OPENCODE, tmp_path, "Hello.", DRAGOMAN_IDLE_PROCESS_S="1") as live:
        live.turn("Hi")
        (server,) = live.daemon.get("/processes")["processes"]
        assert (server["agent"], server["sessionIds"]) == ("opencode", [live.id])
        assert server["memoryBytes"] > 100 << 20
        assert live.post("/terminate").status == 204
        eventually(lambda: live.daemon.get("/processes")["processes"] == [], "the server ends")
        assert servers(live) == []
