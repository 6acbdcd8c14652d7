"""What Python folds the recordings into, for others to compare. `python -m tests.folded` prints it.

One line of JSON for each recording: its folder, and the state after each of its events.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from dragoman.core.fold import SessionState
from dragoman.schema.events import decode

HERE = Path(__file__).parent / "agents"


class Folded(Struct, frozen=True):
    """A recording, and what its events add up to, one after the other."""

    recording: str
    states: list[Raw]
    status: str
    """What the session does after the last one."""


def folded() -> Iterator[Folded]:
    """Every recording, folded."""
    for path in sorted(HERE.glob("*/*/events.jsonl")):
        state, states = SessionState(agent_mode=""), []
        for line in path.read_bytes().splitlines():
            state.apply(decode(line).data)
            states.append(Raw(msgspec.json.encode(state)))
        yield Folded(str(path.parent.relative_to(HERE)), states, state.status)


if __name__ == "__main__":
    for each in folded():
        sys.stdout.write(msgspec.json.encode(each).decode() + "\n")
