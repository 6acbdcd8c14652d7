"""Commands and other tools of the real Codex."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.agents.claude.live.test_files import PNG
from tests.agents.codex.live.heard import told
from tests.agents.codex.live.scripts import run, tool, view
from tests.agents.live import Bench, Live, calls
from tests.agents.results import called, output, result, results, streamed
from tests.agents.watch import done, heard, labelled, says, statuses
from tests.testing.story import Event, items, of_type, outcome, parts, said

COMMAND = "commandExecution"
UNTIL_GO = "while [ ! -e go ]; do echo tick; sleep .05; done; echo over"


def free(codex: Bench, *steps: Any) -> Live:
    """A session that asks for nothing."""
    return codex.session(*steps, permissionMode="bypass")


def test_a_command_runs_and_the_model_hears_of_it(codex: Bench) -> None:
    live = free(codex, calls(run("echo out; echo err >&2")), "Done.")
    events = live.turn("Run it")
    (call,) = called(events, COMMAND)
    (part,) = parts(call, "tool_call")
    shown = "/bin/bash -lc 'echo out; echo err >&2'"
    assert json.loads(part["arguments"]) == {"command": shown, "cwd": str(live.workspace)}
    assert streamed(events, call, "arguments") == part["arguments"]
    assert (call["command"], call["cwd"]) == (shown, str(live.workspace))
    given = result(events, call)
    assert (given["status"], given["exit_code"]) == ("completed", 0)
    assert sorted(output(given).split()) == ["err", "out"]  # two pipes, and no order between them
    assert (given["command"], given["cwd"]) == (shown, str(live.workspace))
    assert given["duration_ms"] >= 0
    assert all(f"{word}\\n" in told(live) for word in ("out", "err"))
    assert said(events) == ["Done."]
    live.conforms()


def test_the_output_of_a_command_streams_while_it_runs(codex: Bench) -> None:
    live = free(codex, calls(run(UNTIL_GO, yield_time_ms=30_000)), "Done.")
    live.send("Run it")
    heard(live, says("tick"))
    (live.workspace / "go").touch()
    live.until("turn.ended")
    events = live.conforms()
    (given,) = results(events)
    # Codex may leave out the first pieces; the result has all of them.
    assert output(given).endswith(streamed(events, given, "output"))
    assert re.fullmatch(r"(tick\n)+over\n", output(given))
    assert (given["status"], given["exit_code"]) == ("completed", 0)


def test_a_command_that_fails_has_its_exit_code(codex: Bench) -> None:
    live = free(
        codex, calls(run("echo no >&2; exit 3")), calls(run("nonsense", workdir="/")), "So."
    )
    first, second = results(live.turn("Fail"))
    assert (first["status"], first["exit_code"], output(first)) == ("failed", 3, "no\n")
    assert (second["exit_code"], second["cwd"]) == (127, "/")
    assert "command not found" in output(second)
    assert outcome(live.conforms()) == "completed"


def test_long_output_and_odd_bytes_are_kept(codex: Bench) -> None:
    live = free(
        codex,
        calls(run("seq 1 20000")),
        calls(run(r"printf 'gr\xc3\xbcn \xff 🐉\r\nno end'")),
        "So.",
    )
    many, odd = results(live.turn("Print"))
    assert output(many).split() == [str(n) for n in range(1, 20001)]
    assert output(odd) == "grün \ufffd 🐉\r\nno end"
    live.conforms()


def test_a_command_that_outlives_its_turn_is_told_to_the_end(codex: Bench) -> None:
    live = free(codex, calls(run(UNTIL_GO, yield_time_ms=250)), "It runs.", "Still.")
    first = live.turn("Start it")
    (given,) = results(first)
    assert (given["status"], given["reason"]) == ("failed", "runs on")
    assert "exit_code" not in given
    (end,) = [event for event in first if done("tool_result")(event)]
    assert end["source"] == "daemon"
    assert outcome(first) == "completed"
    live.turn("Does it run?")
    (live.workspace / "go").touch()
    ended = heard(live, labelled("command.completed"))
    (_, about) = ended["data"]["item"]["content"]
    assert about["json"]["exit_code"] == 0
    assert about["json"]["output"].endswith("tick\nover\n")
    events = live.conforms()
    assert statuses(events, "late") == []
    assert len(items(events, "tool_result")) == 1
    assert live.info["status"] == "idle"


def test_the_model_types_into_a_command(codex: Bench) -> None:
    live = free(codex, calls(run("cat; exit 4", yield_time_ms=250, tty=True)), "It waits.")
    first = live.turn("Start it")
    running = int(re.findall(r"session ID (\d+)", told(live))[0])
    live.model.add(
        calls(tool("write_stdin", session_id=running, chars="grün 🐉\n", yield_time_ms=250)),
        calls(tool("write_stdin", session_id=running, chars="\x04", yield_time_ms=5000)),
        "Typed.",
    )
    second = live.turn("Type")
    (call,) = called(first, COMMAND)
    typed = statuses(second, "stdin")
    assert [parts(item, "status")[0]["detail"] for item in typed] == ["grün 🐉\n", "\x04"]
    assert {item["parent_id"] for item in typed} == {call["item_id"]}
    printed = [parts(item, "status")[0]["detail"] for item in statuses(second, "command.output")]
    assert "grün 🐉\r\n" in "".join(printed)
    (ended,) = statuses(second, "command.failed")
    assert parts(ended, "json")[0]["json"]["exit_code"] == 4
    assert ended["parent_id"] == call["item_id"]
    assert said(second) == ["Typed."]
    events = live.conforms()
    assert statuses(events, "late") == []


def test_what_codex_refuses_by_itself_leaves_no_item(codex: Bench) -> None:
    live = free(
        codex,
        calls(tool("nonsense", depth=3)),
        calls({"tool": "exec_command", "raw": ['{"cmd": "ec', "ho"]}),
        "Sorry.",
    )
    events = live.turn("Break it")
    assert items(events, "tool_call") == []
    assert "failed to parse function arguments" in told(live)
    assert said(events) == ["Sorry."]
    live.conforms()


def test_the_model_looks_at_an_image(codex: Bench) -> None:
    live = codex.session()
    (live.workspace / "p.png").write_bytes(PNG)
    live.model.add(calls(view(str(live.workspace / "p.png"))), "A pixel.")
    events = live.turn("Look at it")
    (call,) = called(events, "imageView")
    (file,) = parts(result(events, call), "file_ref")
    assert (file["path"], file["action"]) == (str(live.workspace / "p.png"), "read")
    (image,) = parts(result(events, call), "image")
    assert (image["path"], image["mime"]) == (file["path"], "image/png")
    assert "data:image/png;base64," in told(live)
    assert not of_type(live.conforms(), "permission.requested")


def test_a_search_in_the_web_is_a_tool(codex: Bench) -> None:
    search = {"type": "web_search_call", "action": {"type": "search", "query": "dragons"}}
    live = codex.session({"blocks": [{"item": search}, {"text": "They are green."}]})
    events: list[Event] = live.turn("Search")
    (call,) = called(events, "webSearch")
    (part,) = parts(call, "tool_call")
    assert json.loads(part["arguments"])["query"] == "dragons"
    assert result(events, call)["status"] == "completed"
    assert said(events) == ["They are green."]
    live.conforms()
