"""The models and modes of an agent, asked of the agent itself and cached."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import DaemonError
from dragoman.facts import Catalogue
from dragoman.runtime.processes.process import AgentSubprocess
from dragoman.runtime.shared.http_process import HttpProcess, LineProcess
from dragoman.schema.http import ModeList, ModelList
from dragoman.settings import child_environ
from dragoman.wire.jsonl import Oversize

log = logging.getLogger(__name__)
LIFETIME_S = 600.0
"""How long an answer is good."""
PATIENCE_S = 60.0
"""How long an agent that gave none is left alone."""
DEADLINE_S = 10.0
MAX_LINE_BYTES = 4 * 1024 * 1024
_END_DEADLINE_S = 1.0

Key = tuple[tuple[str, ...], str | None, tuple[tuple[str, str], ...]]
"""A command, the version that it is, and the variables that it is given."""


class Listing(Struct, frozen=True):
    """What an agent tells; None: it does not, or not in time."""

    models: ModelList | None = None
    modes: ModeList | None = None


class _CachedListing(Struct, frozen=True):
    listing: Listing
    until: float


class Catalogues:
    """Asks each agent at most once at a time; who asks meanwhile waits for the same answer."""

    def __init__(
        self, mark: str, *, lifetime_s: float = LIFETIME_S, deadline_s: float = DEADLINE_S
    ) -> None:
        self._mark = mark
        self._lifetime_s = lifetime_s
        self._deadline_s = deadline_s
        self._count = itertools.count()
        self._cache: dict[Key, _CachedListing] = {}
        self._asking: dict[Key, asyncio.Task[Listing]] = {}
        self._stopped = False

    async def listing(
        self,
        catalogue: Catalogue,
        command: tuple[str, ...],
        version: str | None,
        env: Mapping[str, str] = {},
        *,
        refresh: bool = False,
    ) -> Listing:
        """What the agent says it has."""
        if self._stopped:
            return Listing()
        key = (command, version, tuple(sorted(env.items())))
        cached = self._cache.get(key)
        if cached is not None and not refresh and time.monotonic() < cached.until:
            return cached.listing
        if key not in self._asking:
            task = asyncio.create_task(self._learn(catalogue, key))
            self._asking[key] = task
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        asking = self._asking[key]
        await asyncio.wait([asking])  # who goes away does not take it from the others
        return Listing() if asking.cancelled() else asking.result()

    def stop(self) -> None:
        """The daemon stops: nobody is asked any more."""
        self._stopped = True
        for task in self._asking.values():
            task.cancel()

    async def stopped(self) -> None:
        """Wait until no process is left of those that were being asked."""
        if self._asking:
            await asyncio.wait(self._asking.values())

    async def _learn(self, catalogue: Catalogue, key: Key) -> Listing:
        command, _, env = key
        listing = await self._ask(catalogue, command, dict(env))
        good_s = PATIENCE_S if listing.models is None else self._lifetime_s
        self._cache[key] = _CachedListing(listing, time.monotonic() + good_s)
        return listing

    async def _ask(
        self, catalogue: Catalogue, command: tuple[str, ...], env: Mapping[str, str]
    ) -> Listing:
        news = asyncio.Event()
        # No session can have this name, so no session is swept with it.
        mark = f"{self._mark}:models+{next(self._count)}"

        def make(wake: Callable[[], None]) -> AgentSubprocess:
            return AgentSubprocess(wake, mark, MAX_LINE_BYTES)

        server = catalogue.http
        process: AgentSubprocess | HttpProcess = (
            make(news.set)
            if server is None
            else HttpProcess(make, server, news.set, lambda line: None, MAX_LINE_BYTES)
        )
        launch = catalogue.launch(command, "/")
        try:
            async with asyncio.timeout(catalogue.patience * self._deadline_s):
                await process.start(launch, {**child_environ(), **env})
                for line in catalogue.ask.splitlines():
                    await process.send(line)
                return await _answer(catalogue, process, news)
        except (DaemonError, TimeoutError) as error:
            log.info("%s does not tell its models: %s", command[0], error or "no answer in time")
            return Listing()
        finally:
            await process.end(_END_DEADLINE_S)


async def _answer(catalogue: Catalogue, process: LineProcess, news: asyncio.Event) -> Listing:
    listing = Listing()
    while not process.drained:
        await news.wait()
        news.clear()
        while process.waiting:
            for message in process.take():
                answers = _read(catalogue, message)
                for answer in answers:
                    listing = _with(listing, answer)
                if any(isinstance(each, ModelList) and not each.models for each in answers):
                    return listing
                if listing.models and (listing.modes or not catalogue.tells_modes):
                    return listing
    return listing


def _with(listing: Listing, answer: ModelList | ModeList) -> Listing:
    if isinstance(answer, ModeList):
        return replace(listing, modes=answer)
    return replace(listing, models=answer) if answer.models else listing


def _read(catalogue: Catalogue, message: bytes | Oversize) -> tuple[ModelList | ModeList, ...]:
    if isinstance(message, Oversize):
        return ()
    try:
        return catalogue.read(message)
    except msgspec.MsgspecError:
        return ()  # a line that is not for us, a warning perhaps
