"""Amp's converter, where the real agent cannot be brought to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.amp.convert import AmpConverter
from dragoman.agents.amp.launch import launch
from dragoman.facts import Exit
from dragoman.schema.commands import Attachment, Interrupt, Prompt
from dragoman.schema.events import Stderr
from dragoman.schema.items import Json, Reasoning, ToolResult
from dragoman.steps import (
    CompleteItem,
    Delivered,
    EndInput,
    EndSession,
    EndTurn,
    Report,
    Send,
    Signal,
    StartItem,
    Step,
)

THREAD = "T-00000000-0000-4000-8000-000000000001"
SPEC = Spec(session_id="s1", agent="amp", agent_mode="build", directory="/project")
PNG = b"\x89PNG\r\n\x1a\n"


def sent(prompt: Prompt, spec: Spec = SPEC) -> list[Step]:
    return list(AmpConverter(spec).command(prompt))


def content(prompt: Prompt) -> list[Any]:
    (send,) = [step for step in sent(prompt) if isinstance(step, Send)]
    return list(json.loads(send.data)["message"]["content"])


def working(spec: Spec = SPEC) -> AmpConverter:
    converter = AmpConverter(spec)
    list(converter.command(Prompt(message_id="m1", text="Hi")))
    return converter


def said(converter: AmpConverter, **line: Any) -> list[Step]:
    return list(converter.receive(json.dumps(line).encode()))


def ended(signal: int | None = None, words: str = "", *, expected: bool = False) -> Exit:
    stderr = Stderr(head=words, truncated=False, total_lines=1)
    code = None if signal else 1
    return Exit(code=code, signal=signal, expected=expected, stderr=stderr)


# --- To Amp ---


def test_a_message_is_one_line_with_our_id_and_then_the_input_ends() -> None:
    """Before, U+2028 in a message made two lines of it, and Amp refused both."""
    first, send, last = sent(Prompt(message_id="m1", text="a\u2028b\u2029c\nd"))
    assert first == Delivered(message_id="m1"), "a thread that has no name cannot be looked into"
    assert isinstance(send, Send)
    assert len(send.data.decode().splitlines()) == 1
    line = json.loads(send.data)
    assert line["message"]["content"] == [{"type": "text", "text": "a\u2028b\u2029c\nd"}]
    assert line["request_id"] == "m1"
    assert last == EndInput()


def test_a_later_message_is_delivered_when_amp_repeats_it() -> None:
    steps = sent(Prompt(message_id="m1", text="Hi"), replace(SPEC, native_session_id=THREAD))
    assert [type(step) for step in steps] == [Send, EndInput]


def test_an_image_goes_as_what_it_is_and_what_amp_refuses_goes_by_its_path() -> None:
    names = ["a.jpg", "b.bmp", *(f"{n}.png" for n in range(4)), "notes.txt"]
    images = {name: PNG for name in names if name.endswith(("jpg", "png"))} | {"b.bmp": b"BM"}
    files = tuple(Attachment(path=name, mime="image/jpeg") for name in names)
    text, *shown = content(Prompt(message_id="m", text="", attachments=files, images=images))
    assert text["text"].split("\n\n") == [
        "Attached file: b.bmp", "Attached file: 3.png", "Attached file: notes.txt"
    ]  # fmt: skip
    assert [each["source_path"] for each in shown] == ["a.jpg", "0.png", "1.png", "2.png"]
    assert {each["source"]["media_type"] for each in shown} == {"image/png"}


def test_a_process_continues_a_thread_and_secrets_are_not_on_its_command_line() -> None:
    server = {"type": "remote", "url": "https://x.example/key", "headers": {"A": "s3cret"}}
    off = {"type": "local", "command": "x", "enabled": False}
    spec = replace(SPEC, native_session_id=THREAD, variant="low", permission_mode="bypass",
                   mcp={"one": server, "two": off})  # fmt: skip
    made = launch(spec, ("amp",))
    assert made.argv[:4] == ("amp", "threads", "continue", THREAD)
    assert {"--dangerously-allow-all", "--no-archive-after-execute"} <= set(made.argv)
    assert made.argv[made.argv.index("--mode") + 1] == "low"
    assert "s3cret" not in " ".join(made.argv)
    assert "x.example" not in " ".join(made.argv)
    (config,) = json.loads(made.argv[-1]).values()
    assert made.env[config["headers"]["A"].strip("${}")] == "s3cret"
    assert made.lifetime == "turn"


# --- From Amp ---


def test_a_block_that_is_not_known_costs_only_itself() -> None:
    blocks = [{"type": "hologram", "a": 1}, {"type": "redacted_thinking", "data": "x"},
              {"type": "text", "text": "Hi"}]  # fmt: skip
    steps = said(working(), type="assistant", message={"role": "assistant", "content": blocks})
    parts = [
        part for step in steps if isinstance(step, CompleteItem) for part in step.content or ()
    ]
    assert [part for part in parts if isinstance(part, Json)] == [Json(json=blocks[0])]
    (hidden,) = [part for part in parts if isinstance(part, Reasoning)]
    assert hidden.visibility == "private"


def test_a_result_that_is_no_json_or_no_text_is_kept_as_it_is() -> None:
    converter = working()
    for told, output in (("{broken", "{broken"), ({"a": 1}, '{"a":1}'), (None, "")):
        block = {"type": "tool_result", "tool_use_id": "TU-1", "content": told}
        steps = said(converter, type="user", message={"role": "user", "content": [block]})
        (done,) = [step for step in steps if isinstance(step, CompleteItem)]
        assert done.content == (ToolResult(call_id="TU-1", output=output),)


def test_what_comes_after_the_result_opens_no_turn() -> None:
    converter = working()
    said(converter, type="result", subtype="success", num_turns=1)
    message = {"role": "assistant", "content": [{"type": "text", "text": "Late."}]}
    (item,) = [s for s in said(converter, type="assistant", message=message)
               if isinstance(s, StartItem)]  # fmt: skip
    assert item.opens is False


def test_the_login_prompt_fails_the_turn_at_once_and_its_address_is_cut() -> None:
    converter = working()
    steps = list(converter.receive(b"No API key found. Starting login flow..."))
    (error,) = [step for step in steps if isinstance(step, Report)]
    assert error.code == "no_credentials"
    assert [step.outcome for step in steps if isinstance(step, EndTurn)] == ["failed"]
    assert steps[-1] == Signal("TERM")
    rest = list(converter.receive(b"https://amp.example/auth/cli-login?authToken=abc123"))
    assert "abc123" not in str(rest)


# --- Ends ---


def test_an_interrupt_is_a_signal_also_where_it_ends_a_process_that_only_starts() -> None:
    converter = working()
    assert list(converter.command(Interrupt())) == [Signal("INT")]
    steps = list(converter.on_close(ended(signal=2)))
    assert Delivered(message_id="m1") in steps
    assert [step.outcome for step in steps if isinstance(step, EndTurn)] == ["interrupted"]


def test_a_process_that_dies_is_told_by_the_daemon() -> None:
    assert list(working().on_close(ended(signal=9))) == []


@pytest.mark.parametrize(
    ("words", "code", "ends"),
    [
        ("Error: Couldn't connect to the Amp server at http://x.", "connection_failed", False),
        (f"Thread http://x/threads/{THREAD} does not exist.", "session_not_found", True),
    ],
)
def test_what_amp_says_on_stderr_is_the_error(words: str, code: str, ends: bool) -> None:
    converter = working(replace(SPEC, native_session_id=THREAD))
    steps = list(converter.on_close(ended(words=words)))
    (error,) = [step for step in steps if isinstance(step, Report)]
    assert (error.code, error.message) == (code, words)
    assert any(isinstance(step, EndSession) for step in steps) == ends
