"""The agents on this machine: which exist, where each is found, how one is installed."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import msgspec
from msgspec import Struct

from dragoman import __version__
from dragoman.adapter import Adapter
from dragoman.errors import (
    AgentGone,
    AgentNotInstalled,
    AgentTooOld,
    InstallFailed,
    InvalidRequest,
    NotInstallable,
)
from dragoman.facts import is_since
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process import Lives
from dragoman.runtime.provision.install import Installer, InstallProgress
from dragoman.runtime.provision.models import Catalogues, Listing
from dragoman.runtime.provision.registry import AgentRegistry
from dragoman.runtime.provision.skills import SkillLibrary
from dragoman.runtime.provision.versions import DEADLINE_S, Versions, ensure_version
from dragoman.runtime.session.secrets import Secrets
from dragoman.runtime.shared.pool import Servers
from dragoman.schema.http import ModelList
from dragoman.settings import Settings, command_variable

log = logging.getLogger(__name__)
PATIENCE_S = 1.0
"""How long a person waits for a version that is only nice to know."""


class InstalledAgent(Struct, frozen=True, kw_only=True):
    """An agent as it can be started here."""

    command: tuple[str, ...]
    """The executable and its first arguments."""
    version: str | None = None
    ours: bool = False
    """It was installed by us."""
    interpreter: str | None = None
    """What runs the executable, where we installed one for it: then it is the first word."""

    @property
    def path(self) -> str:
        """Where the executable is."""
        return self.command[0 if self.interpreter is None else 1]


class Agents:
    """The adapters, with what the settings and this machine say about each."""

    def __init__(
        self, adapters: Mapping[str, Adapter], settings: Settings, token: str | None = None
    ) -> None:
        """Raise StartRefused, e.g. where the settings name an agent that there is not."""
        self.registry = AgentRegistry(adapters, settings)
        self.secrets = Secrets(settings, self.all(), os.environ, token)
        self._stop = Event()
        data_dir = Path(settings.data_dir)
        self.installer = Installer(
            Path(settings.agents_dir or data_dir / "agents"), os.environ, stop=self._stop
        )
        mark = linux.mark_of(data_dir)
        self.skills = SkillLibrary(data_dir, mark, self._stop)
        self._versions = Versions(mark, self._stop)
        self._catalogues = Catalogues(mark)
        self.lives: defaultdict[str, Lives] = defaultdict(
            Lives, {agent: Lives() for agent in adapters}
        )
        """Of the processes that sessions talk to, their own and shared ones."""
        self.servers = Servers(settings, mark, self.lives, self.secrets.daemon)
        self._pool = ThreadPoolExecutor(4, "install")
        self._installing: dict[tuple[str, str, bool], asyncio.Task[None]] = {}

    def all(self) -> list[Adapter]:
        """Every agent we speak to."""
        return [each.adapter for each in self.registry.all()]

    def adapter(self, agent: str) -> Adapter:
        """One agent. Raise UnsupportedAgent."""
        return self.registry.get(agent).adapter

    def has(self, agent: str) -> bool:
        """Whether there is such an agent."""
        return self.registry.has(agent)

    def adapter_of(self, session_id: str, agent: str) -> Adapter:
        """The agent of a session. Raise AgentGone."""
        if not self.has(agent):
            raise AgentGone(session_id, agent, self.registry.ids())
        return self.adapter(agent)

    def stop(self) -> None:
        """The daemon stops: what is being installed or asked ends, and nothing else begins."""
        self._stop.set()
        self._catalogues.stop()
        self.servers.stop()

    async def stopped(self) -> None:
        """Wait until nothing is left of those that were being asked, or shared."""
        await asyncio.gather(self._catalogues.stopped(), self.servers.stopped())

    async def models(self, adapter: Adapter, *, refresh: bool = False) -> ModelList:
        """An agent's models: as it tells them itself, else as its adapter knows them."""
        listing = await self.listing(adapter, refresh=refresh)
        known = ModelList(models=adapter.models, default_model=adapter.default_model)
        return listing.models or known

    async def listing(self, adapter: Adapter, *, refresh: bool = False) -> Listing:
        """What an agent tells of itself, where it can be asked."""
        found = None if adapter.catalogue is None else await self.with_version(adapter)
        if adapter.catalogue is None or found is None:
            return Listing()
        env = self.registry.env_of(adapter.id)
        return await self._catalogues.listing(
            adapter.catalogue, found.command, found.version, env, refresh=refresh
        )

    # --- Finding ---

    def find(self, adapter: Adapter) -> InstalledAgent | None:
        """What would be started, None if it is not there. Its version, where that costs nothing."""
        return next(self._candidates(adapter), None)

    async def with_version(
        self, adapter: Adapter, patience_s: float = PATIENCE_S
    ) -> InstalledAgent | None:
        """The same, with its version if it tells it soon."""
        found = await asyncio.to_thread(self.find, adapter)
        if found is None or found.version or not self._tells_version(adapter, found):
            return found
        asking = self._ask(found)
        await asyncio.wait([asking], timeout=patience_s)
        return msgspec.structs.replace(found, version=asking.result() if asking.done() else None)

    async def ready(self, adapter: Adapter, version: str | None = None) -> InstalledAgent:
        """What to start, installed first where it must be. Raise AgentNotInstalled, InstallFailed.

        A version that is asked for is the version that is given, but for an agent that is built
        in, or whose command is set. One that is too old is refused.
        """
        if version and not self._is_fixed(adapter) and not _is_new_enough(adapter, version):
            raise InvalidRequest(
                f"{adapter.name} {version} is too old: {adapter.least_version} or newer is needed; "
                "ask for a newer one, or for none",
                field="agentVersion",
            )
        found = await self.obtain(adapter, version)
        if problem := self.problem(adapter, found):
            raise AgentTooOld(adapter.id, problem)
        return found

    def problem(self, adapter: Adapter, found: InstalledAgent) -> str | None:
        """Why what was found cannot be used, and what mends it; None: it can."""
        if _is_new_enough(adapter, found.version):
            return None
        install = f"dragoman agents install {adapter.id}"
        if self._set_command(adapter):
            install = f"unset {command_variable(adapter.id)}, and {install}"
        return (
            f"{adapter.name} {found.version} at {found.path} is too old: {adapter.least_version} "
            f"or newer is needed; to have it: {install}"
        )

    async def obtain(self, adapter: Adapter, version: str | None = None) -> InstalledAgent:
        """The same as `ready`, whether it is too old or not."""
        found = await self.present(adapter, version)
        if found is None and not self._is_fixed(adapter):
            try:
                await self.install(adapter, version)
            except NotInstallable as error:
                why = f"{error}, or set {command_variable(adapter.id)}"
                raise AgentNotInstalled(adapter.id, why, version) from None
            found = await asyncio.to_thread(self._find_installed, adapter, version)
        if found is None:
            name, *_ = self._set_command(adapter) or adapter.command
            raise AgentNotInstalled(
                adapter.id,
                f"{name!r} was not found on PATH; install it, or set "
                f"{command_variable(adapter.id)}",
            )
        return found

    async def present(self, adapter: Adapter, version: str | None = None) -> InstalledAgent | None:
        """What `ready` would start, where nothing must be installed for it."""
        if version is None or self._is_fixed(adapter):
            # How an agent is started depends on its version, where there is a least one.
            patience_s = DEADLINE_S if adapter.least_version else PATIENCE_S
            return await self.with_version(adapter, patience_s)
        ensure_version(version)
        return await self._find_version(adapter, version)

    def ensure_has(self, adapter: Adapter, version: str | None) -> None:
        """Raise InvalidRequest for another version of an agent that is built in: it has one."""
        is_built_in = adapter.is_built_in and not self._set_command(adapter)
        if version and is_built_in and version != __version__:
            raise InvalidRequest(
                f"{adapter.name} is built in, and its version is {__version__}; ask for that one, "
                "or for none",
                field="agentVersion",
            )

    def _is_fixed(self, adapter: Adapter) -> bool:
        """Nothing else can be had than what is there."""
        return adapter.package is None or bool(self._set_command(adapter))

    def _candidates(self, adapter: Adapter) -> Iterator[InstalledAgent]:
        """Everything that could be started, the best first."""
        if command := self._set_command(adapter):
            if path := shutil.which(command[0]):
                yield InstalledAgent(command=(path, *command[1:]))
            return
        if found := self._find_installed(adapter, None):
            yield found
        name, *arguments = adapter.command
        built_in = __version__ if adapter.is_built_in else None
        for folder in (None, *adapter.folders):
            places = None if folder is None else os.path.expanduser(folder)
            if path := shutil.which(name, path=places):
                yield InstalledAgent(command=(path, *arguments), version=built_in)

    def _find_installed(self, adapter: Adapter, version: str | None) -> InstalledAgent | None:
        version = version or self.installer.best(adapter)
        command = self.installer.command(adapter, version) if version else None
        if command is None:
            return None
        return InstalledAgent(
            command=(*command, *adapter.command[1:]),
            version=version,
            ours=True,
            interpreter=command[0] if len(command) > 1 else None,
        )

    async def _find_version(self, adapter: Adapter, version: str) -> InstalledAgent | None:
        """One version of an agent, if it is anywhere here."""
        if found := await asyncio.to_thread(self._find_installed, adapter, version):
            return found
        for candidate in await asyncio.to_thread(list, self._candidates(adapter)):
            if not candidate.ours and await self._ask(candidate) == version:
                return msgspec.structs.replace(candidate, version=version)
        return None

    def _ask(self, found: InstalledAgent) -> asyncio.Future[str | None]:
        # Others wait for the same answer: who goes away does not take it from them.
        return asyncio.shield(asyncio.wrap_future(self._versions.ask(found.path)))

    def _tells_version(self, adapter: Adapter, found: InstalledAgent) -> bool:
        # A command of several words is somebody's own; its first word may be an interpreter.
        return adapter.package is not None and len(found.command) == len(adapter.command)

    def _set_command(self, adapter: Adapter) -> tuple[str, ...]:
        return self.registry.settings_of(adapter.id).words

    # --- Installing ---

    async def install(
        self, adapter: Adapter, version: str | None = None, *, reinstall: bool = False
    ) -> None:
        """Install an agent; who asks for the same at the same time waits for the same."""
        if adapter.package is None and self.find(adapter):
            return  # built in, or somebody's own
        key = (adapter.id, version or "", reinstall)
        if key not in self._installing:
            task = asyncio.create_task(self._install(adapter, version, reinstall))
            self._installing[key] = task
            task.add_done_callback(lambda _: self._installing.pop(key, None))
        await asyncio.shield(self._installing[key])

    async def _install(self, adapter: Adapter, version: str | None, reinstall: bool) -> None:
        def report(progress: InstallProgress) -> None:
            log.debug("installing %s: %s", adapter.id, progress.phase)

        def work() -> Path:
            return self.installer.install(adapter, version, reinstall=reinstall, report=report)

        log.info("installing %s", adapter.id)
        try:
            path = await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except InstallFailed as error:
            error.agent = adapter.id
            raise
        log.info("installed %s at %s", adapter.id, path)


def _is_new_enough(adapter: Adapter, version: str | None) -> bool:
    return adapter.least_version is None or is_since(version, adapter.least_version)
