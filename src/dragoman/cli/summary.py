"""One-line summaries of events and items. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dragoman.cli.requests import answered, decided, dense
from dragoman.cli.sanitize import line
from dragoman.client import UnknownData
from dragoman.schema.events import (
    AgentUnparsed,
    Context,
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
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

WIDE = 400


def summary(event: Event) -> str:
    """What an event says, on one line."""
    match event.data:
        case ItemStarted(item=item):
            return f"{item.kind} {item.role or ''}".strip()
        case ItemDelta(delta=delta, content_type=kind):
            return line(delta if kind == "text" else f"[{kind}] {delta}")
        case ItemCompleted(item=item):
            return line(f"{_state(item)}{item.kind} {item.role or ''}: {gist(item)}")
        case ErrorRaised(message=message, code=code):
            return line(f"{code or 'error'}: {message}")
        case AgentUnparsed(error=error, location=location):
            return line(f"{location}: {error}")
        case PermissionRequested(permission_id=key, action=action, metadata=about):
            return line(f"{key} {action}{_command(about)}")
        case PermissionResolved(permission_id=key, action=action) as resolved:
            return line(f"{key} {action}: {decided(resolved)}", WIDE)
        case QuestionRequested(question_id=key, prompt=prompt):
            return line(f"{key} {prompt}")
        case QuestionResolved(question_id=key) as resolved:
            return line(f"{key} {answered(resolved)}", WIDE)
        case _:
            return _rest(event)


def _rest(event: Event) -> str:
    match event.data:
        case SessionStarted(metadata=metadata):
            return line(dense(metadata))
        case SessionEnded() as ended:
            return ending(ended)
        case SessionUpdated() as updated:
            return line(", ".join(_changes(updated)))
        case TurnStarted(turn_id=turn_id):
            return line(turn_id) if isinstance(turn_id, str) else ""
        case TurnEnded() as ended_turn:
            return outcome(ended_turn)
        case QueueUpdated(messages=messages, cancelled=cancelled):
            gone = f", {cancelled} taken back" if isinstance(cancelled, str) else ""
            return line(f"{len(messages)} waiting{gone}")
        case UnknownData(data=data):
            return line(dense(data))
        case _:
            return ""


def _state(item: Item) -> str:
    if item.status != "failed":
        return ""
    why = f" ({item.reason})" if isinstance(item.reason, str) else ""
    exit_code = f" (exit {item.exit_code})" if isinstance(item.exit_code, int) else ""
    return f"failed{why}{exit_code} "


def _command(about: Any) -> str:
    command = about.get("command") if isinstance(about, dict) else None
    return f": {command}" if isinstance(command, str) else ""


def _changes(updated: SessionUpdated) -> Iterator[str]:
    """What changed about a session, in words."""
    for name in updated.__struct_fields__:
        match name, getattr(updated, name):
            case _, Context(used=used, window=window):
                yield f"context {used:,} of {window:,}"
            case _, str(value):
                yield f"{name.replace('_', ' ')} {value}"
            case "rate_limits", dict() as limits:
                told = (f"{key} {value}" for key, value in _leaves(limits))
                yield f"rate limits: {', '.join(told)}"


def _leaves(limits: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in limits.items():
        if isinstance(value, dict):
            yield from ((f"{name} {inner}", leaf) for inner, leaf in _leaves(value))
        elif value is not None and not isinstance(value, list):
            yield name, value


def gist(item: Item) -> str:
    """What an item holds, in short."""
    return " ".join(filter(None, map(_part, _readable(item.content))))


def _readable(parts: Iterable[ContentPart]) -> list[ContentPart]:
    """The parts for people: what a status says in words needs no JSON after it."""
    parts = list(parts)
    says = any(isinstance(part, Status) and part.detail for part in parts)
    return [part for part in parts if not (says and isinstance(part, Json))]


def _part(part: ContentPart) -> str:
    match part:
        case Reasoning(visibility="private"):
            return ""
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
            return f"{label}: {detail}" if detail else label
        case Json(json=value):
            return dense(value)


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
