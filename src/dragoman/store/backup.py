"""Backup and restore: everything in one file, made while the daemon works."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
from msgspec import Struct

from dragoman.errors import BackupFailed, StartRefused
from dragoman.store import after_restore, schema
from dragoman.store.fsync import sync, workshop
from dragoman.store.lock import FolderLock
from dragoman.store.repair.salvage import damage
from dragoman.store.repair.swap import (
    DATABASE,
    FILES,
    LOG,
    begin,
    finish,
    free_name,
    give_up,
    leave,
)

ABOUT = "backup.json"

Report = Callable[[str], None]


class Backup(Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    version: int
    """Of the tables in it."""
    sessions: int
    events: int
    files: int


class RestoreResult(Struct, frozen=True, kw_only=True):
    """A backup that was put back, or will be."""

    backup: Backup
    aside: str
    """The folder for what was there, beneath the data folder."""
    waits: bool
    """For the next start: a daemon uses the folder now."""


def make(data_dir: Path, target: Path, report: Report) -> Backup:
    """Copy the store of a folder into a new file. Raise BackupFailed; nothing is left then."""
    database = data_dir / DATABASE
    if not database.exists():
        raise BackupFailed(f"there is nothing to back up in {data_dir}")
    if target.exists():
        raise BackupFailed(f"{target} is there already; choose another name")
    try:
        with workshop(target.absolute().parent) as folder:
            copy = folder / DATABASE
            report("copying the database")
            _copy_database(database, copy)
            report("checking the copy")
            _ensure_ours(copy)
            _ensure_sound(copy)
            report("writing the backup")
            partial = folder / "backup"
            about = _write(partial, copy, data_dir / FILES)
            partial.chmod(0o600)
            sync(partial)
            partial.rename(target)
            sync(target.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"cannot write {target}: {error}") from None
    return about


def _copy_database(database: Path, copy: Path) -> None:
    source = schema.connect_reader(database)
    try:
        schema.backup(source, copy)
    finally:
        source.close()
    # What runs is not part of what is kept: whoever puts this back must not end it.
    db = sqlite3.connect(copy)
    try:
        db.execute("DELETE FROM processes")
        db.commit()
    finally:
        db.close()


def _ensure_ours(database: Path) -> None:
    """A trigger, a view or a function in a column would be SQL that runs with our rights."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        found = schema.foreign_objects(db) if version <= len(schema.MIGRATIONS) else []
    if found:
        raise BackupFailed(
            f"the database holds what Dragoman did not make ({', '.join(found)}); drop it, "
            "then back up again"
        )


def _ensure_sound(database: Path) -> None:
    problem = damage(database, thorough=True)
    if problem is not None:
        raise BackupFailed(f"the database is damaged ({problem}); see `dragoman doctor`")


def _write(target: Path, database: Path, files: Path) -> Backup:
    """Files are on disk before the events that name them, so the database goes first."""
    found = sorted(path for path in files.rglob("*") if path.is_file()) if files.exists() else []
    about = _about(database, len(found))
    with tarfile.open(target, "w") as tar:
        note = msgspec.json.encode(about)
        entry = tarfile.TarInfo(ABOUT)
        entry.size = len(note)
        tar.addfile(entry, io.BytesIO(note))
        tar.add(database, DATABASE)
        for path in found:
            with contextlib.suppress(FileNotFoundError):  # its session was deleted meanwhile
                tar.add(path, f"{FILES}/{path.relative_to(files)}", recursive=False)
    return about


def _about(database: Path, files: int) -> Backup:
    db = schema.connect_reader(database)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (sessions,) = db.execute("SELECT count(*) FROM sessions WHERE NOT deleted").fetchone()
        (events,) = db.execute("SELECT count(*) FROM events").fetchone()
    finally:
        db.close()
    return Backup(version=version, sessions=sessions, events=events, files=files)


# --- The way back ---


def restore(
    archive: Path, data_dir: Path, report: Report, *, replace: bool = False
) -> RestoreResult:
    """Put a backup into a folder; what was there is kept beside it.

    Where a daemon runs, `replace` leaves it to the next start. Raise BackupFailed, and StartRefused
    where a daemon runs or the backup is newer than we are; the folder is as it was then.
    """
    lock = _lock(data_dir, replace)
    try:
        if lock is not None:
            finish(data_dir)
        if (data_dir / DATABASE).exists() and not replace:
            raise BackupFailed(f"{data_dir} has a database; --replace sets it aside")
        with workshop(data_dir) as folder:
            made = folder / "made"
            report("reading the backup")
            about = _read(archive, made)
            report("checking it")
            _ensure_known(made / DATABASE)
            _ensure_ours(made / DATABASE)
            _ensure_sound(made / DATABASE)
            after_restore.mark(made / DATABASE)
            aside = free_name(data_dir / f"before-restore-{time.strftime('%Y%m%d-%H%M%S')}").name
            places = {name: f"{aside}/{name}" for name in (DATABASE, LOG, FILES)}
            if lock is None:
                leave(made, data_dir, places)
            else:
                _swap(made, data_dir, places)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"cannot restore {archive}: {error}") from None
    finally:
        if lock is not None:
            lock.release()
    return RestoreResult(backup=about, aside=aside, waits=lock is None)


def _lock(data_dir: Path, replace: bool) -> FolderLock | None:
    try:
        return FolderLock(data_dir)
    except StartRefused as error:
        if "holder" not in error.details:
            raise
        if not replace:
            error.add_note("with --replace, the backup waits there for the next start")
            raise
    return None


def _swap(made: Path, data_dir: Path, places: dict[str, str]) -> None:
    begin(made, data_dir, places)
    try:
        finish(data_dir)
    except OSError:
        give_up(data_dir)
        raise


def _read(archive: Path, folder: Path) -> Backup:
    """Unpack a backup, and nothing else that may be in the file."""
    about: Backup | None = None
    (folder / FILES).mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    try:
        with tarfile.open(archive, "r:") as tar:
            for member, content in _regular(tar):
                if member.name == ABOUT:
                    about = msgspec.json.decode(content.read(1 << 16), type=Backup)
                elif member.name == DATABASE or _is_file(member.name):
                    _unpack(content, folder / member.name)
    except (tarfile.TarError, EOFError, msgspec.MsgspecError) as error:
        if about is not None:
            raise BackupFailed(f"{archive} is damaged: {error}") from None
    if about is None or not (folder / DATABASE).exists():
        raise BackupFailed(f"{archive} is not a backup of Dragoman")
    return about


def _unpack(content: IO[bytes], path: Path) -> None:
    path.parent.mkdir(exist_ok=True, mode=0o700)
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
    path.chmod(0o600)


def _regular(tar: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    for member in tar:
        content = tar.extractfile(member) if member.isreg() else None
        if content is not None:
            yield member, content


def _is_file(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) == 3 and parts[0] == FILES and ".." not in parts


def _ensure_known(database: Path) -> None:
    db = sqlite3.connect(database)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise BackupFailed(f"its database cannot be read: {error}") from None
    finally:
        db.close()
    if version > len(schema.MIGRATIONS):
        raise StartRefused(
            f"the backup was made by a newer Dragoman (its version is {version}, this one knows "
            f"{len(schema.MIGRATIONS)}); upgrade Dragoman first"
        )
