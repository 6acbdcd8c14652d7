"""Which action of a person caused a line that went to Pi."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.agents.pi.requests import ALLOW
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Approver
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Transcript

PERSON = Approver(token="default", scope="admin")
_OURS = "/dragoman-permissions"


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that was started with these flags."""
    meta = transcript[0].meta
    flags = dict(zip(meta.argv, meta.argv[1:], strict=False))
    resumed = flags.get("--session") or flags.get("--fork")
    asks = any(
        b"dragoman.permission" in line.data for run in transcript for line in run.lines("out")
    )
    return msgspec.structs.replace(
        play.spec_of(adapter, meta),
        model=flags.get("--model"),
        variant=flags.get("--thinking"),
        native_session_id=resumed,
        fork="--fork" in meta.argv,
        permission_mode="default" if asks else "bypass",
    )


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    match _json(line):
        case {"type": "prompt" | "steer" | "follow_up", "message": str(text)}:
            return None if text.startswith(_OURS) else Prompt(message_id="", text=text)
        case {"type": "abort"}:
            return Interrupt()
        case {"type": "set_model", "provider": str(provider), "modelId": str(model)}:
            return Configure(model=f"{provider}/{model}")
        case {"type": "set_thinking_level", "level": str(level)}:
            return Configure(variant=level)
        case {"type": "extension_ui_response", "id": str(key)} as given:
            return _answer(key, given)
        case _:
            return None


def _answer(key: str, given: dict[str, Any]) -> Command:
    match given:
        case {"confirmed": bool(allowed)}:
            return AnswerPermission(key=key, reply="once" if allowed else "reject", approver=PERSON)
        case {"value": value} if value == ALLOW:
            return AnswerPermission(key=key, reply="once", approver=PERSON)
        case {"value": str(value)}:
            return AnswerQuestion(key=key, answers=((value,),), approver=PERSON)
        case _:
            return AnswerQuestion(key=key, answers=None, approver=PERSON)
