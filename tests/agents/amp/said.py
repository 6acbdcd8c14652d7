"""Which action of a person caused a line that went to Amp."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec

from dragoman.adapter import Adapter, Spec
from dragoman.schema.commands import Command, Prompt
from dragoman.testing.recordings import play
from dragoman.testing.recordings.transcript import Eof, Line, Run, Transcript


def spec_in(adapter: Adapter, transcript: Transcript) -> Spec:
    """The session that was started with these flags."""
    argv = transcript[0].meta.argv
    flags = dict(pairwise(argv))
    return msgspec.structs.replace(
        play.spec_of(adapter, transcript[0].meta),
        variant=flags.get("--mode"),
        native_session_id=flags.get("continue"),
        permission_mode="bypass" if "--dangerously-allow-all" in argv else "default",
    )


def amended(transcript: Transcript) -> Transcript:
    """Other drivers gave the message as an argument; ours sends it, and then ends the input."""
    return tuple(map(_amended, transcript))


def _amended(run: Run) -> Run:
    argv = list(run.meta.argv)
    at = next((argv.index(flag) for flag in ("-x", "--execute") if flag in argv), None)
    given = None if at is None else next(iter(argv[at + 1 : at + 2]), None)
    if given is None or given.startswith("-") or run.lines("in"):
        return run
    content = [{"type": "text", "text": given}]
    line = {"type": "user", "message": {"role": "user", "content": content}}
    sent = Line(t=0.0, dir="in", data=msgspec.json.encode(line))
    return msgspec.structs.replace(run, entries=(sent, Eof(t=0.0), *run.entries))


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    try:
        value: Any = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    match value:
        case {"type": "user", "message": {"content": [*blocks]}}:
            texts = [block["text"] for block in blocks if block.get("type") == "text"]
            return Prompt(message_id="", text="\n\n".join(texts))
        case _:
            return None
