"""Every prompt of the mock agent through the real daemon: the rules, and the facts of each."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from dragoman.schema.events import BODIES
from dragoman.schema.items import ContentPart, ItemKind
from dragoman.testing.mock.faults import GARBAGE
from dragoman.testing.mock.lines import PNG
from dragoman.testing.mock.prompts import COUNTED, PLAIN
from dragoman.testing.mock.scripts import MARKDOWN, NEW_FILE, PATCH
from tests.daemon import Daemon

from .story import Event, Talk, items, of_type, outcome, parts, said, text

HANGING = {"permission", "permissions", "edit", "question", "questions", "hang", "ignore-sigterm",
           "spawn-children"}  # fmt: skip
"""Prompts whose turn does not end by itself."""
COUNTS = {"slow": "slow 5", "burst": "burst 50 200", "huge": "huge 5000"}
PROMPTS = [COUNTS.get(name, name) for name in (*PLAIN, *COUNTED) if name not in HANGING]


@pytest.mark.parametrize("prompt", ["hello", "echo hi", *PROMPTS])
def test_every_prompt_makes_one_turn_that_conforms(daemon: Daemon, prompt: str) -> None:
    talk = Talk(daemon)
    turn = talk.turn(prompt)
    assert [turn[0]["type"], turn[-1]["type"]] == ["turn.started", "turn.ended"]
    (mine,) = items(turn, "message", "user")
    assert text(mine) == prompt
    events = talk.conforms()
    assert len(of_type(events, "turn.started")) == len(of_type(events, "turn.ended")) == 1


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("hello", "hello"),
        ("echo one two", "one two"),
        ("say so", "so"),
        ("Reply with exactly the word pong", "pong"),
        ("ünï ☃ \u2028 𝄞", "ünï ☃ \u2028 𝄞"),
        ("markdown", MARKDOWN),
        ("slow 3", "1 2 3 "),
    ],
)
def test_it_says_what_was_asked_for(daemon: Daemon, prompt: str, answer: str) -> None:
    turn = Talk(daemon).turn(prompt)
    assert said(turn) == [answer]
    assert outcome(turn) == "completed"


def test_a_burst_loses_nothing(daemon: Daemon) -> None:
    (whole,) = said(Talk(daemon).turn("burst 5000 100"))
    assert len(whole) == 500_000


def test_tools_have_a_call_a_result_and_an_exit_code(daemon: Daemon, tmp_path: Path) -> None:
    turn = Talk(daemon, directory=str(tmp_path)).turn("tools")
    calls, results = items(turn, "tool_call"), items(turn, "tool_result")
    names = [call["content"][0]["name"] for call in calls]
    assert names == ["read", "write", "edit", "bash", "bash", "search"]
    ids = [call["content"][0]["call_id"] for call in calls]
    assert [result["content"][0]["call_id"] for result in results] == ids
    message = items(turn, "message", "assistant")[0]
    assert {item["parent_id"] for item in (*calls, *results)} == {message["item_id"]}
    ran = [result for result in results if "exit_code" in result]
    assert [(result["status"], result["exit_code"]) for result in ran] == [
        ("completed", 0),
        ("failed", 1),
    ]
    assert ran[0]["content"][0]["output"] == "collecting\n3 passed\n"
    shells = [call for call in calls if "command" in call]
    assert [(call["command"], call["cwd"]) for call in shells] == [
        ("make test", str(tmp_path)),
        ("make lint", str(tmp_path)),
    ]
    assert [call["server"] for call in calls if "server" in call] == ["docs"]


def test_files_have_absolute_paths_and_diffs(daemon: Daemon, tmp_path: Path) -> None:
    turn = Talk(daemon, directory=str(tmp_path)).turn("tools")
    files = [file for item in items(turn, "tool_result") for file in parts(item, "file_ref")]
    assert [(file["action"], file["path"], file["diff"]) for file in files] == [
        ("read", str(tmp_path / "README.md"), None),
        ("write", str(tmp_path / "greeting.py"), NEW_FILE),
        ("patch", str(tmp_path / "greeting.py"), PATCH),
    ]


def test_images_are_files_that_exist_before_their_event(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn("image")
    (message,) = items(turn, "message", "assistant")
    (result,) = items(turn, "tool_result")
    for image in (*parts(message, "image"), *parts(result, "image")):
        assert image["mime"] == "image/png"
        assert Path(image["path"]).read_bytes() == PNG
        assert Path(image["path"]).parent == daemon.data_dir / "files" / talk.id
    assert len(parts(message, "image")) == len(parts(result, "image")) == 1


def test_reasoning_is_an_item_of_its_own_public_or_private(daemon: Daemon) -> None:
    turn = Talk(daemon).turn("reasoning")
    thoughts = [item for item in items(turn, "message") if parts(item, "reasoning")]
    assert [thought["content"][0]["visibility"] for thought in thoughts] == ["public", "private"]
    assert {len(thought["content"]) for thought in thoughts} == {1}
    ids = {thought["item_id"] for thought in thoughts}
    deltas = [delta for delta in of_type(turn, "item.delta") if delta["item_id"] in ids]
    assert {delta["content_type"] for delta in deltas} == {"reasoning"}
    assert said(turn) == ["I have thought about it."]


def test_a_status_a_plan_and_a_system_item(daemon: Daemon) -> None:
    turn = Talk(daemon).turn("status")
    first, plan = items(turn, "status")
    assert first["content"] == [
        {"type": "status", "label": "compacting", "detail": "Making room in the context."}
    ]
    assert plan["content"][0]["label"] == "plan"
    assert [step["status"] for step in plan["content"][1]["json"]["steps"]] == [
        "completed",
        "in_progress",
        "pending",
    ]
    (system,) = items(turn, "system")
    assert text(system).startswith("A hook")


def test_an_unknown_item_keeps_what_it_holds(daemon: Daemon) -> None:
    (unknown,) = items(Talk(daemon).turn("unknown"), "unknown")
    assert unknown["content"][0]["json"] == {
        "kind": "hologram",
        "depth": 3,
        "colours": ["green"],
    }


def test_a_subagents_items_have_its_id_and_their_parents(daemon: Daemon) -> None:
    turn = Talk(daemon).turn("subagent")
    task, inner_call = items(turn, "tool_call")
    (status,) = items(turn, "status")
    assert status["parent_id"] == task["item_id"]
    assert status["content"][0] == {
        "type": "status",
        "label": "subagent",
        "detail": "Count files",
    }
    inner = [item for item in items(turn) if "subagent_id" in item]
    assert {item["subagent_id"] for item in inner} == {status["native_item_id"]}
    messages = [item for item in inner if item["kind"] == "message"]
    assert [text(item) for item in messages] == ["I look around.", "There are 2 files."]
    assert {item["parent_id"] for item in messages} == {task["item_id"]}
    assert inner_call["parent_id"] == messages[0]["item_id"]
    started = [data["item"]["item_id"] for data in of_type(turn, "item.started")]
    completed = [item["item_id"] for item in items(turn)]
    assert started.index(status["item_id"]) < started.index(messages[0]["item_id"])
    assert completed.index(status["item_id"]) > completed.index(messages[1]["item_id"])


def test_an_error_fails_the_turn_and_no_message_is_made(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn("error")
    (error,) = of_type(turn, "error")
    assert (error["code"], error["details"]) == ("mock_error", {"retryable": False})
    assert outcome(turn) == "failed"
    assert said(turn) == []
    assert talk.info["lastOutcome"] == "failed"
    assert said(talk.turn("hello")) == ["hello"]


def test_what_is_not_understood_is_kept_verbatim_and_the_turn_goes_on(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn("unparsed")
    assert said(turn) == ["You could not understand my last line."]
    assert outcome(turn) == "completed"
    (unparsed,) = (e for e in talk.events(raw=True) if e["type"] == "agent.unparsed")
    assert unparsed["raw"] == {"type": "mystery", "payload": {"answer": 42}}
    assert unparsed["data"]["location"] == "mock"
    assert len(unparsed["data"]["raw_hash"]) == 64


def test_garbage_is_kept_byte_for_byte_and_the_turn_goes_on(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn("garbage")
    assert said(turn) == ["That was garbage."]
    path = f"{talk.path}/events?limit=10000&include_raw=true"
    page = msgspec.json.decode(daemon.request("GET", path).body, type=dict[str, Any])
    unparsed = [event for event in page["events"] if event["type"] == "agent.unparsed"]
    assert [_bytes(event["raw"]) for event in unparsed] == [line.rstrip(b"\n") for line in GARBAGE]
    assert all(event["raw"] is None for event in of_unparsed(talk.events()))


def of_unparsed(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"] == "agent.unparsed"]


def _bytes(raw: Any) -> bytes:
    assert raw.keys() == {"encoding", "data"}
    assert raw["encoding"] == "base64"
    return base64.b64decode(raw["data"])


def test_raw_is_on_every_event_that_a_native_message_caused(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn("image")
    for event in talk.events(raw=True):
        if event["source"] == "agent":
            assert event["raw"] is not None
    prompt = [e for e in talk.events(raw=True) if e["data"].get("item", {}).get("message_id")]
    assert {event["raw"] for event in prompt} == {None}
    assert {event["raw"] for event in talk.events()} == {None}


def test_end_ends_the_session_and_nothing_follows(daemon: Daemon) -> None:
    """Before, its end had a message, which is for what went wrong."""
    talk = Talk(daemon)
    turn = talk.turn("end")
    assert said(turn) == ["Goodbye."]
    ended = talk.until("session.ended")
    assert ended["data"] == {"reason": "completed", "terminated_by": "agent"}
    assert (ended["source"], talk.conforms()[-1]["type"]) == ("agent", "session.ended")
    assert talk.info["status"] == "ended"
    assert talk.post("/messages", {"message": "hello"}).status == 410
    assert talk.events()[-1] == ended
    assert talk.processes() == []


def test_usage_stands_on_the_turn_and_its_sum_on_the_session(daemon: Daemon) -> None:
    talk = Talk(daemon)
    usages = [talk.turn(prompt)[-1]["data"]["usage"] for prompt in ("usage", "hello")]
    total = talk.info["usage"]
    for name in ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens"):
        assert usages[0][name] > 0
        assert total[name] == usages[0][name] + usages[1][name]
    assert total["cost_usd"] == pytest.approx(sum(usage["cost_usd"] for usage in usages))
    assert total["cost_source"] == "reported"
    assert total["models"]["mock"]["output_tokens"] == total["output_tokens"]
    (context,) = [d["context"] for d in of_type(talk.events(), "session.updated") if "context" in d]
    assert context == {"used": 12_000, "window": 200_000}


def test_a_turn_tells_the_native_turn_and_why_it_stopped(daemon: Daemon) -> None:
    ended = Talk(daemon).turn("hello")[-1]["data"]
    assert (ended["stop_reason"], ended["metadata"]) == ("end_turn", {"native_turn_id": "turn-1"})


def test_a_file_is_made_changed_and_deleted_for_real(daemon: Daemon, tmp_path: Path) -> None:
    talk = Talk(daemon, directory=str(tmp_path))
    for change in ("create", "change", "delete"):
        events = talk.turn("files")
        assert [data["type"] for data in of_type(events, "sandbox.file")] == [change]
        assert "greeting.py" in of_type(events, "turn.diff")[0]["diff"]
    (tmp_path / "greeting.py").write_text("mine\n")
    talk.turn("files")
    assert (tmp_path / "greeting.py").read_text() == "mine\n"
    talk.conforms()


def test_the_scenarios_show_everything_that_the_schema_has(daemon: Daemon, tmp_path: Path) -> None:
    """Whoever adds to the schema adds to the mock agent, so that clients can see it."""
    talk = Talk(daemon, directory=str(tmp_path), fileEvents={"diff": True})
    for prompt in ("demo", "subagent", "unknown", "unparsed", "error", "files"):
        talk.turn(prompt)
    for prompt, type in (("permission", "permissions"), ("question", "questions")):
        talk.send(prompt)
        request = talk.until(f"{prompt}.requested")["data"][f"{prompt}_id"]
        body = {"reply": "once"} if prompt == "permission" else {"answers": [["Red"]]}
        assert talk.post(f"/{type}/{request}/reply", body).status == 204
        talk.until("turn.ended")
    talk.send("slow 5")
    talk.send("end")
    talk.until("session.ended")
    events = talk.conforms()
    assert {event["type"] for event in events} == set(BODIES)
    assert {item["kind"] for item in items(events)} == set(get_args(ItemKind))
    shown = {part["type"] for item in items(events) for part in item["content"]}
    assert shown == {part.__struct_config__.tag for part in get_args(ContentPart)}
    deltas = {delta["content_type"] for delta in of_type(events, "item.delta")}
    assert deltas == {"text", "reasoning", "arguments", "output"}
