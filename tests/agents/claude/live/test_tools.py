"""Tools of the real Claude Code: their input as it is written, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.claude.live.heard import told
from tests.agents.claude.live.scripts import bash, tool
from tests.agents.live import Bench, calls
from tests.agents.results import called, output, result, results, streamed
from tests.testing.story import items, of_type, outcome, parts, said, text


def test_the_input_of_a_tool_streams(claude: Bench) -> None:
    written = ['{"command": ', '"echo hello",', ' "description": "Greet"}']
    live = claude.session(calls({"tool": "Bash", "raw": written}, text="Look:"), "Done.")
    events = live.turn("Greet me")
    (call,) = called(events, "Bash")
    assert parts(call, "tool_call")[0]["arguments"] == "".join(written)
    assert streamed(events, call, "arguments") == "".join(written)
    assert (call["title"], call["command"], call["cwd"]) == (
        "Greet", "echo hello", str(live.workspace)
    )  # fmt: skip
    message = items(events, "message", "assistant")[0]
    assert text(message) == "Look:"
    assert call["parent_id"] == result(events, call)["parent_id"] == message["item_id"]
    assert said(events) == ["Look:", "Done."]
    live.conforms()


def test_a_command_that_only_reads_is_not_asked_for(claude: Bench) -> None:
    live = claude.session(calls(bash("echo out; echo err >&2")), "Done.")
    events = live.turn("Run it")
    assert not of_type(events, "permission.requested")
    (given,) = results(events)
    assert output(given) == "out\nerr"
    assert (given["status"], given["exit_code"]) == ("completed", 0)
    assert streamed(events, given, "output") == "out\nerr"
    assert "out" in told(live.model.mains[1])
    live.conforms()


def test_a_command_that_fails_has_its_exit_code(claude: Bench) -> None:
    live = claude.session(calls(bash("ls nowhere")), "It is not there.")
    events = live.turn("Look")
    (given,) = results(events)
    assert (given["status"], given["exit_code"]) == ("failed", 2)
    assert output(given) == "ls: cannot access 'nowhere': No such file or directory"
    assert given["command"] == "ls nowhere"
    assert outcome(events) == "completed"
    live.conforms()


def test_long_output_is_kept_elsewhere(claude: Bench) -> None:
    live = claude.session(calls(bash("seq 1 20000")), "Many.")
    events = live.turn("Count")
    (given,) = results(events)
    kept = Path(given["output_path"]).read_text()
    assert kept.split() == [str(n) for n in range(1, 20001)]
    assert kept.startswith(output(given)[:1000])
    assert len(output(given)) < len(kept)
    assert given["truncated"] is True
    (file,) = (part for part in given["content"] if part["type"] == "file_ref")
    name = Path(file["path"]).name
    fetched = live.daemon.request("GET", f"{live.path}/files/{name}")
    assert (fetched.status, fetched.body.decode()) == (200, kept)
    live.conforms()


def test_text_between_tools_stays_in_its_message(claude: Bench) -> None:
    live = claude.session(
        {"blocks": [{"text": "First, "}, bash("echo a"), {"text": "then:"}, bash("echo b")]},
        "Done.",
    )
    events = live.turn("Run them")
    assert said(events) == ["First, then:", "Done."]
    assert [output(given) for given in results(events)] == ["a", "b"]
    live.conforms()


def test_arguments_that_are_no_json_fail(claude: Bench) -> None:
    live = claude.session(calls({"tool": "Bash", "raw": ['{"command": "ec', "ho"]}), "Sorry.")
    events = live.turn("Break it")
    (call,) = called(events, "Bash")
    (part,) = parts(call, "tool_call")
    assert part["arguments"] == '{"command": "echo'
    assert "input" not in part
    given = result(events, call)
    assert given["status"] == "failed"
    assert "could not be parsed as JSON" in output(given)
    assert "tool_use_error" not in output(given)
    assert said(events) == ["Sorry."]
    live.conforms()


def test_arguments_that_do_not_fit_fail(claude: Bench) -> None:
    live = claude.session(calls(tool("Bash", comand="echo hi")), "Sorry.")
    (given,) = results(live.turn("Break it"))
    assert given["status"] == "failed"
    assert "`command` is missing" in output(given)
    assert "exit_code" not in given
    live.conforms()


def test_a_tool_that_does_not_exist_fails(claude: Bench) -> None:
    live = claude.session(calls(tool("Nonsense", depth=3)), "There is none.")
    events = live.turn("Use it")
    (call,) = called(events, "Nonsense")
    assert json.loads(parts(call, "tool_call")[0]["arguments"]) == {"depth": 3}
    given = result(events, call)
    assert given["status"] == "failed"
    assert output(given) == "No such tool available: Nonsense"
    live.conforms()


def test_a_tool_without_input_has_empty_arguments(claude: Bench) -> None:
    live = claude.session(calls({"tool": "Nonsense", "raw": ""}), "There is none.")
    (call,) = called(live.turn("Use it"), "Nonsense")
    assert json.loads(parts(call, "tool_call")[0]["arguments"] or "{}") == {}
    live.conforms()
