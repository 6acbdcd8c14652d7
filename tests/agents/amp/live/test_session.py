"""What only Amp does: rules instead of questions, a login instead of an error, a thread's name."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import pytest

from dragoman.testing.model import ScriptedModel
from tests.agents.amp.live.agent import AMP, tool
from tests.agents.handed_over import hits, survive, walled
from tests.agents.live import Bench, Live, calls, chosen, command
from tests.agents.results import output, results
from tests.agents.watch import asked, done, ended, failed_with, heard, kill, outcomes
from tests.cases.common import eventually
from tests.daemon import running
from tests.testing.story import items, of_type, outcome, said, text

SLOW = "python3 -c 'import time; time.sleep(60)'"


def with_rules(amp: Bench, tmp_path: Path, *rules: dict[str, str], **create: object) -> Live:
    """A session with rules of its own, which asks for a command and a file."""
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"amp.permissions": rules}))
    env = {"AMP_SETTINGS_FILE": str(settings)}
    return amp.session(
        calls(tool("shell_command", command="touch asked.txt")), "Done.", env=env, **create
    )


@pytest.mark.parametrize("action", ["ask", "reject"])
def test_what_a_rule_asks_for_or_rejects_is_refused(
    amp: Bench, tmp_path: Path, action: str
) -> None:
    live = with_rules(amp, tmp_path, {"tool": "shell_command", "action": action})
    events = live.turn("Touch it")
    (result,) = results(events)
    assert (result["status"], result["reason"]) == ("failed", "declined")
    assert output(result).startswith("Tool rejected by ")
    assert of_type(events, "permission.requested") == []
    assert (outcome(events), said(events)) == ("completed", ["Done."])
    assert not (live.workspace / "asked.txt").exists()
    live.conforms()


def test_bypass_asks_no_rule(amp: Bench, tmp_path: Path) -> None:
    rule = {"tool": "shell_command", "action": "ask"}
    live = with_rules(amp, tmp_path, rule, permissionMode="bypass")
    (result,) = results(live.turn("Touch it"))
    assert (result["status"], result["exit_code"]) == ("completed", 0)
    assert (live.workspace / "asked.txt").exists()
    live.conforms()


def test_without_credentials_the_turn_fails_at_once(amp: Bench) -> None:
    live = amp.session("Never.", env={"AMP_API_KEY": ""})
    error = failed_with(live.turn("Hi"))
    assert error["code"] == "no_credentials"
    assert "AMP_API_KEY" in error["message"]
    assert live.model.mains == []
    assert [text(item) for item in items(live.events(), "message", "user")] == ["Hi"]
    assert live.info["ended"] is False
    live.conforms()


def test_a_server_that_is_not_there_fails_the_turn_and_not_the_session(amp: Bench) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        live = amp.session(**AMP.unreachable(url))
        error = failed_with(live.turn("Hi"))
    assert error["code"] == "connection_failed"
    assert "[redacted:AMP_URL]" in error["message"]
    assert live.info["ended"] is False
    live.conforms()


def test_an_interrupt_is_a_signal_and_amps_own_result_ends_the_turn(amp: Bench) -> None:
    live = amp.session(calls(tool("shell_command", command=SLOW)))
    live.send("Sleep")
    heard(live, done("tool_call"))
    live.interrupt()
    heard(live, ended("interrupted"))
    (end,) = [each for each in live.events(raw=True) if each["type"] == "turn.ended"]
    assert end["source"] == "agent"
    assert end["raw"]["error"].startswith("User cancelled")
    eventually(lambda: live.processes() == [], "nothing that it started is left")
    live.conforms()


def test_a_process_that_dies_in_a_command_fails_the_turn(amp: Bench) -> None:
    live = amp.session(calls(tool("shell_command", command=SLOW)), "I am back.")
    live.send("Sleep")
    heard(live, done("tool_call"))
    kill(live)
    heard(live, ended("failed"))
    (error,) = of_type(live.events(), "error")
    assert (error["code"], error["details"]["signal"]) == ("process_exit", signal.SIGKILL)
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert "Sleep" in asked(live, 2)
    live.conforms()


def test_a_model_is_refused_and_a_mode_is_a_variant(amp: Bench) -> None:
    live = amp.session("Hello.", variant="ultra")
    body = {"agent": "amp", "model": "opus"}
    refused = amp.daemon.request("POST", "/sessions", body)
    assert (refused.status, refused.json["details"]["field"]) == (400, "model")
    (end,) = of_type(live.turn("Hi"), "turn.ended")
    assert (end["outcome"], end["stop_reason"]) == ("completed", "end_turn")
    assert live.model.mains[0].body["model"] == "ultra"
    assert re.fullmatch(r"T-[0-9a-f-]{36}", live.info["nativeSessionId"])
    live.conforms()


# --- A message is sent once ---


def once() -> dict[str, object]:
    return calls(tool("shell_command", command="echo once >> hits.txt"))


def test_a_later_message_that_amp_has_is_not_answered_again(tmp_path: Path) -> None:
    steps = ("Hello.", once(), "Done.")
    with ScriptedModel(steps) as model, walled(AMP, tmp_path, model) as (live, flag):
        live.turn("Hi")
        flag.touch()
        live.send("Do it once")
        eventually(lambda: len(model.mains) == len(steps), "the model has done it")
        survive(live, flag)
        heard(live, ended("interrupted"))
        assert outcomes(live.events()) == ["completed", "interrupted"]
        assert text(items(live.events(), "message", "user")[-1]) == "Do it once"
        model.script("I did.")
        assert said(live.turn("Did you?")) == ["I did."]
        assert hits(live) == 1
        assert asked(live, len(steps) + 1).count("Do it once") == 1
        live.conforms()


def test_a_later_message_that_never_reached_amp_is_sent_again(tmp_path: Path) -> None:
    steps = ("Hello.", once(), "Done.")
    with ScriptedModel(steps) as model, walled(AMP, tmp_path, model) as (live, flag):
        before = live.turn("Hi")[-1]
        flag.write_text("lose")
        live.send("Do it once")
        eventually(lambda: flag.read_text() == "lost", "it is on its way, and does not arrive")
        survive(live, flag)
        heard(live, ended(), after=before)
        assert outcomes(live.events()) == ["completed", "completed"]
        assert hits(live) == 1
        live.conforms()


def test_a_first_message_is_never_sent_twice(tmp_path: Path) -> None:
    with ScriptedModel((once(), "Done.")) as model, walled(AMP, tmp_path, model) as (live, flag):
        flag.touch()
        live.send("Do it once")
        eventually(lambda: len(model.mains) == 2, "the model has done it")
        survive(live, flag)
        heard(live, ended("interrupted"))
        assert text(items(live.events(), "message", "user")[0]) == "Do it once"
        model.script("A new thread.")
        assert said(live.turn("Did you?")) == ["A new thread."]
        assert hits(live) == 1
        live.conforms()


def test_no_header_of_amp_is_kept(tmp_path: Path) -> None:
    command(AMP.adapter)
    own = running(tmp_path / "data", env=chosen(AMP.adapter))
    with ScriptedModel(["Hello."]) as model, own as daemon:
        live = Live(daemon, model, tmp_path, AMP)
        live.turn("Hi")
        assert [request.headers for request in model.requests] == [{}]
        assert "scripted-key" not in json.dumps(live.events(raw=True))
        kept = (tmp_path / "data").rglob("*.log*")
        assert not [file for file in kept if b"scripted-key" in file.read_bytes()]
