"""The SSE endpoint for the events of all sessions."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from dragoman.errors import DragomanError, InvalidRequest
from dragoman.http import parse
from dragoman.http.connection import connection_of
from dragoman.http.context import Daemon, daemon_of
from dragoman.http.events import last_event_id, stream
from dragoman.http.problems import refuse
from dragoman.runtime.session.manager import ensure_id
from dragoman.schema.event_filter import FeedQuery
from dragoman.schema.events import BODIES
from dragoman.store import EventFilter

MAX_CHOICES = 100
"""So many sessions, types or agents can be named."""
_LISTS = frozenset({"agent", "sessionId", "type"})


class AllEventsStream:
    """GET the events of all sessions as they come."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replay what is after the cursor, then go on live; without one, begin now."""
        daemon = daemon_of(scope)
        global_log = daemon.store.global_log
        try:
            wanted = parse.query(FeedQuery, scope["query_string"], lists=_LISTS)
            which = _filter(wanted, daemon)
            after = _position(wanted, last_event_id(scope), global_log.position)
        except DragomanError as error:
            return await refuse(scope, send, error)
        sink = connection_of(scope).write_chunk
        batches = global_log.follow(after, which, raw=wanted.include_raw, sink=sink)
        return await stream(batches, scope, send)


def _position(wanted: FeedQuery, resumed: int | None, newest: int) -> int:
    given = (("Last-Event-ID", resumed), ("cursor", wanted.cursor), ("offset", wanted.offset))
    for field, position in given:
        if position is None:
            continue
        if position > newest:
            raise InvalidRequest(
                f"the position {position} is beyond the newest event, {newest}", field=field
            )
        return position
    return newest


def _filter(wanted: FeedQuery, daemon: Daemon) -> EventFilter:
    agents = _choices(wanted.agent, "agent")
    for agent in sorted(agents):
        daemon.agents.adapter(agent)
    session_ids = _choices(wanted.session_id, "sessionId")
    for session_id in session_ids:
        ensure_id(session_id)
    types = _choices(wanted.type, "type")
    if unknown := sorted(types - BODIES.keys()):
        raise InvalidRequest(
            f"there are no events of type {', '.join(unknown)}; known: {', '.join(BODIES)}",
            field="type",
        )
    return EventFilter(agents=agents, session_ids=session_ids, types=types)


def _choices(text: str | None, field: str) -> frozenset[str]:
    choices = frozenset() if text is None else frozenset(text.split(","))
    if len(choices) > MAX_CHOICES:
        raise InvalidRequest(
            f"{field} can name {MAX_CHOICES}, and names {len(choices)}", field=field
        )
    return choices
