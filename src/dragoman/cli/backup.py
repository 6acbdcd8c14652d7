"""`dragoman backup` and `dragoman restore`: a copy of everything, and the way back."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, say
from dragoman.cli.exit_codes import reporting

if TYPE_CHECKING:
    from dragoman.store.backup import Backup


def backup(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A new file; named by the time if absent.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy all sessions, events and stored files into one file, while the daemon works."""
    target = file or Path(f"dragoman-{time.strftime('%Y%m%d-%H%M%S')}.tar")
    with reporting(as_json):
        from dragoman.store import backup as backups

        made = backups.make(_folder(data_dir), target, _report)
    _tell(made, target, f"are in {target}", as_json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As `dragoman backup` made it.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside what is in the data folder.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup into a data folder; where a daemon runs, at its next start."""
    with reporting(as_json):
        from dragoman.store import backup as backups

        folder = _folder(data_dir)
        done = backups.restore(file, folder, _report, replace=replace)
    told = f"are restored in {folder}"
    if done.waits:
        told = (
            f"are checked. They take effect when the daemon is next started; what is there until "
            f"then is kept in {folder / done.aside}"
        )
    _tell(done.backup, folder, told, as_json, waits=done.waits)


def _folder(data_dir: str | None) -> Path:
    from dragoman.settings import load

    return Path(load({"data_dir": data_dir}, os.environ).data_dir)


def _report(doing: str) -> None:
    typer.echo(doing, err=True)


def _tell(made: Backup, where: Path, told: str, as_json: bool, **more: bool) -> None:
    if as_json:
        counted = {name: getattr(made, name) for name in made.__struct_fields__}
        say({"path": str(where), **counted, **more})
        return
    counts = f"{made.sessions} session(s), {made.events} events and {made.files} file(s)"
    typer.echo(f"{counts} {told}")
