"""Make the recording of a live scenario fit to commit, beyond what every recording needs.

Paths of this project and of the test's folder go, and what a vendor tells its model in many words
is cut to its beginning: `prose.txt` beside the recordings, if any, lists how such texts begin.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from dragoman.testing.recordings.http_calls import with_calls
from dragoman.testing.recordings.scrub import Machine, scrub
from dragoman.testing.recordings.transcript import Entry, Line, dump, load

PROJECT = Path(__file__).parent.parent.parent
KEPT = 40


def tidy(file: Path, folder: Path | None) -> None:
    """Rewrite a recording that was made in a folder."""
    paths = {sys.executable: "/usr/bin/python3", str(PROJECT): "/project"}
    if folder is not None:
        paths[str(folder)] = "/elsewhere"
    listed = file.parent.parent / "prose.txt"
    prose = listed.read_text().splitlines() if listed.exists() else []
    tidied = _tidied(file.read_bytes(), paths, prose)
    if folder is not None:
        # Some agents name a folder of theirs after the workspace.
        tidied = tidied.replace(str(folder).strip("/").replace("/", "-").encode(), b"elsewhere")
        tidied = tidied.replace(quote(str(folder), safe="").encode(), b"%2Felsewhere")
    file.write_bytes(tidied)


def _tidied(recording: bytes, paths: Mapping[str, str], prose: Sequence[str]) -> bytes:
    runs = scrub(with_calls(load(recording)), Machine(paths=paths))
    return dump(
        tuple(
            msgspec.structs.replace(run, entries=tuple(_entry(each, prose) for each in run.entries))
            for run in runs
        )
    )


def _entry(entry: Entry, prose: Sequence[str]) -> Entry:
    if not isinstance(entry, Line) or entry.dir != "out":
        return entry
    try:
        said = msgspec.json.decode(entry.data)
    except msgspec.DecodeError:
        return entry
    shorter = _cut(said, prose)
    if shorter == said:
        return entry
    return msgspec.structs.replace(entry, data=msgspec.json.encode(shorter))


def _cut(value: Any, prose: Sequence[str]) -> Any:
    if isinstance(value, dict) and value.get("sessionUpdate") == "available_commands_update":
        # Qwen Code (0.24.4) tells all of its skills with them, half a megabyte.
        few = value.get("availableCommands", [])[:3]
        kept = [{name: each.get(name) for name in ("name", "description")} for each in few]
        return {"sessionUpdate": value["sessionUpdate"], "availableCommands": kept}
    if isinstance(value, dict):
        return {name: _cut(each, prose) for name, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, prose) for each in value]
    long = isinstance(value, str) and any(start in value[:80] for start in prose)
    return f"{value[:KEPT]}… <cut>" if long and not value.endswith("<cut>") else value
