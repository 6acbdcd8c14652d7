"""Agents on this machine: which there are, and how each is started."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping

from dragoman.adapter import Adapter
from dragoman.errors import AgentNotInstalled, UnsupportedAgent
from dragoman.settings import Settings


class Agents:
    """The adapters, with what the settings say about each."""

    def __init__(self, adapters: Mapping[str, Adapter], settings: Settings) -> None:
        self._adapters = adapters
        self._settings = settings

    def all(self) -> list[Adapter]:
        """Every agent we speak to."""
        return list(self._adapters.values())

    def adapter(self, agent: str) -> Adapter:
        """One agent. Raise UnsupportedAgent."""
        if agent not in self._adapters:
            raise UnsupportedAgent(agent, sorted(self._adapters))
        return self._adapters[agent]

    def command(self, adapter: Adapter) -> tuple[str, ...]:
        """The executable and its first arguments, as found. Raise AgentNotInstalled."""
        command = self._command(adapter)
        path = shutil.which(command[0])
        if path is None:
            raise AgentNotInstalled(adapter.id, command[0])
        return (path, *command[1:])

    def path(self, adapter: Adapter) -> str | None:
        """Where the executable is, None if it is not there."""
        return shutil.which(self._command(adapter)[0])

    def _command(self, adapter: Adapter) -> tuple[str, ...]:
        table = self._settings.agents.get(adapter.id)
        if table is not None and table.command:
            return tuple(shlex.split(table.command)) or adapter.command
        return adapter.command
