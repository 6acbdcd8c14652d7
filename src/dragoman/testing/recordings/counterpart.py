"""The agent's side of a recording: pairs what was recorded with what we send.

What it said is heard as a session would hear it. One for each process. Pure.
"""

from __future__ import annotations

from collections import deque
from itertools import compress
from operator import not_
from typing import Any, Protocol

import msgspec

from dragoman.adapter import EVERYONE, Adapter
from dragoman.core.interpreter import keys_of
from dragoman.facts import Launch
from dragoman.steps import Claim, Notify, Outgoing, Request, Respond, Send
from dragoman.testing.recordings.substitutions import Substitutions, difference
from dragoman.wire.http import Endpoint, HttpCaller
from dragoman.wire.jsonrpc import IncomingRequest, Notification, Peer, Response, Stray

Heard = bytes | IncomingRequest | Response[str] | Stray
"""A message, a request, what became of one of ours, and what fits nothing."""


class Counterpart(Protocol):
    """A recorded process, as one session meets it."""

    waiting: deque[Heard]
    """What it said, and the session has not heard yet."""
    unmatched: list[bytes]
    """What we said, and the recording has nothing like it, so far."""
    strays: list[bytes]
    """What was recorded towards it, and we have said nothing like it, so far."""
    aside: list[bytes]
    """What it said, and not to this session."""

    def tell(self, said: Outgoing) -> None:
        """Our converter says something."""

    def hear(self, recorded: bytes) -> None:
        """It says something; for us, that waits."""

    def is_ours(self, recorded: bytes) -> bool:
        """Whether what was recorded towards it may be of our session."""

    def match(self, recorded: bytes, after: int = 0) -> None:
        """Pair what was recorded towards it, if possible with what we have said after so much."""

    def pair(self) -> None:
        """Pair what was recorded before we came to say it."""

    def unclaimed(self) -> list[bytes]:
        """What it said to somebody whom nobody knows."""


def counterpart(adapter: Adapter, launch: Launch, names: Substitutions) -> Counterpart:
    """The other side of a process that was launched so."""
    return PlainLines(names) if launch.wire == "jsonl" else Calls(adapter, launch, names)


class PlainLines:
    """Plain lines: they are the same if they are of the same kind."""

    def __init__(self, names: Substitutions) -> None:
        self.waiting: deque[Heard] = deque()
        self.unmatched: list[bytes] = []
        self.strays: list[bytes] = []
        self.aside: list[bytes] = []
        self._names = names

    def tell(self, said: Outgoing) -> None:
        """Our converter says something."""
        if isinstance(said, Send):
            self.unmatched.append(said.data)

    def hear(self, recorded: bytes) -> None:
        """It says something."""
        self.waiting.append(_copy(self._names.apply(recorded)))

    def is_ours(self, recorded: bytes) -> bool:
        """Say yes: there is nobody else."""
        return True

    def match(self, recorded: bytes, after: int = 0) -> None:
        """Pair what was recorded towards it, if possible with what we have said after so much."""
        if not any(
            self._learn(recorded, s) for s in [*self.unmatched[after:], *self.unmatched[:after]]
        ):
            self.strays.append(recorded)

    def pair(self) -> None:
        """Pair what was recorded before we came to say it."""
        for recorded in list(self.strays):
            if any(self._learn(recorded, sent) for sent in self.unmatched):
                self.strays.remove(recorded)

    def unclaimed(self) -> list[bytes]:
        """Nothing: all of it is for us."""
        return []

    def _learn(self, recorded: bytes, sent: bytes) -> bool:
        if not self._same(recorded, sent):
            return False
        self.unmatched.remove(sent)
        return True

    def _same(self, recorded: bytes, sent: bytes) -> bool:
        # Another driver may have sent less than our converter does, or more.
        if difference(recorded, sent, lenient=True) is not None:
            return False
        self._names.learn(recorded, sent, lenient=True)
        return True


class Calls(PlainLines):
    """JSON-RPC: a request is the same if its method is, and then its reply is ours."""

    def __init__(self, adapter: Adapter, launch: Launch, names: Substitutions) -> None:
        super().__init__(names)
        self._adapter = adapter
        self._shared = launch.lifetime == "shared"
        self._peer: Endpoint[str | None] = (
            HttpCaller() if launch.wire == "http" else Peer(bare=launch.wire == "jsonrpc-bare")
        )
        self._ids: dict[bytes, str] = {}
        """The recorded id of a request → ours."""
        self._claimed: set[str] = set()
        self._others: set[str] = set()
        """Keys of sessions beside ours."""
        self._waiting: list[tuple[tuple[str, ...], Notification | IncomingRequest]] = []
        self._greetings = {said.method for said in adapter.handshake}
        self._is_there = False
        """Our session has begun to talk."""
        for said in adapter.handshake if self._shared else ():
            self._say(said, None)

    def tell(self, said: Outgoing) -> None:
        """Our converter says something."""
        match said:
            case Claim(native_key=key):
                self._claim(key)
            case Request() | Notify() | Respond():
                self._say(said, said.tag if isinstance(said, Request) else None)
            case _:
                super().tell(said)

    def _say(self, said: Request | Notify | Respond, tag: str | None) -> None:
        match said:
            case Request(method=method, params=params):
                self.unmatched.append(self._peer.request(method, params, tag))
            case Notify(method=method, params=params):
                self.unmatched.append(self._peer.notify(method, params))
            case Respond(key=key, result=result, error=error):
                line = self._peer.respond(key, result if error is None else error)
                self.unmatched += [] if line is None else [line]

    def _claim(self, key: str) -> None:
        self._claimed.add(key)
        for keys, said in self._waiting:
            if key in keys:
                self._give(said)
        self._waiting = [held for held in self._waiting if key not in held[0]]

    def _give(self, said: Notification | IncomingRequest) -> None:
        self.waiting.append(said.message if isinstance(said, Notification) else said)

    # --- What it says ---

    def hear(self, recorded: bytes) -> None:
        """It says something: to us, to others, or about itself."""
        line = self._addressed(_copy(self._names.apply(recorded)))
        heard = None if line is None else self._peer.receive(line)
        match heard:
            case Notification() | IncomingRequest():
                self._route(heard)
            case Response(tag=str(tag), reply=reply, message=message):
                self.waiting.append(Response(tag=tag, reply=reply, message=message))
            case Stray() if not self._shared:
                self.waiting.append(heard)
            case _:
                self.aside.append(recorded)

    def _addressed(self, line: bytes) -> bytes | None:
        """A reply, under the id of our request; None: to a request that we did not make."""
        message = _message(line)
        if message is None or "method" in message or "id" not in message:
            return line
        ours = self._ids.get(msgspec.json.encode(message["id"]))
        return None if ours is None else msgspec.json.encode({**message, "id": ours})

    def _route(self, said: Notification | IncomingRequest) -> None:
        keys = self._keys(said.message)
        for_all = EVERYONE in keys
        if not self._shared or self._claimed.intersection(keys) or (for_all and self._is_there):
            self._give(said)
        elif keys and not for_all:
            self._waiting.append((keys, said))
        else:
            self.aside.append(said.message)

    def unclaimed(self) -> list[bytes]:
        """What it said under keys that are neither ours nor those of another session."""
        theirs = [any(map(self._is_anothers, keys)) for keys, _ in self._waiting]
        messages = [said.message for _, said in self._waiting]
        self.aside += compress(messages, theirs)
        return list(compress(messages, map(not_, theirs)))

    def _is_anothers(self, key: str) -> bool:
        """Whether somebody else spoke of it, or was told of it."""
        return key in self._others or any(key.encode() in line for line in self.aside)

    # --- What it was told ---

    def is_ours(self, recorded: bytes) -> bool:
        """Whether it names nobody, or us."""
        keys = self._keys(recorded)
        ours = not keys or bool(self._claimed.intersection(keys))
        if not ours:
            self._others.update(keys)
        return ours

    def _keys(self, line: bytes) -> tuple[str, ...]:
        keys = keys_of(self._adapter, line) if self._shared else ()
        return keys if isinstance(keys, tuple) else ()

    def _differ(self, recorded: bytes, sent: bytes) -> bool:
        """Whether they are about different sessions."""
        one, other = self._keys(recorded), self._keys(sent)
        return bool(one and other) and set(one).isdisjoint(other)

    def _same(self, recorded: bytes, sent: bytes) -> bool:
        one, other = _message(recorded), _message(sent)
        if one is None or other is None or one.get("method") != other.get("method"):
            return False
        if "method" not in one:
            return one.get("id") == other.get("id") and not difference(recorded, sent, lenient=True)
        if ("id" in one) != ("id" in other) or self._differ(recorded, sent):
            return False
        if "id" in one:
            self._ids[msgspec.json.encode(one["id"])] = other["id"]
        self._is_there |= one["method"] not in self._greetings
        self._names.learn_ids(one.get("params"), other.get("params"))
        return True


def _copy(line: bytes) -> bytes:
    """A copy, because each line shall be told from another with the same words."""
    return bytes(bytearray(line))


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None
