"""A stand-in adapter for an agent that this daemon does not have.

Its sessions are closed, read, ended and deleted like all others; nothing is ever told to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.adapter import Adapter, Spec
from dragoman.errors import Unavailable
from dragoman.facts import Capabilities, Exit, Launch
from dragoman.schema.commands import Command
from dragoman.steps import Step


class _Silent:
    """Says nothing, and is told nothing."""

    def __init__(self, spec: Spec) -> None:
        pass

    def command(self, command: Command) -> Iterable[Step]:
        return ()

    def receive(self, message: bytes) -> Iterable[Step]:
        return ()

    def steers(self) -> bool:
        return False

    def on_open(self, spec: Spec) -> Iterable[Step]:
        return ()

    def on_close(self, exit: Exit) -> Iterable[Step]:
        return ()


def _launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    raise Unavailable(f"this daemon does not have the agent {spec.agent!r}")


def is_absent(adapter: Adapter) -> bool:
    """Whether an adapter is such a stand-in."""
    return adapter.launch is _launch


def absent(agent: str) -> Adapter:
    """The adapter of an agent of which nothing is known but its id."""
    return Adapter(
        id=agent,
        name=agent,
        event_prefix=agent,
        # As far as anybody knows it can go on when it is back: its sessions are not ended for it.
        capabilities=Capabilities(native=frozenset(), shown=frozenset({"resume"})),
        command=(),
        modes=(),
        launch=_launch,
        converter=_Silent,
        terms={},
    )
