"""A scripted agent that speaks ACP, as a real program; and the acts that a prompt of it has."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.daemon import Daemon, running
from tests.testing.story import Event, Talk, said

COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("scripted_agent.py")))
Act = dict[str, Any]


def ask(name: str, method: str, *, later: bool = False, **params: Any) -> Act:
    """Make a request; its reply is said under this name."""
    return {"ask": method, "params": params, "as": name, "later": later}


def wait(name: str) -> Act:
    """Wait for the reply to a request that was made before."""
    return {"await": name}


def read(name: str, path: str | Path, **more: Any) -> Act:
    """Read a file."""
    return ask(name, "fs/read_text_file", path=str(path), **more)


def write(name: str, path: str | Path, content: str) -> Act:
    """Write a file."""
    return ask(name, "fs/write_text_file", path=str(path), content=content)


def create(name: str, command: str, *args: str, **more: Any) -> Act:
    """Run a command."""
    return ask(name, "terminal/create", command=command, args=list(args), **more)


def of_terminal(name: str, verb: str, terminal: str, *, later: bool = False) -> Act:
    """Do something with a terminal, e.g. `output`; it was created under this name."""
    terminal_id = f"${terminal}.terminalId"
    return ask(name, f"terminal/{verb}", later=later, terminalId=terminal_id)


def tool(call_id: str, **more: Any) -> Act:
    """Tell of a tool call."""
    return {"tell": {"sessionUpdate": "tool_call", "toolCallId": call_id, **more}}


def update(call_id: str, **more: Any) -> Act:
    """Tell more of a tool call."""
    return {"tell": {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **more}}


def shows(terminal: str) -> list[Any]:
    """The content of a tool call that shows a terminal."""
    return [{"type": "terminal", "terminalId": f"${terminal}.terminalId"}]


STAY: Act = {"stay": True}
OFFER: Act = {"offer": True}
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def prompt(*acts: Act) -> str:
    """The prompt that makes the agent do this."""
    return json.dumps(acts)


def replies(events: list[Event]) -> dict[str, Any]:
    """What was answered to the agent, by the names of its requests."""
    found: dict[str, Any] = {}
    for line in "".join(said(events)).splitlines():
        found |= json.loads(line)
    return found


class ScriptedTalk(Talk):
    """A session with it; it may do what it likes unless a test says otherwise."""

    def __init__(self, daemon: Daemon, directory: Path, **create: Any) -> None:
        wanted = {"agent": "scripted", "permissionMode": "bypass", **create}
        super().__init__(daemon, directory=str(directory), **wanted)

    def act(self, *acts: Act) -> dict[str, Any]:
        """Let it act for a turn, and see that the stream keeps every rule; the replies it got."""
        events = self.turn(prompt(*acts))
        assert events[-1]["data"]["outcome"] == "completed"
        self.conforms()
        return replies(events)


@contextmanager
def scripted(folder: Path, *flags: str, fs: bool = True, terminal: bool = True) -> Iterator[Daemon]:
    """A daemon that knows it, and offers it these services."""
    config = folder / "config.toml"
    words = json.dumps(COMMAND)
    offers = f"fs = {json.dumps(fs)}\nterminal = {json.dumps(terminal)}\n"
    config.write_text(f'[agents.scripted]\nadapter = "acp"\ncommand = {words}\n{offers}')
    env = {"DRAGOMAN_STOP_DEADLINE_S": "0.3"}
    with running(folder / "data", "--config", str(config), *flags, env=env) as daemon:
        yield daemon
