"""Which action of a person caused a line that went to Grok."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.adapter import Adapter, Spec
from dragoman.agents.grok.requests import APPROVE
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, Command, Configure
from dragoman.testing.recordings.transcript import Transcript
from tests.agents import acp_said
from tests.agents.acp_said import PERSON, amended

__all__ = ["amended", "command_of", "reads", "spec_in"]


def reads(data: bytes) -> bool:
    """Whether a transcript is one of ACP; `grok -p` has formats of its own."""
    return b'"initialize"' in data


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that was opened first, with the permission mode and the id that it had."""
    spec = acp_said.spec_in(adapter, transcript)
    told = [_json(line.data) for run in transcript for line in run.lines("in")]
    metas = [each["params"].get("_meta") or {} for each in told if _opens(each)]
    meta = metas[0] if metas else {}
    return replace(
        spec,
        permission_mode="bypass" if meta.get("yoloMode") else "default",
        fresh_id=meta.get("sessionId", ""),
    )


def _opens(message: dict[str, Any]) -> bool:
    return message.get("method") in ("session/new", "session/load", "session/resume")


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    match _json(line):
        case {"method": "_x.ai/yolo_mode_changed", "params": {"yolo_mode": bool(is_free)}}:
            return Configure(permission_mode="bypass" if is_free else "default")
        case {"id": id, "result": {"outcome": str(outcome)} as result}:
            return _answer(msgspec.json.encode(id).decode(), outcome, result)
        case {"id": id, "result": {"_meta": {"followup_message": str(why)}}}:
            key = msgspec.json.encode(id).decode()
            return AnswerPermission(key=key, reply="reject", message=why, approver=PERSON)
    return acp_said.command_of(line)


def _answer(key: str, outcome: str, more: dict[str, Any]) -> Command | None:
    """The answer to questions, or to a plan; None: nobody has answered."""
    match outcome, more:
        case "accepted", {"answers": dict(answers)}:
            texts = tuple(tuple(each) for each in answers.values())
            return AnswerQuestion(key=key, answers=texts, approver=PERSON)
        case "approved", _:
            return AnswerQuestion(key=key, answers=((APPROVE,),), approver=PERSON)
        case "cancelled", {"feedback": str(words)}:
            return AnswerQuestion(key=key, answers=((words,),), approver=PERSON)
    return None


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
