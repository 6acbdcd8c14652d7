"""What becomes of a thread: forked, half begun, deleted."""

from __future__ import annotations

from tests.agents.codex.live.scripts import run
from tests.agents.live import Bench, calls
from tests.agents.watch import done, ended, heard, kill
from tests.cases.common import eventually
from tests.testing.story import items, said


def test_a_fork_may_write_in_its_workspace(codex: Bench) -> None:
    live = codex.session("Hello.", calls(run("touch here.txt")), "Touched.")
    live.turn("Hi")
    resume = {"sessionId": live.id, "fork": True}
    other = codex.another(live.model, folder=live.folder, resume=resume)
    other.send("Touch it")
    other.reply(other.until("permission.requested"), "once")
    other.until("turn.ended")
    (result,) = items(other.events(), "tool_result")
    assert (result["status"], result["exit_code"]) == ("completed", 0)
    assert (live.workspace / "here.txt").exists()
    other.conforms()


def test_a_server_that_dies_before_the_first_answer_has_kept_the_message(codex: Bench) -> None:
    live = codex.session({"text": "Never.", "gate_before": "never"}, "I am back.")
    live.send("Count")
    live.model.wait_for_request()
    heard(live, done("message", role="user"))
    kill(live)
    heard(live, ended("failed"))
    assert said(live.turn("Are you there?")) == ["I am back."]
    live.conforms()


def test_a_deleted_session_leaves_an_archived_thread(codex: Bench) -> None:
    live = codex.session("Hello.")
    live.turn("Hi")
    (kept,) = live.home.rglob("rollout-*")
    assert codex.daemon.request("DELETE", live.path).status == 204
    eventually(lambda: not kept.exists(), "the thread is archived", 5)
    (archived,) = live.home.rglob("rollout-*")
    assert archived.parent.name == "archived_sessions"
