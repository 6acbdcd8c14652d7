"""Which action of a person caused a line that went to an agent that speaks ACP."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.adapter import Adapter, Spec
from dragoman.dialects.acp.launch import MENTION
from dragoman.dialects.acp.settings import CATEGORIES
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Attachment,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Approver
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Line, Run, Transcript

PERSON = Approver(token="default", scope="admin")
_OPENS = ("session/new", "session/load", "session/resume", "session/fork")
_REFUSALS = ("cancel", "reject", "deny", "no")
_FIELDS = {**CATEGORIES, "effort": "variant", "reasoning_effort": "variant"}


def amended(transcript: Transcript) -> Transcript:
    """Where another driver has recorded what it said as `out`: the other way round, without what
    the agent wrote to its stderr."""
    says = [_json(line.data) for run in transcript for line in run.lines("out")]
    if not any(each.get("method") == "initialize" for each in says):
        return transcript
    return tuple(_turned(run) for run in transcript)


def _turned(run: Run) -> Run:
    entries = []
    for entry in run.entries:
        if isinstance(entry, Line) and entry.dir != "err":
            if entry.dir == "in" and not _json(entry.data).get("jsonrpc"):
                continue
            entry = replace(entry, dir="out" if entry.dir == "in" else "in")
        entries.append(entry)
    return replace(run, entries=tuple(entries))


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that was opened first. Its settings are switched to, as in a running one."""
    told = [_json(line.data) for run in transcript for line in run.lines("in")]
    first = next((each for each in told if each.get("method") in _OPENS), {})
    opened: dict[str, Any] = first.get("params", {})
    servers = {each["name"]: _server(each) for each in opened.get("mcpServers", ())}
    return replace(
        play.spec_of(adapter, transcript[0].meta),
        agent_mode="",
        directory=opened.get("cwd") or "/workspace",
        mcp=servers,
        native_session_id=opened.get("sessionId"),
        fork=first.get("method") == "session/fork",
    )


def _server(told: dict[str, Any]) -> dict[str, Any]:
    if "url" in told:
        return {"type": "remote", "url": told["url"], "transport": told["type"]}
    return {"type": "local", "command": told["command"], "args": told.get("args", [])}


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    match _json(line):
        case {"method": "session/prompt", "params": {"prompt": list(blocks)}}:
            return _prompt(blocks)
        case {"method": "session/cancel"}:
            return Interrupt()
        case {"method": "session/set_config_option", "params": {"configId": id, "value": value}}:
            return Configure(**{_FIELDS[id]: value})
        case {"method": "session/set_mode", "params": {"modeId": mode}}:
            return Configure(mode=mode)
        case {"method": "session/set_model", "params": {"modelId": model}}:
            return Configure(model=model)
        case {"id": id, "result": dict(result)}:
            return _answer(msgspec.json.encode(id).decode(), result)
        case _:
            return None


def _prompt(blocks: list[dict[str, Any]]) -> Prompt:
    texts = [each["text"] for each in blocks if each["type"] == "text"]
    text = "".join(each for each in texts if not each.startswith(MENTION))
    files = tuple(
        Attachment(path=each["uri"].removeprefix("file://"), mime=each.get("mimeType"))
        for each in blocks
        if each["type"] != "text" and "uri" in each
    )
    return Prompt(message_id="", text=text, attachments=files)


def _answer(key: str, result: dict[str, Any]) -> Command | None:
    match result:
        case {"outcome": {"outcome": "selected"}, "answers": dict(answers)}:
            texts = tuple((answers[each],) for each in sorted(answers, key=int))
            return AnswerQuestion(key=key, answers=texts, approver=PERSON)
        case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
            refused = option.lower().startswith(_REFUSALS)
            return AnswerPermission(key=key, reply="reject" if refused else "once", approver=PERSON)
        case {"action": "accept", "content": dict(content)}:
            texts = tuple((str(value),) for value in content.values())
            return AnswerQuestion(key=key, answers=texts, approver=PERSON)
        case {"action": "decline"}:
            return AnswerQuestion(key=key, answers=None, approver=PERSON)
        case _:
            return None  # nobody has answered: the turn was stopped


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
