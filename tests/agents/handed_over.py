"""A daemon that dies after its agent was given a message, and before it could hear of that."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.testing.model import ScriptedModel
from tests.agents import muffle
from tests.agents.live import Live, LiveAgent, command, variable_of
from tests.daemon import running
from tests.installable_agent import executable


@contextmanager
def walled(agent: LiveAgent, folder: Path, model: ScriptedModel) -> Iterator[tuple[Live, Path]]:
    """A session with an agent that is not heard as long as the file is there."""
    flag, program = folder / "flag", shlex.join(command(agent.adapter))
    wall = shlex.join([sys.executable, muffle.__file__, str(flag)])
    # One word, so that the daemon asks it for its version.
    lines = f'[ "$1" = --version ] && exec {program} --version\nexec {wall} {program} "$@"\n'
    behind = executable(folder / "behind_a_wall", f"#!/bin/sh\n{lines}")
    with running(folder / "data", env={variable_of(agent.adapter): str(behind)}) as daemon:
        yield Live(daemon, model, folder, agent, permissionMode="bypass"), flag


def hits(live: Live) -> int:
    """How often the model has done what it was to do once."""
    found = live.workspace / "hits.txt"
    return found.read_text().count("once") if found.exists() else 0


def survive(live: Live, flag: Path) -> None:
    """Kill the daemon, and let the next one hear."""
    live.daemon.kill()
    flag.unlink()
    live.daemon.start()
