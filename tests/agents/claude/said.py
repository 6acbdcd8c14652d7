"""Which action of a person caused a line that went to Claude Code."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.agents.claude.requests import APPROVE
from dragoman.agents.claude.settings import our_mode
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    PermissionMode,
    Prompt,
)
from dragoman.schema.events import Approver
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Entry, Line, Meta, Run, Transcript

PERSON = Approver(token="default", scope="admin")


def spec_of(adapter: Adapter, meta: Meta) -> Spec:
    """The session that was started with these flags."""
    spec = play.spec_of(adapter, meta)
    flags = dict(zip(meta.argv, meta.argv[1:], strict=False))
    mode = flags.get("--permission-mode", "default")
    if "--dangerously-skip-permissions" in meta.argv:
        mode = "bypassPermissions"
    return msgspec.structs.replace(
        spec,
        agent_mode="plan" if mode == "plan" else spec.agent_mode,
        permission_mode=msgspec.convert(our_mode(mode), PermissionMode),
        model=flags.get("--model"),
        fresh_id=flags.get("--session-id", spec.fresh_id),
    )


def amended(transcript: Transcript) -> Transcript:
    """Where another driver gave its messages no ids: those under which they were repeated.

    The turn's init names them then, as it does where a message has an id.
    """
    return tuple(_amended(run) for run in transcript)


def _amended(run: Run) -> Run:
    entries = list(run.entries)
    told = [_json(entry.data) if isinstance(entry, Line) else {} for entry in entries]
    repeated = [said for said in told if said.get("isReplay") and "uuid" in said]
    for at, said in enumerate(told):
        if said.get("type") != "user" or said.get("isReplay") or "uuid" in said:
            continue
        echo = next((each for each in repeated if _same(each, said)), None)
        if echo is not None:
            repeated.remove(echo)
            _change(entries, at, {**said, "uuid": echo["uuid"]})
            begun = (n for n in range(at, len(told)) if told[n].get("subtype") == "init")
            for n in list(begun)[:1]:
                told[n] = {"user_message_uuids": [echo["uuid"]], **told[n]}
                _change(entries, n, told[n])
    return msgspec.structs.replace(run, entries=tuple(entries))


def _change(entries: list[Entry], at: int, said: dict[str, Any]) -> None:
    entries[at] = msgspec.structs.replace(entries[at], data=msgspec.json.encode(said))


def _same(echo: dict[str, Any], said: dict[str, Any]) -> bool:
    return bool(echo["message"]["content"] == said.get("message", {}).get("content"))


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    match _json(line):
        case {"type": "user", "message": {"content": content}}:
            return Prompt(message_id="", text=_text(content))
        case {"type": "control_request", "request": {"subtype": "interrupt"}}:
            return Interrupt()
        case {"type": "control_request", "request": {"subtype": "set_model", "model": str(model)}}:
            return Configure(model=model)
        case {"type": "control_request", "request": {"subtype": "set_permission_mode"} as request}:
            return _mode(our_mode(request["mode"]))
        case {"type": "control_response", "response": {"request_id": key, "response": dict(given)}}:
            return _answer(key, given)
        case _:
            return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")


def _mode(mode: str) -> Configure | None:
    try:
        return Configure(permission_mode=msgspec.convert(mode, PermissionMode))
    except msgspec.ValidationError:
        return None


def _answer(key: str, given: dict[str, Any]) -> Command | None:
    match given:
        case {"behavior": "allow", "updatedInput": {"questions": asked, "answers": answers}}:
            chosen = tuple((str(answers.get(each["question"], "")),) for each in asked)
            return AnswerQuestion(key=key, answers=chosen, approver=PERSON)
        case {"behavior": "allow", "updatedInput": {"plan": _}}:
            return AnswerQuestion(key=key, answers=((APPROVE,),), approver=PERSON)
        case {"behavior": "allow"}:
            always = bool(given.get("updatedPermissions"))
            return AnswerPermission(key=key, reply="always" if always else "once", approver=PERSON)
        case {"behavior": "deny"}:
            return AnswerPermission(
                key=key, reply="reject", message=given.get("message"), approver=PERSON
            )
        case _:
            return None
