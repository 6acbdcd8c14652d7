"""A copy of everything, in one file, made while the daemon works; and the way back."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
from msgspec import Struct

from dragoman.errors import BackupFailed, StartRefused
from dragoman.store import schema
from dragoman.store.lock import FolderLock
from dragoman.store.repair import damage

DATABASE = "dragoman.db"
FILES = "files"
ABOUT = "backup.json"
_KEPT = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", FILES)

Report = Callable[[str], None]


class Backup(Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    version: int
    """Of the tables in it."""
    sessions: int
    events: int
    files: int


def make(data_dir: Path, target: Path, report: Report) -> Backup:
    """Copy the store of a folder into a new file. Raise BackupFailed; nothing is left then."""
    database = data_dir / DATABASE
    if not database.exists():
        raise BackupFailed(f"there is nothing to back up in {data_dir}")
    if target.exists():
        raise BackupFailed(f"{target} is there already; choose another name")
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
            copy = Path(folder) / DATABASE
            report("copying the database")
            _copy_database(database, copy)
            report("checking the copy")
            _ensure_sound(copy)
            report("writing the backup")
            partial = Path(folder) / "backup"
            about = _write(partial, copy, data_dir / FILES)
            partial.chmod(0o600)
            partial.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"cannot write {target}: {error}") from None
    return about


def _copy_database(database: Path, copy: Path) -> None:
    source = schema.connect_reader(database)
    try:
        schema.backup(source, copy)
    finally:
        source.close()


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


def restore(archive: Path, data_dir: Path, report: Report, *, replace: bool = False) -> Backup:
    """Put a backup into a folder that no daemon uses; what was there is kept beside it.

    Raise BackupFailed, and StartRefused where a daemon runs; the folder is as it was then.
    """
    lock = FolderLock(data_dir)
    try:
        if (data_dir / DATABASE).exists() and not replace:
            raise BackupFailed(f"{data_dir} has a database; --replace sets it aside")
        with tempfile.TemporaryDirectory(dir=data_dir) as made:
            folder = Path(made)
            report("reading the backup")
            about = _read(archive, folder)
            report("checking it")
            _ensure_known(folder / DATABASE)
            _ensure_sound(folder / DATABASE)
            _swap(folder, data_dir)
    except (OSError, tarfile.TarError, EOFError, msgspec.MsgspecError) as error:
        raise BackupFailed(f"cannot restore {archive}: {error}") from None
    finally:
        lock.release()
    return about


def _read(archive: Path, folder: Path) -> Backup:
    """Unpack a backup, and nothing else that may be in the file."""
    about: Backup | None = None
    with tarfile.open(archive, "r:") as tar:
        for member, content in _regular(tar):
            if member.name == ABOUT:
                about = msgspec.json.decode(content.read(1 << 16), type=Backup)
            elif member.name == DATABASE or _is_file(member.name):
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with path.open("xb") as file:
                    shutil.copyfileobj(content, file)
                path.chmod(0o600)
    if about is None or not (folder / DATABASE).exists():
        raise BackupFailed(f"{archive} is not a backup of Dragoman")
    return about


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


def _swap(folder: Path, data_dir: Path) -> None:
    aside = data_dir / f"before-restore-{time.strftime('%Y%m%d-%H%M%S')}"
    for name in _KEPT:
        if (data_dir / name).exists():
            aside.mkdir(exist_ok=True, mode=0o700)
            (data_dir / name).rename(aside / name)
    for name in (FILES, DATABASE):  # a database without its files would name what is not there
        if (folder / name).exists():
            (folder / name).rename(data_dir / name)
