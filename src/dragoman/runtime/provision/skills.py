"""The skills of a session: found, fetched and laid out in a folder of its own.

A session's folder is `<data>/skills/<session>/session`, and holds `skills/NAME/SKILL.md`. Nothing
is written anywhere else. What git fetched is kept while the daemon runs.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from threading import Event
from typing import TypeVar

from msgspec import Struct

from dragoman.errors import InvalidRequest, StorageFull
from dragoman.runtime.provision import directories, git_clone
from dragoman.schema.http import SkillSource
from dragoman.store import SessionRow

T = TypeVar("T")
NAME = "session"
"""How a session's folder is called; an agent may show it in front of a skill's name."""
_MARKER = "SKILL.md"
_PLACES = (".", "skills", ".claude/skills")
"""Where a source may keep its skills, each in a folder of its own."""


class Skill(Struct, frozen=True):
    """A skill where it lies."""

    name: str
    folder: Path
    within: Path | None
    """Its links may not lead out of this; None: they may lead anywhere."""


class SkillLibrary:
    """Lays skills out for sessions. All of its work is done in threads of its own."""

    def __init__(self, data_dir: Path, mark: str, stop: Event) -> None:
        self._sessions = data_dir / "skills"
        self._scratch = data_dir / "skill-sources"
        self._count = itertools.count()
        self._clones: dict[tuple[str, str | None], asyncio.Task[Path]] = {}
        self._pool = ThreadPoolExecutor(4, "skills")
        self._slow_pool = ThreadPoolExecutor(4, "clone")
        # No session can have this name, so no session is swept with it.
        self._cloner = git_clone.Cloner(f"{mark}:skills+", stop)

    async def clear(self) -> None:
        """Remove what an earlier daemon fetched, or did not finish."""
        await self._work(directories.remove, self._scratch)

    async def remove(self, session_id: str) -> None:
        """Remove a session's skills."""
        await self._work(directories.remove, self._sessions / session_id)

    @asynccontextmanager
    async def prepared(
        self, sources: Sequence[SkillSource], directory: str
    ) -> AsyncIterator[Path | None]:
        """Lay skills out, for `keep`; what is not kept is gone afterwards.

        Raise InvalidRequest where the source is wrong, InstallFailed where it cannot be had.
        """
        if not sources:
            yield None
            return
        skills = await self._find(sources, directory)
        folder = self._scratch / f"prepared-{next(self._count)}"
        try:
            await self._work(_lay_out, skills, folder / NAME / "skills")
            yield folder
        finally:
            await self._work(directories.remove, folder)

    async def keep(self, prepared: Path | None, session_id: str) -> None:
        """What was prepared is this session's now."""
        if prepared is not None:
            await self._work(directories.move, prepared, self._sessions / session_id)

    async def folders(self, row: SessionRow) -> tuple[str, ...]:
        """The folders to start a session's agent with; laid out again if they are not there."""
        if row.create.skills is None or not row.create.skills.sources:
            return ()
        folder = self._sessions / row.session_id / NAME
        if not await self._work(os.path.isdir, folder):
            async with self.prepared(row.create.skills.sources, row.directory) as prepared:
                await self.keep(prepared, row.session_id)
        return (str(folder),)

    async def _find(self, sources: Sequence[SkillSource], directory: str) -> list[Skill]:
        found: dict[str, Skill] = {}
        for source in sources:
            _ensure_words(source)
            within = None if source.type == "local" else await self._clone(source, directory)
            root = within or Path(directory, source.source)
            for skill in await self._work(choose, source, root, within):
                if skill.name in found:
                    raise _wrong(f"two sources have a skill {skill.name!r}; choose with `skills`")
                found[skill.name] = skill
        return list(found.values())

    async def _clone(self, source: SkillSource, directory: str) -> Path:
        """A repository's files, fetched once while the daemon runs."""
        git_clone.ensure_ref(source.ref)
        if source.type == "github":
            address = git_clone.github(source.source)
        else:
            path = Path(directory, source.source)
            address = str(path) if await self._work(os.path.exists, path) else source.source
        key = (address, source.ref)
        task = self._clones.get(key)
        if task is None or (task.done() and task.exception() is not None):
            folder = self._scratch / f"clone-{next(self._count)}"
            task = asyncio.create_task(self._fetch(address, source.ref, folder))
            self._clones[key] = task
        # Others wait for the same: who goes away does not take it from them.
        return await asyncio.shield(task)

    async def _fetch(self, address: str, ref: str | None, folder: Path) -> Path:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._slow_pool, self._cloner.clone, address, ref, folder)

    async def _work(self, work: Callable[..., T], *given: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)


def _wrong(message: str) -> InvalidRequest:
    return InvalidRequest(message, field="skills")


def _ensure_words(source: SkillSource) -> None:
    given = (source.source, source.ref, source.subpath, *(source.skills or ()))
    if not source.source or any("\0" in word for word in given if word):
        raise _wrong("a source of skills needs a name, without a NUL in it")


# --- In a thread ---


def choose(source: SkillSource, root: Path, within: Path | None) -> list[Skill]:
    """The skills of a source that are wanted. Raise InvalidRequest."""
    subpath = PurePosixPath(source.subpath or ".")
    folder = root / subpath
    if subpath.is_absolute() or ".." in subpath.parts:
        raise _wrong(f"subpath {source.subpath!r} must lead into {source.source!r}")
    where = source.source if subpath == PurePosixPath() else f"{source.source} ({subpath})"
    if not os.path.isdir(folder):
        raise _wrong(f"there is no folder {where}")
    there = _skills_in(folder, within, name=_base(source) if folder == within else folder.name)
    if not there:
        raise _wrong(
            f"there is no skill in {where}; it needs SKILL.md, NAME/SKILL.md, "
            "skills/NAME/SKILL.md or .claude/skills/NAME/SKILL.md"
        )
    for name in source.skills or ():
        if name not in there:
            raise _wrong(
                f"there is no skill {name!r} in {where}; known: {', '.join(sorted(there))}"
            )
    return [there[name] for name in dict.fromkeys(source.skills or there)]


def _base(source: SkillSource) -> str:
    """What a repository is called."""
    return re.split(r"[/:]", source.source.rstrip("/"))[-1].removesuffix(".git") or "skill"


def _skills_in(folder: Path, within: Path | None, name: str) -> dict[str, Skill]:
    if _is_skill(folder, within):
        return {name: Skill(name, folder, within)}
    places = [folder / place for place in _PLACES if os.path.isdir(folder / place)]
    children = [place / child for place in places for child in sorted(_listed(place))]
    found = [Skill(child.name, child, within) for child in children if _is_skill(child, within)]
    return {skill.name: skill for skill in reversed(found)}


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise _wrong(f"cannot look into {folder}: {error.strerror}") from None


def _is_skill(folder: Path, within: Path | None) -> bool:
    marker = folder / _MARKER
    return os.path.isfile(marker) and (within is None or directories.leads_into(marker, within))


def _lay_out(skills: Sequence[Skill], folder: Path) -> None:
    copier = directories.Copier()
    for skill in skills:
        try:
            copier.copy(skill.folder, folder / skill.name, skill.within)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull("there is no space for the session's skills") from None
            raise _wrong(f"skill {skill.name!r} cannot be copied: {error.strerror}") from None
