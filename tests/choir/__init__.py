"""Agents of every lifetime, as real programs with real adapters.

The choir serves all sessions on one process, in JSON-RPC without the `jsonrpc` member. The soloist
is the same program, with a process for each session. The busker's process lives for one turn, and
the modest one is a busker that takes neither modes nor variants, skills or MCP servers.
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
from tests.choir.busker import BuskerConverter
from tests.choir.convert import ChoirConverter, SoloConverter, delete_request, route
from tests.daemon import Daemon

_HERE = Path(__file__).parent
SINGER = (sys.executable, "-P", str(_HERE / "singer.py"))
BUSKER_COMMAND = (sys.executable, "-P", str(_HERE / "busker_agent.py"))
_FEATURES: frozenset[Feature] = MOCK.capabilities.shown | {"sharedProcess"}


def _shared(spec: Spec, command: tuple[str, ...]) -> Launch:
    return Launch(argv=command, env=spec.env, cwd="/", wire="jsonrpc-bare", lifetime="shared")


def _alone(spec: Spec, command: tuple[str, ...]) -> Launch:
    return Launch(argv=command, env=spec.env, cwd=spec.directory, wire="jsonrpc")


def _per_turn(spec: Spec, command: tuple[str, ...]) -> Launch:
    resume = (f"--resume={spec.native_session_id}",) if spec.native_session_id else ()
    return Launch(argv=(*command, *resume), env=spec.env, cwd=spec.directory, lifetime="turn")


CHOIR: Adapter = msgspec.structs.replace(
    MOCK,
    id="choir",
    name="Choir",
    command=SINGER,
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES),
    probe_recipes=None,
    launch=_shared,
    converter=ChoirConverter,
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
FORGETFUL: Adapter = msgspec.structs.replace(
    CHOIR,
    id="forgetful",
    name="Forgetful",
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES - {"resume"}),
)
SOLOIST: Adapter = msgspec.structs.replace(
    CHOIR, id="soloist", name="Soloist", launch=_alone, converter=SoloConverter, handshake=(),
    route=None, delete_request=None, capabilities=MOCK.capabilities,
)  # fmt: skip
BUSKER: Adapter = msgspec.structs.replace(
    MOCK, id="busker", name="Busker", command=BUSKER_COMMAND, probe_recipes=None, launch=_per_turn,
    converter=BuskerConverter,
)  # fmt: skip
MODEST: Adapter = msgspec.structs.replace(
    BUSKER, id="modest", name="Modest", permission_modes=("default",), unused=(),
    capabilities=Capabilities(
        native=_FEATURES - {"variants", "planMode", "permissions", "sharedProcess"},
        shown=_FEATURES - {"variants", "planMode", "permissions", "sharedProcess"},
    ),
)  # fmt: skip
"""Takes nothing that a session could be given."""


class ChoirDaemon(Daemon):
    """A daemon that knows them."""

    MODULE = "tests.choir.main"


@contextmanager
def house(folder: Path, **env: str) -> Iterator[Daemon]:
    """Such a daemon for a test, with a home for the choir in the same folder."""
    daemon = ChoirDaemon(folder / "data", env={"CHOIR_HOME": str(folder), **env})
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process is not None:
            daemon.stop()
