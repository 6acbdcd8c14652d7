"""Which agents there are, and where each comes from; some come and go while the daemon runs."""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.adapter import Adapter
from dragoman.agents import packaged
from dragoman.agents.acp import configured
from dragoman.agents.acp.known_agents import KNOWN_AGENTS, KnownAgent
from dragoman.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    StartRefused,
    StorageFull,
    UnsupportedAgent,
    WrongSetting,
)
from dragoman.schema.http import AddAgent, AgentSource
from dragoman.schema.texts import AGENT_ID_PATTERN, AGENT_ID_RULE
from dragoman.settings import AgentSettings, Settings, command_variable
from dragoman.store.fsync import write_private

log = logging.getLogger(__name__)
FILE = "agents.json"
MAX_ADDED = 100
_ID = re.compile(AGENT_ID_PATTERN)
_NOTHING_SET = AgentSettings()


class RegisteredAgent(Struct, frozen=True, kw_only=True):
    """An agent, with what is set for it."""

    adapter: Adapter
    source: AgentSource
    settings: AgentSettings = _NOTHING_SET


class _StoredAgents(Struct, frozen=True):
    agents: tuple[AddAgent, ...] = ()


class AgentRegistry:
    """Agents by their ids: ours, those of the settings, those added over HTTP, the catalogue.

    What was added is kept in a file of its own: the daemon alone writes it, in one thread. It holds
    values of variables, so only its owner may read it.
    """

    def __init__(self, adapters: Mapping[str, Adapter], settings: Settings) -> None:
        """Raise WrongSetting where the settings name an agent that there is not, and StartRefused
        where what was added cannot be read."""
        self._path = Path(settings.data_dir) / FILE
        self._adapters = adapters
        self._tables = _by_id(adapters, settings.agents)
        _ensure_tables(adapters, self._tables)
        self._added = {each.id: each for each in _load(self._path)}
        self._thread = ThreadPoolExecutor(1, "registry")
        self._agents: dict[str, RegisteredAgent] = {}
        self._agents = self._combine()
        for name in self._added:
            # A newer Dragoman or the settings have one of this id, and win.
            if self._agents[name].source != "api":
                log.warning("agent %s of %s is not used: there is another one", name, self._path)

    def all(self) -> list[RegisteredAgent]:
        """Every agent: ours first, the catalogue last."""
        return list(self._agents.values())

    def ids(self) -> list[str]:
        """Every agent's id, sorted."""
        return sorted(self._agents)

    def has(self, agent: str) -> bool:
        """Whether there is such an agent."""
        return agent in self._agents

    def get(self, agent: str) -> RegisteredAgent:
        """One agent. Raise UnsupportedAgent."""
        if agent not in self._agents:
            raise UnsupportedAgent(agent, self.ids())
        return self._agents[agent]

    def settings_of(self, agent: str) -> AgentSettings:
        """What is set for an agent, also for one that there is not: nothing."""
        found = self._agents.get(agent)
        return _NOTHING_SET if found is None else found.settings

    def env_of(self, agent: str) -> Mapping[str, str]:
        """The variables that an agent's settings give to its processes."""
        return self.settings_of(agent).env

    def is_current(self, adapter: Adapter) -> bool:
        """Whether this is the adapter that its agent has now."""
        found = self._agents.get(adapter.id)
        return found is not None and found.adapter is adapter

    async def add(self, wanted: AddAgent) -> RegisteredAgent:
        """Add an agent, durably. Raise Conflict where there is one of this id."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._add, wanted)

    async def remove(self, agent: str) -> None:
        """Remove an agent that was added. Raise NotFound, Conflict."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._remove, agent)

    def _add(self, wanted: AddAgent) -> RegisteredAgent:
        table = _table_of(wanted)
        taken = {command_variable(each): each for each in (*self._agents, *self._added)}
        if (other := taken.get(command_variable(wanted.id))) is not None:
            raise Conflict(f"there is an agent {other!r}; {self._way_out(other)}")
        if len(self._added) >= MAX_ADDED:
            raise Conflict(f"there are {MAX_ADDED} agents that were added; remove some")
        added = {**self._added, wanted.id: replace(wanted, command=table.words)}
        self._save(added)
        self._added = added
        self._agents = self._combine()
        return self._agents[wanted.id]

    def _remove(self, agent: str) -> None:
        found = self._agents.get(agent)
        if found is None:
            raise NotFound(f"there is no agent {agent!r}; known: {', '.join(self.ids())}")
        if found.source != "api":
            raise Conflict(f"agent {agent!r} cannot be removed: {_REASONS[found.source]}")
        added = {name: each for name, each in self._added.items() if name != agent}
        self._save(added)
        self._added = added
        self._agents = self._combine()

    def _way_out(self, agent: str) -> str:
        found = self._agents.get(agent)
        if found is not None and found.source == "api":
            return "remove it first, or choose another id"
        return "choose another id"

    def _combine(self) -> dict[str, RegisteredAgent]:
        """A new mapping: others are reading the old one. Who has not changed stays the same."""
        before = self._agents
        found = dict(self._own())
        for each in (*self._from_settings(), *self._from_api(), *self._from_catalogue()):
            found.setdefault(each.adapter.id, each)
        return {
            name: before[name] if _is_same(before.get(name), each) else each
            for name, each in found.items()
        }

    def _own(self) -> Iterable[tuple[str, RegisteredAgent]]:
        others = packaged()
        for name, adapter in self._adapters.items():
            source: AgentSource = "package" if name in others else "built-in"
            table = self._tables.get(name, _NOTHING_SET)
            yield name, RegisteredAgent(adapter=adapter, source=source, settings=table)

    def _from_settings(self) -> Iterable[RegisteredAgent]:
        """Those that the settings make agents."""
        known = {each.id: each for each in KNOWN_AGENTS}
        for name, table in self._tables.items():
            if table.adapter is not None:
                bare = KnownAgent(id=name, name=name, command=table.words)
                yield self._make(known.get(name, bare), table, "settings")

    def _from_api(self) -> Iterable[RegisteredAgent]:
        """Those that were added over HTTP."""
        for name, each in self._added.items():
            table = _table_of(each)
            bare = KnownAgent(id=name, name=name, command=table.words)
            yield self._make(bare, table, "api")

    def _from_catalogue(self) -> Iterable[RegisteredAgent]:
        for each in KNOWN_AGENTS:
            yield self._make(each, self._tables.get(each.id, _NOTHING_SET), "catalogue")

    def _make(
        self, known: KnownAgent, table: AgentSettings, source: AgentSource
    ) -> RegisteredAgent:
        package, recipes = known.package, known.probe_recipes
        if known.package_of in self._adapters:
            other = self._adapters[known.package_of]
            package = other.package and replace(other.package, installed_as=known.package_of)
            recipes = recipes or other.probe_recipes
        adapter = configured(
            known.id,
            name=table.name or known.name,
            command=known.command,
            env=known.env,
            package=package,
            credentials=known.credentials,
            verified=known.verified,
            fs=table.fs,
            terminal=table.terminal,
            auth_method=known.auth_method,
            modes=known.modes,
            features=known.features,
            extension=known.extension,
            ignored=known.ignored,
            probe_recipes=recipes,
        )
        return RegisteredAgent(adapter=adapter, source=source, settings=table)

    def _save(self, added: Mapping[str, AddAgent]) -> None:
        content = msgspec.json.encode(_StoredAgents(tuple(added.values())))
        try:
            write_private(self._path, msgspec.json.format(content, indent=2))
        except OSError as error:
            raise StorageFull(
                f"the agents could not be stored ({error.strerror}); nothing was changed"
            ) from None


_REASONS: dict[AgentSource, str] = {
    "built-in": "it is built in",
    "package": "it comes with a Python package; uninstall that, and start the daemon again",
    "catalogue": "it is in the built-in catalogue; `dragoman agents remove` uninstalls its program",
    "settings": "it is in the settings file; remove it there, and start the daemon again",
    "api": "",
}


def _is_same(before: RegisteredAgent | None, after: RegisteredAgent) -> bool:
    """Adapters that were made anew are not the same object, and sessions look at that."""
    return (
        before is not None
        and (before.source, before.settings) == (after.source, after.settings)
        and before.adapter.command == after.adapter.command
    )


def _table_of(wanted: AddAgent) -> AgentSettings:
    """What is asked for, as the settings would say it. Raise InvalidRequest."""
    table = AgentSettings(
        adapter=wanted.adapter,
        command=wanted.command,
        name=wanted.name,
        env=wanted.env or {},
        fs=wanted.fs,
        terminal=wanted.terminal,
    )
    try:
        words = table.words
    except ValueError as error:
        raise InvalidRequest(
            f"the command cannot be split as a shell would: {error}", field="command"
        ) from None
    if not words or not words[0]:
        raise InvalidRequest("the command is empty; its first word is a program", field="command")
    return replace(table, command=words)


def _by_id(
    adapters: Mapping[str, Adapter], tables: Mapping[str, AgentSettings]
) -> dict[str, AgentSettings]:
    """The tables by the ids of their agents: a variable cannot spell a dash."""
    ids = (*adapters, *(each.id for each in KNOWN_AGENTS))
    known = {command_variable(each): each for each in ids}
    return {known.get(command_variable(name), name): table for name, table in tables.items()}


def _ensure_tables(adapters: Mapping[str, Adapter], tables: Mapping[str, AgentSettings]) -> None:
    """Raise WrongSetting for a table that makes no sense."""
    known = {each.id for each in KNOWN_AGENTS}
    for agent, table in tables.items():
        if agent in adapters:
            _ensure_own(agent, table)
        elif table.adapter is None and agent not in known:
            names = ", ".join(sorted({*adapters, *known}))
            raise WrongSetting(
                f"the settings name an unknown agent {agent!r}; known: {names}. To add one that "
                f'speaks ACP: adapter = "acp" and command = [{shlex.quote(agent)!r}, …] in '
                f"[agents.{agent}]"
            )
        elif not _ID.fullmatch(agent):
            raise WrongSetting(f"the settings name an agent {agent!r}, and {AGENT_ID_RULE}")
        elif table.adapter is not None and agent not in known and not table.words:
            raise WrongSetting(
                f"agent {agent!r} of the settings has no command; say how it is started, e.g. "
                f'command = ["{agent}", "--acp"]'
            )


def _ensure_own(agent: str, table: AgentSettings) -> None:
    """Of an agent that has an adapter of its own only some things can be set."""
    if table.adapter is not None:
        raise WrongSetting(
            f"agent {agent!r} has an adapter of its own, and cannot be another one's; remove "
            "`adapter`, or choose another id"
        )
    for name in ("name", "fs", "terminal"):
        if getattr(table, name):
            raise WrongSetting(
                f"`{name}` is for agents that speak ACP, and {agent!r} is none; remove it"
            )


def _load(path: Path) -> tuple[AddAgent, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_StoredAgents).agents
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StartRefused(
            f"cannot read the agents in {path}: {error}; repair it, or move it away and add the "
            "agents anew"
        ) from None
