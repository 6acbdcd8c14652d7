"""Connection limits: how many, who makes room, who takes too long."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from dragoman.errors import Unavailable
from dragoman.http.send_buffer import Backlog
from dragoman.settings import Settings

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often everybody is looked at."""
OWN_FILES = 48
"""So many the daemon keeps for itself, where there are so many."""
FEWEST = 4
"""So many may be connected, however few files there are."""
UNAUTHENTICATED = 64
"""So many who cannot come in are being told so; the first of them goes when another one comes."""


class ConnectionSettings(Struct, frozen=True, kw_only=True):
    """What one connection, and all of them together, may take."""

    header_bytes: int = 32 * 1024
    header_count: int = 100
    header_s: float = 10.0
    body_s: float = 30.0
    stalled_s: float = 60.0
    connections: int = 0
    streams: int = 0


def connection_settings(settings: Settings) -> ConnectionSettings:
    """The limits as they are set."""
    return ConnectionSettings(
        header_bytes=settings.max_header_bytes,
        header_s=settings.header_timeout_s,
        body_s=settings.body_timeout_s,
        stalled_s=settings.stalled_reader_s,
        connections=settings.max_connections,
        streams=settings.max_streams,
    )


class ConnectionMember(Protocol):
    """Somebody who is connected."""

    def look(self, now: float) -> None:
        """End what has taken too long."""

    def make_room(self) -> None:
        """Go, since others have something to ask."""


class ConnectionLimits:
    """Who is connected, and what each is about.

    A member is idle until its request is here, and again when it was answered. Where all
    places are taken, who has been idle for longest goes. So connections that ask for nothing,
    or ask it a byte at a time, keep nobody out.
    """

    def __init__(self, limits: ConnectionSettings | None = None) -> None:
        self.limits = limits or ConnectionSettings()
        self.backlog = Backlog()
        self.refused = 0
        """How many connections and streams were turned away."""
        self._idle: dict[ConnectionMember, None] = {}
        self._busy: set[ConnectionMember] = set()
        self._streaming: set[ConnectionMember] = set()
        self._unauthenticated: dict[ConnectionMember, None] = {}
        self._clock: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        """How many are connected."""
        return len(self._idle) + len(self._busy) + len(self._streaming)

    @property
    def streams(self) -> int:
        """How many follow a stream."""
        return len(self._streaming)

    # --- Coming and going ---

    def enter(self, member: ConnectionMember) -> bool:
        """Let somebody in. False: all places are taken by others that are at work."""
        places = self.places
        while self.connections >= places and self._idle:
            oldest = next(iter(self._idle))
            self.leave(oldest)
            oldest.make_room()
        if self.connections < places:
            self.idle(member)
            return True
        self._turn_away("connection")
        if len(self._unauthenticated) >= UNAUTHENTICATED:
            next(iter(self._unauthenticated)).make_room()
        self._unauthenticated[member] = None
        return False

    def idle(self, member: ConnectionMember) -> None:
        """Somebody has nothing to be answered."""
        self._busy.discard(member)
        self._idle.pop(member, None)
        self._idle[member] = None
        self._wind_up()

    def busy(self, member: ConnectionMember) -> None:
        """Somebody's request is here."""
        self._idle.pop(member, None)
        if member not in self._streaming:
            self._busy.add(member)
            self._wind_up()

    def leave(self, member: ConnectionMember) -> None:
        """Somebody has gone."""
        self._idle.pop(member, None)
        self._busy.discard(member)
        self._streaming.discard(member)
        self._unauthenticated.pop(member, None)

    @contextmanager
    def streaming(self, member: ConnectionMember) -> Iterator[None]:
        """Somebody follows a stream meanwhile. Raise Unavailable where too many do."""
        if self.streams >= self.stream_places:
            self._turn_away("stream")
            raise Unavailable(
                f"{self.streams} streams are open, and no more are possible; try again later, or "
                "raise max_streams"
            )
        self._busy.discard(member)
        self._idle.pop(member, None)
        # A stream looks after itself: it knows best whether its reader stalls.
        self._streaming.add(member)
        try:
            yield
        finally:
            if member in self._streaming:
                self._streaming.discard(member)
                self.busy(member)

    def _turn_away(self, what: str) -> None:
        if self.refused == 0 or self.refused.bit_count() == 1:
            log.warning("a %s was turned away: there are too many (%d so far)", what, self.refused)
        self.refused += 1

    @property
    def places(self) -> int:
        """How many may be connected."""
        if self.limits.connections:
            return self.limits.connections
        # The rest is for the store and for agents.
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return 1 << 30
        return max(FEWEST, min(files * 3 // 4, files - OWN_FILES))

    @property
    def stream_places(self) -> int:
        """How many may follow a stream."""
        # A few places stay for requests: a stream holds its own for hours.
        return self.limits.streams or self.places * 9 // 10

    # --- The clock ---

    def _interval_s(self) -> float:
        limits = self.limits
        return min(LOOK_S, limits.header_s / 4, limits.body_s / 4, limits.stalled_s / 4)

    def _wind_up(self) -> None:
        if self._clock is None:
            self._clock = asyncio.get_running_loop().call_later(self._interval_s(), self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for member in (*self._idle, *self._busy, *self._unauthenticated):
            member.look(now)
        self._clock = None
        if self._idle or self._busy or self._unauthenticated:
            self._wind_up()
