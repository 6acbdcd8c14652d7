"""Agents of every lifetime, as real programs with real adapters.

`shared` serves all sessions on one process, in JSON-RPC without the `jsonrpc` member; `volatile` is
the same and cannot resume. `dedicated` is that program with a process for each session. The process
of `perturn` lives for one turn, and `minimal` is one of these that takes nothing a session could be
given: neither modes nor variants, skills or MCP servers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.agents.mock import ADAPTER as MOCK
from dragoman.facts import Capabilities, Feature, IgnoredMessage, Launch
from dragoman.steps import Notify, Request
from tests.daemon import Daemon
from tests.shared_agent.convert import (
    DedicatedConverter,
    SharedAgentConverter,
    delete_request,
    route,
)
from tests.shared_agent.per_turn import PerTurnConverter

_HERE = Path(__file__).parent
SHARED_COMMAND = (sys.executable, "-P", str(_HERE / "agent.py"))
PER_TURN_COMMAND = (sys.executable, "-P", str(_HERE / "per_turn_agent.py"))
_FEATURES: frozenset[Feature] = MOCK.capabilities.shown | {"sharedProcess"}


def _shared(spec: Spec, command: tuple[str, ...]) -> Launch:
    return Launch(argv=command, env=spec.env, cwd="/", wire="jsonrpc-bare", lifetime="shared")


def _alone(spec: Spec, command: tuple[str, ...]) -> Launch:
    return Launch(argv=command, env=spec.env, cwd=spec.directory, wire="jsonrpc")


def _per_turn(spec: Spec, command: tuple[str, ...]) -> Launch:
    resume = (f"--resume={spec.native_session_id}",) if spec.native_session_id else ()
    return Launch(argv=(*command, *resume), env=spec.env, cwd=spec.directory, lifetime="turn")


SHARED: Adapter = msgspec.structs.replace(
    MOCK,
    id="shared",
    name="Shared",
    command=SHARED_COMMAND,
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES),
    probe_recipes=None,
    launch=_shared,
    converter=SharedAgentConverter,
    handshake=(
        Request(method="initialize", params={"client": "test"}),
        Notify(method="initialized"),
    ),
    route=route,
    delete_request=delete_request,
    ignored=(
        IgnoredMessage(where={"result.name": "*"}, why="a greeting was heard"),
        IgnoredMessage(where={"result.threadId": "*"}, why="its id is on every event"),
        IgnoredMessage(where={"result.turnId": "*"}, why="the message is shown"),
        IgnoredMessage(where={"method": "turn/started"}, why="the message has begun it"),
    ),
)
VOLATILE: Adapter = msgspec.structs.replace(
    SHARED,
    id="volatile",
    name="Volatile",
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES - {"resume"}),
)
DEDICATED: Adapter = msgspec.structs.replace(
    SHARED, id="dedicated", name="Dedicated", launch=_alone, converter=DedicatedConverter,
    handshake=(), route=None, delete_request=None, capabilities=MOCK.capabilities,
)  # fmt: skip
PER_TURN: Adapter = msgspec.structs.replace(
    MOCK, id="perturn", name="PerTurn", command=PER_TURN_COMMAND, probe_recipes=None,
    launch=_per_turn, converter=PerTurnConverter,
)  # fmt: skip
MINIMAL: Adapter = msgspec.structs.replace(
    PER_TURN, id="minimal", name="Minimal", permission_modes=("default",), unused=(),
    capabilities=Capabilities(
        native=_FEATURES - {"variants", "planMode", "permissions", "sharedProcess"},
        shown=_FEATURES - {"variants", "planMode", "permissions", "sharedProcess"},
    ),
)  # fmt: skip
"""Takes nothing that a session could be given."""


class SharedAgentDaemon(Daemon):
    """A daemon that knows them."""

    MODULE = "tests.shared_agent.main"


@contextmanager
def house(folder: Path, **env: str) -> Iterator[Daemon]:
    """Such a daemon for a test, with a home for the shared in the same folder."""
    daemon = SharedAgentDaemon(folder / "data", env={"SHARED_AGENT_HOME": str(folder), **env})
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process is not None:
            daemon.stop()
