"""Our structs against the protocol pages in Pi's own package, and against every recording.

What a page names and we do not read is listed here, with the reason; a new version of Pi that says
more fails until somebody has looked at it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from dragoman.agents.pi import ADAPTER, native
from dragoman.agents.pi.notices import SHOWS
from dragoman.agents.pi.requests import DIALOGS
from tests.agents.live import chosen, command
from tests.agents.recordings import cases

LINES: dict[str, type[Any]] = {
    str(each.__struct_config__.tag): each for each in get_args(native.KnownLine)
}
BLOCKS: dict[str, type[Any]] = {
    str(each.__struct_config__.tag): each for each in get_args(native.KnownBlock)
}
INTERFACES: dict[str, type[Any]] = {
    "TextContent": native.TextBlock,
    "ImageContent": native.ImageBlock,
    "ThinkingContent": native.ThinkingBlock,
    "ToolCall": native.ToolCallBlock,
    "Usage": native.Tokens,
    "UserMessage": native.Message,
    "AssistantMessage": native.Message,
    "CustomMessage": native.Message,
    "BranchSummaryMessage": native.Message,
    "CompactionSummaryMessage": native.Message,
}
"""Of message-types.md; `bashExecution`, `system` and `toolResult` are read nowhere."""

SEND: dict[str, set[str]] = {
    "prompt": {"id", "type", "message", "images", "streamingBehavior"},
    "abort": {"type"},
    "clear_queue": {"type"},
    "get_state": {"type"},
    "set_model": {"type", "provider", "modelId"},
    "set_thinking_level": {"type", "level"},
    "get_available_models": {"type"},
}
"""The commands that we send, and their fields."""

_REPEATED = "repeats what other lines have told"
_PROVIDER = "is the provider's own, and of no use to people"
UNREAD: dict[str, dict[str, str]] = {
    "agent_end": {"messages": _REPEATED},
    "turn_end": {"message": _REPEATED, "toolResults": _REPEATED},
    "message_update": {"usage": "the message's end has the final count", "message": _REPEATED},
    "tool_execution_update": {"args": _REPEATED},
    "queue_update": {"steering": _REPEATED, "followUp": _REPEATED},
    "entry_appended": {"entry": "is a line of Pi's own file"},
    "auto_retry_end": {"attempt": "was told with its start"},
    "summarization_retry_attempt_start": {
        "source": "was told with the compaction", "reason": "was told with the compaction",
    },
    "bash_execution_update": {"id": "we run none", "delta": "we run none"},
    "StreamPiece": {
        "reason": "of `done` and `error`, which Pi does not send",
        "message": "of `done`, which Pi does not send",
        "error": "of `error`, which Pi does not send",
    },
    "CompactionResult": {"firstKeptEntryId": _PROVIDER, "details": "the summary names the files"},
    "TextBlock": {"textSignature": _PROVIDER},
    "ThinkingBlock": {"thinkingSignature": _PROVIDER},
    "ToolCallBlock": {
        "thoughtSignature": _PROVIDER,
        "namespace": _PROVIDER,
        "partialArgs": "0.73.1: what streams",
        "streamIndex": "0.73.1: what streams",
    },
    "Tokens": {"cacheWrite1h": "is part of `cacheWrite`", "totalTokens": "is the sum"},
    "Message": {
        "timestamp": "an event has its own",
        "api": _PROVIDER,
        "responseModel": _PROVIDER,
        "responseId": _PROVIDER,
        "providerThinkingLevel": _PROVIDER,
        "thinkingLevel": "the session shows it",
        "diagnostics": _PROVIDER,
        "deferred": _PROVIDER,
        "rawStopReason": "Pi's own word is told",
        "endTurn": _PROVIDER,
        "fromId": "names an entry of Pi's own file",
        "tokensBefore": "the compaction's end tells it",
        "details": "is told neither to people nor to the model",
        "dragomanId": "is ours",
    },
}  # fmt: skip
"""What Pi says and we do not read, and why; by the type of a line, or the struct."""


def fields_of(struct: type[Any]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(struct)}


def lacking(name: str, struct: type[Any], found: set[str]) -> set[str]:
    """What is there, not read, and not listed."""
    return found - fields_of(struct) - {"type"} - set(UNREAD.get(name, {}))


# --- The pages ---


@pytest.fixture(scope="module")
def docs() -> Path:
    """The folder of the pages, in the package of the version that we are proven with."""
    if chosen(ADAPTER):
        pytest.skip("the pages of the proven version are read")
    program = next(Path(word) for word in command(ADAPTER) if word.endswith(".js"))
    return next(parent / "docs" for parent in program.parents if (parent / "docs").is_dir())


def examples(page: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a page's blocks of code, one for each line or block."""
    for block in re.findall(r"```json\n(.*?)```", page, re.S):
        for text in [block, *block.splitlines()]:
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def rows(page: str) -> dict[str, set[str]]:
    """The tables of events: a type and its fields."""
    found = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page, re.M)
    return {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in found}


def events_in(page: str) -> dict[str, set[str]]:
    """The events that json.md tells of, with their fields; `session` is not for RPC."""
    events = {name: fields for name, fields in rows(page).items() if name in LINES or "_" in name}
    pieces = rows(page.partition("### Reconstruct")[2].partition("## Tool")[0])
    events = {name: fields for name, fields in events.items() if name not in pieces}
    for example in examples(page):
        if example.get("type") not in (None, "session"):
            events.setdefault(example["type"], set()).update(example)
    return events


def test_every_event_on_the_pages_is_understood(docs: Path) -> None:
    events = events_in((docs / "json.md").read_text())
    assert len(events) > 20
    assert set(events) - set(LINES) == set()
    missing = {name: lacking(name, LINES[name], fields) for name, fields in events.items()}
    assert {name: fields for name, fields in missing.items() if fields} == {}


def test_every_line_that_is_read_is_on_the_pages(docs: Path) -> None:
    pages = "".join(page.read_text() for page in docs.glob("*.md"))
    assert [name for name in LINES if f'"{name}"' not in pages and f"`{name}`" not in pages] == []


def test_every_piece_of_a_stream_is_understood(docs: Path) -> None:
    page = (docs / "json.md").read_text()
    pieces = rows(page.partition("### Reconstruct")[2].partition("## Tool")[0])
    assert len(pieces) == 12
    found = set().union(*pieces.values())
    assert lacking("StreamPiece", native.StreamPiece, found) == set()
    # `partial` is of versions before 0.84.3.
    assert fields_of(native.StreamPiece) - found == {"type", "partial"}


def test_every_message_on_the_pages_is_understood(docs: Path) -> None:
    page = (docs / "message-types.md").read_text()
    interfaces = dict(re.findall(r"interface (\w+)(?:<[^>]*>)? \{\n(.*?)\n\}", page, re.S))
    for name, struct in INTERFACES.items():
        found = set(re.findall(r"^  (\w+)\??:", interfaces[name], re.M))
        assert lacking(struct.__name__, struct, found) == set(), name
    known = set(INTERFACES) | {
        "SystemMessage", "ToolResultMessage", "BashExecutionMessage", "DeferredHandle",
        "NestedToolCalls", "NestedToolCallRecord",
    }  # fmt: skip
    assert set(interfaces) == known


def test_every_command_that_we_send_is_on_the_pages(docs: Path) -> None:
    page = (docs / "rpc-commands.md").read_text()
    for name, fields in SEND.items():
        given = [each for each in examples(page) if each.get("type") == name]
        assert given, name
        assert fields <= {"id", *set().union(*given)}, name


def test_what_get_state_and_a_prompt_are_answered_with_is_on_the_pages(docs: Path) -> None:
    page = (docs / "rpc-commands.md").read_text()
    state = re.findall(r'"(\w+)":', page.partition("### get_state")[2].partition("### ")[0])
    assert fields_of(native.State) <= set(state)
    model = next(each for each in examples(page) if "contextWindow" in each)
    assert fields_of(native.Model) <= set(model)
    said = set(re.findall(r'`"(\w+)"` if', page.partition("### prompt")[2].partition("### ")[0]))
    assert said == {"handled", "queued", "started"}


def test_every_dialog_on_the_pages_is_understood(docs: Path) -> None:
    page = (docs / "rpc-extension-ui.md").read_text()
    requests = page.partition("## Requests from Pi")[2].partition("## Responses")[0]
    assert set(re.findall(r"^### (\w+)", requests, re.M)) == {*DIALOGS, *SHOWS}
    found = set().union(*examples(requests))
    assert lacking("extension_ui_request", native.UiRequest, found) == set()
    assert fields_of(native.UiRequest) <= found


# --- The recordings ---


def lines_in_recordings() -> Iterator[dict[str, Any]]:
    for case in cases():
        if case.agent != "pi" or case.may_be_unparsed:
            continue
        for run in case.transcript():
            for line in run.lines("out"):
                yield json.loads(line.data)


def structs_in(line: dict[str, Any]) -> Iterator[tuple[str, type[Any], set[str]]]:
    """Each object in a line that a struct of ours is for."""
    yield line["type"], LINES[line["type"]], set(line)
    piece, result, message = (
        line.get(name) or {} for name in ("assistantMessageEvent", "result", "message")
    )
    if piece:
        yield "StreamPiece", native.StreamPiece, set(piece)
    if line["type"] == "compaction_end" and result:
        yield "CompactionResult", native.CompactionResult, set(result)
    if isinstance(message, dict) and message.get("role") in ("user", "assistant", "custom"):
        yield "Message", native.Message, set(message)
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            struct = BLOCKS[block["type"]]
            yield struct.__name__, struct, set(block)
        if "usage" in message:
            yield "Tokens", native.Tokens, set(message["usage"])


def test_every_field_in_a_recording_is_read_or_listed() -> None:
    missing: dict[str, set[str]] = {}
    seen: set[str] = set()
    for line in lines_in_recordings():
        seen.add(line["type"])
        for name, struct, found in structs_in(line):
            missing.setdefault(name, set()).update(lacking(name, struct, found))
    assert {name: fields for name, fields in missing.items() if fields} == {}
    assert len(seen) >= 20
