"""Which events the stream of all sessions shows."""

from __future__ import annotations

from dragoman.schema.camel import Http
from dragoman.schema.http import Position


class FeedQuery(Http, frozen=True, kw_only=True):
    """Where a stream of all sessions begins, and what it leaves out."""

    cursor: Position | None = None
    """Begin after this position, the `id` of an event of this stream; 0: with the first event
    there is; absent: with the next one that comes."""
    offset: Position | None = None
    """The same, where `cursor` is absent."""
    agent: str | None = None
    """Only sessions of these agents, separated by commas."""
    session_id: str | None = None
    """Only these sessions, their ids separated by commas."""
    type: str | None = None
    """Only events of these types, separated by commas."""
    include_raw: bool = False
