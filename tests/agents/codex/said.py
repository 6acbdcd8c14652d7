"""Which action of a person caused a line that went to Codex."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Interrupt,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import Approver
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Entry, Line, Run, Transcript

PERSON = Approver(token="default", scope="admin")
_REPLIES: dict[str, PermissionReply] = {"accept": "once", "acceptForSession": "always"}
_SAYS = ("turn/start", "turn/steer")


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that opened the first thread, and what its first turn was."""
    meta = transcript[0].meta
    told = [_json(line.data) for run in transcript for line in run.lines("in")]
    thread = _first(told, "thread/start")
    turn = _first(told, "turn/start")
    plans = (turn.get("collaborationMode") or {}).get("mode") == "plan"
    free = thread.get("approvalPolicy") == "never" and thread.get("sandbox") != "read-only"
    return msgspec.structs.replace(
        play.spec_of(adapter, meta),
        directory=thread.get("cwd") or meta.cwd or "/workspace",
        model=thread.get("model"),
        agent_mode="plan" if plans else adapter.modes[0].id,
        permission_mode="bypass" if free else "default",
    )


def _first(told: list[dict[str, Any]], method: str) -> dict[str, Any]:
    return next((said.get("params") or {} for said in told if said.get("method") == method), {})


def amended(transcript: Transcript) -> Transcript:
    """Where another driver gave its messages no ids: some, under which they are repeated."""
    ours = any(
        b"clientUserMessageId" in line.data for run in transcript for line in run.lines("in")
    )
    return transcript if ours else tuple(_amended(run) for run in transcript)


def _amended(run: Run) -> Run:
    entries = list(run.entries)
    told = [_json(entry.data) if isinstance(entry, Line) else {} for entry in entries]
    for at, said in enumerate(told):
        params = said.get("params") or {}
        if said.get("method") not in _SAYS or params.get("clientUserMessageId"):
            continue
        native_id = _echo_of(params, told[at:])
        if native_id is None:
            continue
        name = f"client-{at:06}"
        _change(entries, at, {**said, "params": {**params, "clientUserMessageId": name}})
        for n, item in _repeated(told):
            if item["id"] == native_id:
                item["clientId"] = name
                _change(entries, n, told[n])
    return msgspec.structs.replace(run, entries=tuple(entries))


def _echo_of(params: dict[str, Any], later: list[dict[str, Any]]) -> str | None:
    """The id of the first item that repeats a message, and is not yet another's."""
    words = _text(params.get("input"))
    for n, item in _repeated(later):
        same_thread = later[n]["params"].get("threadId") == params.get("threadId")
        same_words = _text(item.get("content")) == words
        if same_thread and same_words and item.get("clientId") is None:
            return str(item["id"])
    return None


def _repeated(told: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    found = []
    for n, said in enumerate(told):
        match said:
            case {"method": "item/started" | "item/completed", "params": {"item": dict(item)}}:
                found += [(n, item)] if item.get("type") == "userMessage" else []
    return found


def _change(entries: list[Entry], at: int, said: dict[str, Any]) -> None:
    entries[at] = msgspec.structs.replace(entries[at], data=msgspec.json.encode(said))


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    match _json(line):
        case {"method": "turn/start" | "turn/steer" as method, "params": {"input": given} as about}:
            if method == "turn/steer" and "clientUserMessageId" not in about:
                return None  # why something was refused, which an answer says
            return Prompt(message_id="", text=_text(given))
        case {"method": "turn/interrupt"}:
            return Interrupt()
        case {"id": id, "result": dict(result)}:
            return _answer(msgspec.json.encode(id).decode(), result)
        case _:
            return None


def _text(given: Any) -> str:
    parts = given if isinstance(given, list) else []
    return "".join(str(part.get("text")) for part in parts if part.get("type") == "text")


def _answer(key: str, result: dict[str, Any]) -> Command | None:
    match result:
        case {"decision": str(decision)}:
            return _permission(key, _REPLIES.get(decision, "reject"))
        case {"decision": dict()}:
            return _permission(key, "always")
        case {"answers": dict(answers)}:
            chosen = tuple(tuple(given["answers"]) for given in answers.values())
            return AnswerQuestion(key=key, answers=chosen, approver=PERSON)
        case {"action": "accept", "content": dict(content)} if content:
            filled = tuple(map(_words, content.values()))
            return AnswerQuestion(key=key, answers=filled, approver=PERSON)
        case {"action": "accept"}:
            lasting = (result.get("_meta") or {}).get("persist")
            return _permission(key, "always" if lasting else "once")
        case {"action": _}:
            return _permission(key, "reject")
        case {"permissions": dict(given)} if given:
            return _permission(key, "always" if result.get("scope") == "session" else "once")
        case {"permissions": _}:
            return _permission(key, "reject")
        case _:
            return None


def _permission(key: str, reply: PermissionReply) -> AnswerPermission:
    return AnswerPermission(key=key, reply=reply, approver=PERSON)


def _words(value: Any) -> tuple[str, ...]:
    """What a person chose for a field of a form."""
    if isinstance(value, bool):
        return ("Yes" if value else "No",)
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
