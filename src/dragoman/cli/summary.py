"""An event, an item, a request to people: each in a few plain words. Pure."""

from __future__ import annotations

import json
import shlex
from typing import Any

from dragoman.cli.plain import line, reveal
from dragoman.client import Unmodelled
from dragoman.schema.events import (
    AgentUnparsed,
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    Question,
    QuestionRequested,
    QuestionResolved,
    QueueUpdated,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
)
from dragoman.schema.items import (
    ContentPart,
    FileRef,
    Image,
    Item,
    Json,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)


def summary(event: Event) -> str:
    """What an event says, on one line."""
    match event.data:
        case ItemStarted(item=item):
            return f"{item.kind} {item.role or ''}".strip()
        case ItemDelta(delta=delta, content_type=kind):
            return line(delta if kind == "text" else f"[{kind}] {delta}")
        case ItemCompleted(item=item):
            failed = "failed " if item.status == "failed" else ""
            return line(f"{failed}{item.kind} {item.role or ''}: {gist(item)}")
        case ErrorRaised(message=message, code=code):
            return line(f"{code or 'error'}: {message}")
        case AgentUnparsed(error=error, location=location):
            return line(f"{location}: {error}")
        case PermissionRequested(permission_id=key, action=action, status=status):
            return line(f"{key} {action}: {status}")
        case PermissionResolved(permission_id=key, action=action, status=status):
            return line(f"{key} {action}: {status}")
        case QuestionRequested(question_id=key, prompt=prompt):
            return line(f"{key} {prompt}")
        case QuestionResolved(question_id=key, status=status, response=response):
            return line(f"{key} {status}: {response or ''}")
        case _:
            return _rest(event)


def _rest(event: Event) -> str:
    match event.data:
        case SessionStarted(metadata=metadata):
            return line(_dense(metadata))
        case SessionEnded() as ended:
            return ending(ended)
        case SessionUpdated() as updated:
            named = ((name, getattr(updated, name)) for name in updated.__struct_fields__)
            return line(", ".join(f"{name}={value}" for name, value in named if _present(value)))
        case TurnStarted(turn_id=turn_id):
            return line(turn_id) if isinstance(turn_id, str) else ""
        case TurnEnded() as ended_turn:
            return outcome(ended_turn)
        case QueueUpdated(messages=messages):
            return f"{len(messages)} waiting"
        case Unmodelled(data=data):
            return line(_dense(data))
        case _:
            return ""


def gist(item: Item) -> str:
    """What an item holds, in short."""
    return " ".join(filter(None, (_part(part) for part in item.content)))


def _part(part: ContentPart) -> str:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return text
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case ToolResult(output=output):
            return output
        case FileRef(path=path, action=action):
            return f"{action} {path}"
        case Image(path=path):
            return f"image {path}"
        case Status(label=label, detail=detail):
            return f"{label} {detail or ''}".strip()
        case Json(json=value):
            return _dense(value)


def outcome(ended: TurnEnded) -> str:
    """How a turn ended, and what it took."""
    words: list[str] = [ended.outcome if isinstance(ended.outcome, str) else "ended"]
    if isinstance(usage := ended.usage, Usage):
        used = usage.input_tokens + usage.cached_input_tokens + usage.cache_write_tokens
        words.append(f"{used} tokens in, {usage.output_tokens} out")
        if isinstance(usage.cost_usd, float | int):
            words.append(f"${usage.cost_usd:.4f}")
    return line(", ".join(words))


def ending(ended: SessionEnded) -> str:
    """Why a session ended."""
    message = f": {ended.message}" if isinstance(ended.message, str) else ""
    return line(f"{ended.reason} by {ended.terminated_by}{message}")


def ask_permission(session: str, asked: PermissionRequested, reaching: str) -> list[str]:
    """A permission request, with the commands that answer it."""
    key = f"{shlex.quote(session)} {shlex.quote(asked.permission_id)}"
    return [
        f"permission wanted: {line(asked.action)}",
        # Marked, so that no line of an agent's can pass for one of ours.
        *(f"  | {shown}" for shown in _wanted(asked.metadata)),
        f"  dragoman reply {key} once{reaching}      (or: always, reject)",
    ]


def _wanted(metadata: Any) -> list[str]:
    """What would be done: all of it, for it is what a person approves."""
    if not isinstance(metadata, dict):
        return []
    for name in ("command", "diff", "input"):
        if wanted := metadata.get(name):
            text = wanted if isinstance(wanted, str) else _dense(wanted)
            return reveal(text).split("\n")
    return []


def ask_question(session: str, asked: QuestionRequested, reaching: str) -> list[str]:
    """A question, with the commands that answer it."""
    key = f"{shlex.quote(session)} {shlex.quote(asked.question_id)}"
    parts = questions(asked)
    shown = ["question:"]
    for part in parts:
        shown.append(f"  {line(part.prompt, 400)}{' (several)' if part.multi_select else ''}")
        shown += (f"    - {_option(label, why)}" for label, why in _options(part))
    example = " ".join(f"--answer {shlex.quote(_example(part))}" for part in parts)
    shown.append(f"  dragoman reply {key} {example}{reaching}      (or: reject)")
    return shown


def questions(asked: QuestionRequested) -> tuple[Question, ...]:
    """The parts of a question; an older daemon names only the first."""
    if isinstance(asked.questions, tuple) and asked.questions:
        return asked.questions
    return (Question(prompt=asked.prompt),)


def _options(part: Question) -> list[tuple[str, str | None]]:
    return [(option.label, option.description) for option in part.options]


def _option(label: str, why: str | None) -> str:
    return line(f"{label}: {why}" if why else label)


def _example(part: Question) -> str:
    return line(part.options[0].label) if part.options else "TEXT"


def _dense(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _present(value: object) -> bool:
    import msgspec

    return value is not msgspec.UNSET
