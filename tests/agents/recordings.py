"""Recordings of agents, and what must come of them. `--write` makes the expected events anew.

A case is a folder `tests/agents/<id>/<case>/` with `transcript.jsonl` and, beside it,
`events.jsonl`: what comes of it, with the number of the native line that caused each event as its
raw. An empty file `unparsed` says that the case is about what cannot be understood.

`DRAGOMAN_TRANSCRIPTS=<id>=<folder>` names a folder of further transcripts, without events; several
are separated by `:`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from dragoman.adapter import Adapter, Spec
from dragoman.schema.events import encode
from dragoman.testing.recordings.play import PlayResult, play, share, spec_of
from dragoman.testing.recordings.transcript import Meta, Transcript, load
from tests.agents.acp_agents import all_adapters, folder_of

HERE = Path(__file__).parent
VARIABLE = "DRAGOMAN_TRANSCRIPTS"


class Case(Struct, frozen=True):
    """A recording of an agent."""

    agent: str
    name: str
    path: Path
    golden: Path | None
    """The expected events; None: only the rules are checked."""
    may_be_unparsed: bool = False

    def __str__(self) -> str:
        """Its name in a test's id."""
        return f"{self.agent}-{self.name}"

    @property
    def adapter(self) -> Adapter:
        """The agent's adapter."""
        return adapter_of(self.agent)

    def transcript(self) -> Transcript:
        """What was recorded."""
        transcript = load(self.path.read_bytes())
        amended = getattr(_said(self.agent), "amended", None)
        return transcript if amended is None else cast(Transcript, amended(transcript))

    def play(
        self, transcript: Transcript | None = None, adapter: Adapter | None = None
    ) -> PlayResult:
        """What comes of it, or of what became of it; with another adapter, where one is given."""
        transcript = self.transcript() if transcript is None else transcript
        spec, command_of = self._spec(transcript), _said(self.agent).command_of
        return play(adapter or self.adapter, transcript, command_of, spec)

    def _spec(self, transcript: Transcript) -> Spec:
        said, meta = _said(self.agent), transcript[0].meta if transcript else Meta()
        if hasattr(said, "spec_in"):
            return cast(Spec, said.spec_in(self.adapter, transcript))
        return cast(Spec, getattr(said, "spec_of", spec_of)(self.adapter, meta))


def adapter_of(agent: str) -> Adapter:
    """The adapter of an agent, by its id or the name of its folder."""
    return _adapters()[folder_of(agent)]


@cache
def _adapters() -> dict[str, Adapter]:
    return {folder_of(name): adapter for name, adapter in all_adapters().items()}


@cache
def _said(agent: str) -> Any:
    """`said.py` of an agent: `command_of(line)`.

    Where it has them: `spec_of(adapter, meta)` or `spec_in(adapter, transcript)`, how the session
    was created, `amended(transcript)`, what another driver than ours left out, and `reads(data)`,
    whether a further transcript is in the format that the adapter speaks.
    """
    return importlib.import_module(f"tests.agents.{folder_of(agent)}.said")


def cases() -> list[Case]:
    """Every recording of every agent."""
    return [*_committed(), *_further(os.environ.get(VARIABLE, ""))]


def _committed() -> Iterator[Case]:
    for path in sorted(HERE.glob("*/*/transcript.jsonl")):
        folder = path.parent
        yield Case(
            folder.parent.name,
            folder.name,
            path,
            folder / "events.jsonl",
            (folder / "unparsed").exists(),
        )


def _further(folders: str) -> Iterator[Case]:
    for each in filter(None, folders.split(":")):
        agent, _, folder = each.partition("=")
        for path in sorted(Path(folder).glob("*.jsonl")):
            reads = getattr(_said(agent), "reads", lambda data: True)
            if is_transcript(path) and reads(path.read_bytes()):
                yield Case(agent, path.stem, path, None)


def is_transcript(path: Path) -> bool:
    """A folder may hold other files of JSON lines."""
    with path.open("rb") as file:
        return b'"dir"' in file.readline(1 << 16)


def events_of(played: PlayResult) -> bytes:
    """The events as they are committed: raw is the number of the line that caused it, from 1."""
    lines = []
    for event, cause in zip(played.events, played.causes, strict=True):
        number = None if cause is None else cause + 1
        lines.append(encode(msgspec.structs.replace(event, raw=number)) + b"\n")
    return b"".join(lines)


def main() -> None:
    """Show what becomes of every recording; with `--write`, take it for what is expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the expected events")
    write = parser.parse_args().write
    for case in cases():
        played = case.play()
        aside = f", {len(played.aside)} aside" if played.aside else ""
        sys.stdout.write(f"{case}: {share(case.adapter, played)}{aside}\n")
        if write and case.golden is not None:
            case.golden.write_bytes(events_of(played))


if __name__ == "__main__":
    main()
