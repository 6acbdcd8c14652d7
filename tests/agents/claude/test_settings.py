"""Changes in a running session, and the list of models."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.agents.claude import ADAPTER
from dragoman.agents.claude.settings import CATALOGUE, read_models
from dragoman.schema.commands import Command, Configure
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.steps import Report, Send, Step, Update

# --- Changes: what Claude Code refuses, and what it changes itself ---


class Session:
    """A converter, and what was sent to the agent."""

    def __init__(self, **spec: Any) -> None:
        given = {"session_id": "s", "agent": "claude", "agent_mode": "build", "directory": "/w"}
        self._converter = ADAPTER.converter(Spec(**{**given, **spec}))
        self.sent: list[Any] = []

    def command(self, command: Command) -> list[Step]:
        steps = list(self._converter.command(command))
        self.sent += [msgspec.json.decode(step.data) for step in steps if isinstance(step, Send)]
        return [step for step in steps if not isinstance(step, Send)]

    def hear(self, **line: Any) -> list[Step]:
        return list(self._converter.receive(msgspec.json.encode(line)))

    def refuse(self, error: str, code: str) -> list[Step]:
        """Claude Code refuses the last request."""
        key = self.sent[-1]["request_id"]
        answer = {"subtype": "error", "request_id": key, "error": error, "error_code": code}
        return self.hear(type="control_response", response=answer)


def confirmed(session: Session, number: int, mode: str) -> list[Step]:
    """Claude Code says yes to the n-th request, and then in which mode it is."""
    key = session.sent[number - 1]["request_id"]
    answer = {"subtype": "success", "request_id": key, "response": {"mode": mode}}
    session.hear(type="control_response", response=answer)
    return session.hear(type="system", subtype="status", permissionMode=mode)


def test_a_model_that_is_refused_is_an_error_and_taken_back() -> None:
    session = Session(model="opus")
    assert session.command(Configure(model="x")) == [Update(body=SessionUpdated(model="x"))]
    assert session.sent[-1]["request"] == {"subtype": "set_model", "model": "x"}
    assert session.refuse("no such model", "model_not_found") == [
        Report(message="no such model", code="model_not_found"),
        Update(body=SessionUpdated(model="opus")),
    ]


def test_a_refusal_of_what_had_no_value_before_is_only_an_error() -> None:
    session = Session()
    session.command(Configure(variant="high"))
    assert session.refuse("no", "refused") == [Report(message="no", code="refused")]


def test_a_mode_that_is_refused_is_taken_back() -> None:
    session = Session(permission_mode="acceptEdits")
    session.command(Configure(mode="plan"))
    _, taken_back = session.refuse("no", "refused")
    assert taken_back == Update(body=SessionUpdated(mode="build", permission_mode="acceptEdits"))


def test_an_answer_that_nobody_waits_for_means_nothing() -> None:
    session = Session()
    answer = {"subtype": "error", "request_id": "dragoman_7", "error": "no"}
    assert session.hear(type="control_response", response=answer) == []


def test_bypass_is_never_asked_of_a_process_that_was_not_started_for_it() -> None:
    session = Session()
    session.command(Configure(permission_mode="bypass"))
    assert session.sent[-1]["request"] == {"subtype": "set_permission_mode", "mode": "default"}
    assert confirmed(session, 1, "default") == [
        Update(body=SessionUpdated(permission_mode="bypass"))
    ]


def test_a_mode_that_another_one_has_followed_is_not_shown_again() -> None:
    session = Session()
    session.command(Configure(permission_mode="acceptEdits"))
    session.command(Configure(mode="plan"))
    assert confirmed(session, 1, "acceptEdits") == [Update(body=SessionUpdated())]
    assert confirmed(session, 2, "plan") == [Update(body=SessionUpdated(permission_mode="plan"))]


def test_bypass_by_our_own_policy_survives_the_mode_before_it() -> None:
    session = Session()
    session.command(Configure(permission_mode="acceptEdits"))
    session.command(Configure(permission_mode="bypass"))
    confirmed(session, 1, "acceptEdits")
    assert confirmed(session, 2, "default") == [
        Update(body=SessionUpdated(permission_mode="bypass"))
    ]


def test_a_mode_that_claude_changes_itself_is_shown_with_ours() -> None:
    session = Session(agent_mode="plan")
    assert session.hear(type="system", subtype="status", permissionMode="default") == [
        Update(body=SessionUpdated(mode="build", permission_mode="default"))
    ]


# --- Models, read from the answer ---


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
    (found,) = read_models(line(models=models, commands=[{"name": "x"}]))
    assert found == ModelList(
        models=(
            ModelInfo(id="default", name="Default (recommended)", variants=("low", "high")),
            ModelInfo(id="haiku"),
        ),
        default_model="default",
    )


def test_without_a_default_none_is_named() -> None:
    (found,) = read_models(line(models=[{"value": "haiku"}]))
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
    assert read_models(other) == ()


@pytest.mark.parametrize("refusal", [line("error"), line(), line(models=[])])
def test_a_refusal_has_no_models(refusal: bytes) -> None:
    assert read_models(refusal) == (ModelList(models=()),)


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'"x"', line(models=[{"name": 1}]), b"\xff"])
def test_garbage_raises_what_is_expected(garbage: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_models(garbage)


def test_it_is_started_without_servers_hooks_and_history() -> None:
    launch = CATALOGUE.launch(("claude",), "/")
    assert launch.argv[0] == "claude"
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(launch.argv)
    assert ADAPTER.catalogue is CATALOGUE
