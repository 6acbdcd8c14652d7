"""Real agents through a real daemon, against a model that follows a script.

Each scenario is one test: a session of its own, with a workspace, a home and a model of its own.
With `DRAGOMAN_RECORD=1` each scenario is recorded into `tests/agents/<agent>/<scenario>/`.
`DRAGOMAN_<AGENT>_COMMAND` names another program than the one that `make agents` has installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Adapter
from dragoman.runtime.provision.install import Installer
from dragoman.testing.conformance import check_lines
from dragoman.testing.model import ScriptedModel, StepLike
from tests.agents.tidy import tidy
from tests.daemon import AGENTS, Daemon, running
from tests.testing.story import Event, Talk

RECORD = "DRAGOMAN_RECORD"
FOLDER = Path(__file__).parent

Environ = Callable[[str, Path], dict[str, str]]
"""The agent's environment, for the model's URL and a home, in which it may put something."""


class Live(Talk):
    """One session with a real agent."""

    def __init__(
        self,
        daemon: Daemon,
        model: ScriptedModel,
        folder: Path,
        agent: str,
        environ: Environ,
        /,
        **create: Any,
    ) -> None:
        self.model = model
        self.folder = folder
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.workspace.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        env = {**environ(model.url, self.home), **create.pop("env", {})}
        create.setdefault("directory", str(self.workspace))
        super().__init__(daemon, agent=agent, env=env, **create)

    def answer(self, question: Event, *answers: list[str]) -> None:
        """Answer a question, one list for each."""
        path = f"/questions/{question['data']['question_id']}/reply"
        reply = self.post(path, {"answers": list(answers)})
        assert reply.status == 204, reply.body

    def since(self, event: Event) -> list[Event]:
        """All that came after an event."""
        return [each for each in self.events() if each["sequence"] > event["sequence"]]

    def conforms(self) -> list[Event]:
        """All events there are: they break no rule, and everything was understood."""
        events = self.events()
        broken = check_lines(map(msgspec.json.encode, events), strict=True)
        assert not broken, "\n".join(map(str, broken))
        return events


class Bench:
    """Makes sessions with one real agent."""

    def __init__(
        self, agent: Adapter, environ: Environ, daemon: Daemon, folder: Path, stack: ExitStack
    ) -> None:
        self.daemon = daemon
        self._agent = agent
        self._environ = environ
        self._folder = folder
        self._stack = stack
        self._count = 0

    def session(self, *steps: StepLike, **create: Any) -> Live:
        """A session, and the model that its agent talks to; `environ` replaces the bench's."""
        model = self._stack.enter_context(ScriptedModel(steps))
        return self.another(model, **create)

    def another(
        self,
        model: ScriptedModel,
        /,
        *,
        folder: Path | None = None,
        environ: Environ | None = None,
        **create: Any,
    ) -> Live:
        """A session beside another one: on its model, and in its folder."""
        self._count += 1
        own = folder or self._folder / str(self._count)
        own.mkdir(exist_ok=True)
        around = environ or self._environ
        return Live(self.daemon, model, own, self._agent.id, around, **create)


@contextmanager
def bench(
    agent: Adapter, environ: Environ, daemon: Daemon | None, folder: Path, case: str
) -> Iterator[Bench]:
    """A bench for one scenario; on a daemon of its own where it is recorded."""
    with ExitStack() as stack:
        if daemon is None:
            daemon = stack.enter_context(_recorded(agent, folder, case))
        yield Bench(agent, environ, daemon, folder, stack)


@contextmanager
def _recorded(agent: Adapter, folder: Path, case: str) -> Iterator[Daemon]:
    out = FOLDER / agent.id / case / "transcript.jsonl"
    out.unlink(missing_ok=True)
    words = [sys.executable, "-m", "dragoman.cli.main", "record", "--out", str(out), "--"]
    recorded = shlex.join([*words, *command(agent)])
    with running(folder / "data", env={variable_of(agent): recorded}) as daemon:
        yield daemon
    if out.exists():  # in some scenarios no process ever starts
        tidy(out, folder)


def chosen(agent: Adapter) -> dict[str, str]:
    """The variable that names another command than the installed one, where it is set."""
    name = variable_of(agent)
    return {name: os.environ[name]} if os.environ.get(name) else {}


def variable_of(agent: Adapter) -> str:
    """What the daemon, and whoever runs these tests, names a command by."""
    return f"DRAGOMAN_{agent.id.upper()}_COMMAND"


def command(agent: Adapter) -> list[str]:
    """The agent's program, perhaps behind an interpreter; skips where it is missing.

    As its variable says, else as `make agents` has installed it.
    """
    if chosen(agent):
        return shlex.split(chosen(agent)[variable_of(agent)])
    assert agent.package is not None
    ours = Installer(AGENTS, os.environ).executable(agent, agent.package.version)
    program = str(ours) if ours else shutil.which(agent.command[0])
    if program is None:
        pytest.skip(f"{agent.name} {agent.package.version} is not installed: run `make agents`")
    return [program]
