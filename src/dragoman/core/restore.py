"""Restores from the log what is open after a restart."""

from __future__ import annotations

from dragoman.core.normalize import Normalizer
from dragoman.core.requests import OpenRequest
from dragoman.schema.events import (
    Body,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    TurnEnded,
    TurnStarted,
)


def restore(normalizer: Normalizer, body: Body) -> None:
    """Take in an event that is in the log already; our ids stand in for the agent's keys."""
    match body:
        case ItemDelta():
            normalizer.items.restore_delta(body)
        case ItemStarted(item=item):
            normalizer.items.restore_started(item)
        case ItemCompleted(item=item):
            normalizer.items.restore_completed(item)
        case TurnStarted(turn_id=turn_id, metadata=metadata):
            normalizer.turn_id, normalizer.turn_metadata = turn_id or None, metadata or {}
        case TurnEnded():
            normalizer.turn_id = None
        case PermissionRequested(permission_id=key) | QuestionRequested(question_id=key):
            detached = "subagent_id" in (body.metadata or {})
            normalizer.requests[key] = OpenRequest(key=key, body=body, detached=detached)
        case PermissionResolved(permission_id=key) | QuestionResolved(question_id=key):
            normalizer.requests.pop(key, None)
        case SessionEnded():
            normalizer.ended = True
        case _:
            pass
