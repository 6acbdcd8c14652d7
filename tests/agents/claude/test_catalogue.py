"""Claude Code's models, read from its answer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.agents.claude import ADAPTER
from dragoman.agents.claude.catalogue import CATALOGUE, read
from dragoman.schema.http import ModelInfo, ModelList


def line(subtype: str = "success", request_id: str = "models", **response: Any) -> bytes:
    answer = {"subtype": subtype, "request_id": request_id, "response": response}
    return msgspec.json.encode({"type": "control_response", "response": answer})


def test_the_answer_lists_models_with_their_efforts() -> None:
    models = [
        {
            "value": "default",
            "displayName": "Default (recommended)",
            "description": "The default",
            "supportedEffortLevels": ["low", "high"],
            "supportsFutureThings": {"deep": []},
        },
        {"value": "haiku"},
    ]
    assert read(line(models=models, commands=[{"name": "x"}])) == ModelList(
        models=(
            ModelInfo(id="default", name="Default (recommended)", variants=("low", "high")),
            ModelInfo(id="haiku"),
        ),
        default_model="default",
    )


def test_without_a_default_none_is_named() -> None:
    found = read(line(models=[{"value": "haiku"}]))
    assert found is not None
    assert found.default_model is None


@pytest.mark.parametrize(
    "other",
    [
        b'{"type":"system","subtype":"init","response":7}',
        b'{"type":"keep_alive"}',
        line(request_id="another", models=[{"value": "x"}]),
    ],
)
def test_another_line_is_no_answer(other: bytes) -> None:
    assert read(other) is None


@pytest.mark.parametrize("refusal", [line("error"), line(), line(models=[])])
def test_a_refusal_has_no_models(refusal: bytes) -> None:
    assert read(refusal) == ModelList(models=())


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'"x"', line(models=[{"name": 1}]), b"\xff"])
def test_garbage_raises_what_is_expected(garbage: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read(garbage)


def test_it_is_started_without_servers_hooks_and_history() -> None:
    launch = CATALOGUE.launch(("claude",), "/")
    assert launch.argv[0] == "claude"
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(launch.argv)
    assert ADAPTER.catalogue is CATALOGUE
