"""Which action of a person caused a call to OpenCode."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.agents.opencode.launch import OWN_KEY
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Approver
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Dir, Entry, Line, Run, Transcript
from dragoman.wire.http import answer_line

PERSON = Approver(token="default", scope="admin")
_DIRECTORY = re.compile(r"directory=([^&]+)")


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that was opened first: where it worked, and under which rules."""
    meta = transcript[0].meta
    calls = [_json(line.data) for run in transcript for line in run.lines("in")]
    opened = [each for each in calls if str(each.get("method")).startswith("POST /session?")]
    directory = next(filter(None, (_directory(str(each.get("method"))) for each in calls)), None)
    rules = next(((each.get("params") or {}).get("permission") or [] for each in opened), [])
    prompts = [each.get("params") or {} for each in calls if "prompt_async" in str(each)]
    bypass = [rule for rule in rules if rule == _rule("*", "allow")]
    plans = any(each.get("agent") == "plan" for each in prompts[:1])
    model = (prompts[0].get("model") if prompts else None) or {}
    return msgspec.structs.replace(
        play.spec_of(adapter, meta),
        directory=directory or meta.cwd or "/workspace",
        agent_mode="plan" if plans else "build",
        permission_mode="bypass" if bypass else "default",
        model=f"{model['providerID']}/{model['modelID']}" if model else None,
    )


def _rule(permission: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": "*", "action": action}


def _directory(method: str) -> str | None:
    found = _DIRECTORY.search(method)
    return None if found is None else unquote(found[1])


# --- Recordings of another driver ---


def amended(transcript: Transcript) -> Transcript:
    """Where another driver talked to OpenCode: its calls and messages as ours would be.

    In its recordings what OpenCode says is `in`, and each event is there a second time.
    """
    return tuple(_Amendment(run).run() if _is_foreign(run) else run for run in transcript)


def _is_foreign(run: Run) -> bool:
    return any({"path", "status"} <= _json(line.data).keys() for line in run.lines("in"))


class _Amendment:
    def __init__(self, run: Run) -> None:
        self._run = run
        lines = [_json(line.data) for line in run.lines("in")]
        named = (each["directory"] for each in lines if each.get("directory"))
        self._query = f"directory={quote(next(named, '/workspace'))}"
        self._calls: dict[str, list[str]] = {}
        self._texts: list[tuple[str, str]] = []
        self._count = 0

    def run(self) -> Run:
        """The recording, as if our transport had made it."""
        entries: list[Entry] = []
        for entry in self._run.entries:
            if isinstance(entry, Line):
                entries += self._line(entry, _json(entry.data))
        return msgspec.structs.replace(self._run, entries=tuple(entries))

    def _line(self, line: Line, said: dict[str, Any]) -> list[Entry]:
        match said:
            case {"method": str(verb), "path": str(path)}:
                return [self._made(line, "in", self._call(verb, path, said.get("body")))]
            case {"status": int(status), "path": str(path)} if self._calls.get(path):
                id = self._calls[path].pop(0)
                body = msgspec.json.encode(said.get("body"))
                return [self._made(line, "out", answer_line(id, status, body))]
            case {"payload": dict(payload)}:
                self._name(payload)
                return [self._made(line, "out", msgspec.json.encode(said))]
            case _:
                return []

    def _made(self, line: Line, dir: Dir, data: bytes) -> Line:
        return msgspec.structs.replace(line, dir=dir, data=data)

    def _call(self, verb: str, path: str, body: Any) -> bytes:
        self._count += 1
        id = f"dragoman-{self._count}"
        self._calls.setdefault(path, []).append(id)
        method = f"{verb} {path}{'&' if '?' in path else '?'}{self._query}"
        if path.endswith(("/prompt_async", "/message")) and verb == "POST":
            method = method.replace("/message?", "/prompt_async?")
            words = next(part for part in body["parts"] if part["type"] == "text")
            words["metadata"] = {OWN_KEY: f"client-{self._count:06}"}
            self._texts.append((words["text"], words["metadata"][OWN_KEY]))
        return msgspec.json.encode({"id": id, "method": method, "params": body})

    def _name(self, payload: dict[str, Any]) -> None:
        """Give the echo of a message the id under which it was sent."""
        part = (payload.get("properties") or {}).get("part") or {}
        for text, id in self._texts:
            if part.get("type") == "text" and part.get("text") == text:
                part["metadata"] = {OWN_KEY: id}


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this call."""
    call = _json(line)
    method, params = str(call.get("method")), call.get("params") or {}
    path = method.partition("?")[0]
    match path.split("/"):
        case ["POST ", "session", _, "prompt_async"]:
            return Prompt(message_id="", text=_text(params))
        case ["POST ", "session", _, "abort"]:
            return Interrupt()
        case ["POST ", "permission", key, "reply"]:
            return AnswerPermission(
                key=key,
                reply="reject" if params.get("reply") == "reject" else "once",
                message=params.get("message"),
                approver=PERSON,
            )
        case ["POST ", "question", key, "reply"]:
            answers = tuple(tuple(each) for each in params.get("answers") or ())
            return AnswerQuestion(
                key=key, answers=answers if any(answers) else None, approver=PERSON
            )
        case ["POST ", "question", key, "reject"]:
            return AnswerQuestion(key=key, answers=None, approver=PERSON)
        case _:
            return None


def _text(params: dict[str, Any]) -> str:
    parts = params.get("parts") or []
    return "".join(str(part.get("text")) for part in parts if part.get("type") == "text")


def _json(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
