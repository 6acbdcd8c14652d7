"""Our structs against the OpenAPI document that the pinned OpenCode serves itself."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dragoman.agents.opencode import ADAPTER, native, probes
from dragoman.agents.opencode.launch import SERVER
from tests.agents.live import command

SCHEMAS: dict[type[Any], tuple[str, ...]] = {
    native.SessionInfo: ("Session",),
    native.MessageInfo: ("AssistantMessage", "UserMessage"),
    native.TextPart: ("TextPart", "ReasoningPart"),
    native.FilePart: ("FilePart",),
    native.ToolPart: ("ToolPart",),
    native.ToolState: (
        "ToolStatePending", "ToolStateRunning", "ToolStateCompleted", "ToolStateError",
    ),
    native.StepFinishPart: ("StepFinishPart",),
    native.CompactionPart: ("CompactionPart",),
    native.RetryPart: ("RetryPart",),
    native.SubtaskPart: ("SubtaskPart",),
    native.PermissionAsked: ("PermissionRequest",),
    native.QuestionAsked: ("QuestionRequest",),
    native.QuestionInfo: ("QuestionInfo",),
    native.OptionInfo: ("QuestionOption",),
    native.Todo: ("Todo",),
    native.Removed: ("EventMessageRemoved", "EventMessagePartRemoved"),
}  # fmt: skip


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    home = tmp_path_factory.mktemp("home")
    argv = [*command(ADAPTER), "serve", "--hostname", "127.0.0.1", "--port", "0"]
    env = {**os.environ, **probes.environ("http://127.0.0.1:9", str(home))}
    with subprocess.Popen(argv, env=env, cwd=home, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, b"")
            url = next(found for line in lines if (found := SERVER.address(line)))
            with urllib.request.urlopen(f"{url}/doc", timeout=60) as answer:
                yield json.load(answer)
        finally:
            process.kill()


def _properties(schemas: dict[str, Any], name: str) -> set[str]:
    fields: dict[str, Any] = schemas[name].get("properties", {})
    is_event = name.startswith("Event")  # what it says is one level deeper
    return set(fields["properties"]["properties"] if is_event else fields)


def test_every_field_that_is_read_is_in_the_document(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for struct, names in SCHEMAS.items():
        known = set().union(*(_properties(schemas, name) for name in names))
        fields = {each.encode_name for each in msgspec.structs.fields(struct)}
        assert fields <= known, (struct.__name__, fields - known)


def test_every_event_that_is_read_is_in_the_document(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    missing = [name for name in (*native.EVENT_TYPES, native.CONNECTED) if f'"{name}"' not in text]
    assert missing == []


def test_every_call_is_in_the_document(document: dict[str, Any]) -> None:
    paths = document["paths"]
    calls = (
        ("get", "/global/event"), ("get", "/global/health"), ("get", "/config/providers"),
        ("post", "/session"), ("get", "/session/{sessionID}"), ("patch", "/session/{sessionID}"),
        ("delete", "/session/{sessionID}"), ("post", "/session/{sessionID}/fork"),
        ("post", "/session/{sessionID}/abort"), ("post", "/session/{sessionID}/prompt_async"),
        ("get", "/session/{sessionID}/message"), ("get", "/session/status"),
        ("get", "/permission"), ("post", "/permission/{requestID}/reply"),
        ("get", "/question"), ("post", "/question/{requestID}/reply"),
    )  # fmt: skip
    assert [each for each in calls if each[0] not in paths.get(each[1], {})] == []
