"""Real agents through a real daemon, against a model that follows a script.

Each scenario is one test: a session of its own, with a workspace, a home and a model of its own;
where an agent serves many sessions with one process, scenarios share home and process.
With `DRAGOMAN_RECORD=1` each scenario is recorded into `tests/agents/<agent>/<scenario>/`.
`DRAGOMAN_<AGENT>_COMMAND` names another program than the one that `make agents` has installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Adapter
from dragoman.facts import Capabilities
from dragoman.runtime.provision.install import Installer
from dragoman.settings import command_variable
from dragoman.testing.conformance import check_lines
from dragoman.testing.model import ScriptedModel, StepLike
from tests.agents.acp_agents import folder_of
from tests.agents.tidy import tidy
from tests.daemon import AGENTS, Daemon, running
from tests.testing.story import Event, Talk

RECORD = "DRAGOMAN_RECORD"
FOLDER = Path(__file__).parent
KILLS = ".kills"
MAX_KILLS = 3
"""So often a process that scenarios share is killed: the next start would wait for two seconds."""
OF_A_PROCESS = {"env", "mcp", "skills"}
"""What a session is created with that gives it a process of its own."""

Block = dict[str, Any]
"""A part of a scripted answer: a text, a thought, a call of a tool."""
Environ = Callable[[str, Path], dict[str, str]]
"""The agent's environment, for the model's URL and a home, in which it may put something."""


class LiveAgent(ABC):
    """What scenarios must know of an agent: how its model makes it act, and where it keeps what.

    What an agent cannot do, as its capabilities say, it need not have here.
    """

    adapter: Adapter
    models: tuple[str, str]
    """Two that it knows; a session begins with the first."""
    unknown_session: str
    """A native id that is as good as any, and of no session."""
    error_codes: Mapping[int, str]
    """How it names what the model's API answers with these statuses, whoever tries again."""

    stream_error: Mapping[str, str] | None = None
    """An error in the middle of an answer after which it tries again; None: whatever it is."""
    asks_models = True
    """It asks models itself, and a session chooses one. Else a server of its vendor's does, and
    tells nothing of retries, limits and windows."""
    lives_for_a_turn = False
    """Between turns there is no process."""
    asks_plainly = False
    """It asks one question at a time, without a header and descriptions."""
    shares_process = False
    """Scenarios are served by one process, which is slow to start, unless they need an environment
    of their own."""
    asks_under_bypass = False
    """It asks whatever the permission mode is, and a rule answers."""
    ends_refused_turn = False
    """A refusal ends the turn: the model hears of it with the next message."""
    refused_outcome = "completed"
    """How a turn ends in which a person refused something, without a reason."""
    heads_questions = True
    """A question may have a header."""
    too_long = "max_output_tokens"
    """What its error says of an answer that is longer than the model may write."""
    plays: frozenset[str] | None = None
    """The scenarios that it plays, by the names of their tests; None: all. Of several agents that
    speak a dialect, each leaves out what another one has shown of it, what the dialect has no words
    for (why something was refused, that an answer is said anew), and what would take minutes."""

    often: frozenset[str] | None = None
    """Of these, the ones that every run of the tests plays, where another agent shows the rest of
    its dialect; None: all. `DRAGOMAN_TEST_SCENARIOS=all` plays all of them."""

    def does_play(self, scenario: str) -> bool:
        """Whether it plays a scenario in this run."""
        chosen = self.plays if os.environ.get("DRAGOMAN_TEST_SCENARIOS") == "all" else self.often
        return all(names is None or scenario in names for names in (self.plays, chosen))

    @property
    def ends_unanswered_turn(self) -> bool:
        """So does a question that a person refuses to answer."""
        return self.ends_refused_turn

    @property
    def asks_freely(self) -> bool:
        """A question needs no permission."""
        return True

    @property
    def keeps_unanswered(self) -> bool:
        """A process that dies before the first answer leaves a conversation to resume."""
        return True

    @abstractmethod
    def environ(self, url: str, home: Path) -> dict[str, str]:
        """Its environment: nothing but the model at this URL, and nothing of ours."""

    def shared_environ(self, folder: Path, url: str, home: Path) -> dict[str, str]:
        """An environment that is the same for every model: its URL is in the session's folder."""
        raise NotImplementedError

    @abstractmethod
    def shell(self, command: str) -> Block:
        """A command; one that changes something is asked for."""

    @abstractmethod
    def write(self, path: str, content: str) -> Block:
        """A new file, with lines that end."""

    def question(self, id: str, text: str, *options: str) -> Block:
        """A question, for `ask`."""
        raise NotImplementedError

    def ask(self, *questions: Block) -> Block:
        """Questions to the person."""
        raise NotImplementedError

    def sent(self, text: str) -> str:
        """A person's message, as it stands in a request to the model."""
        return text

    @abstractmethod
    def model_of(self, body: Any) -> str:
        """The model that a request is for, by its name in `models`."""

    def effort_of(self, body: Any) -> Any:
        """The effort that a request asks for."""
        raise NotImplementedError

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        """Type and content of the images in a request."""
        raise NotImplementedError

    def unreachable(self, url: str) -> dict[str, Any]:
        """How to create a session whose model is at an address where nobody listens."""
        return {"environ": lambda _, home: self.environ(url, home)}

    def processes(self, live: Live) -> list[int]:
        """The agent's processes that serve a session."""
        return live.processes()

    def wait_until_kept(self, live: Live) -> None:  # noqa: B027
        """Wait until the agent has written the conversation down, where it takes its time."""

    def forget(self, live: Live) -> None:
        """Remove what the agent keeps of its conversations."""
        raise NotImplementedError


def _kills_in(home: Path) -> int:
    kills = home / KILLS
    return kills.stat().st_size if kills.exists() else 0


def calls(*blocks: Block, text: str | None = None) -> Block:
    """A step that calls tools, after a word or without."""
    return {"blocks": [*([] if text is None else [{"text": text}]), *blocks]}


def scripted(agent: LiveAgent, steps: Iterable[StepLike]) -> ScriptedModel:
    """A model for an agent, which knows its side requests."""
    recipes = agent.adapter.probe_recipes
    return ScriptedModel(steps, side=() if recipes is None else recipes.side)


class Live(Talk):
    """One session with a real agent."""

    def __init__(
        self,
        daemon: Daemon,
        model: ScriptedModel,
        folder: Path,
        agent: LiveAgent,
        environ: Environ | None = None,
        shared_home: Path | None = None,
        /,
        **create: Any,
    ) -> None:
        self.agent = agent
        self.model = model
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self.shares_process = shared_home is not None
        """Other scenarios are served by the same process."""
        self.home = shared_home or folder / "home"
        self.home.mkdir(exist_ok=True)
        around = environ or agent.environ
        env = {**around(model.url, self.home), **create.pop("env", {})}
        create.setdefault("directory", str(self.workspace))
        super().__init__(daemon, agent=agent.adapter.id, env=env, **create)

    def answer(self, question: Event, *answers: list[str]) -> None:
        """Answer a question, one list for each."""
        path = f"/questions/{question['data']['question_id']}/reply"
        reply = self.post(path, {"answers": list(answers)})
        assert reply.status == 204, reply.body

    def note_kill(self) -> None:
        """Note with the home that the process that serves it is killed."""
        if self.shares_process:
            with (self.home / KILLS).open("a") as kills:
                kills.write("x")

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
        self, agent: LiveAgent, daemon: Daemon, folder: Path, stack: ExitStack, shares: bool
    ) -> None:
        self.agent = agent
        self.daemon = daemon
        self._folder = folder
        self._stack = stack
        self._shares = shares and agent.shares_process
        self._home: Path | None = None
        self._count = 0

    def session(self, *steps: StepLike, **create: Any) -> Live:
        """A session, and the model that its agent talks to; `environ` replaces the agent's."""
        model = self._stack.enter_context(scripted(self.agent, steps))
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
        home = None
        if self._shares and environ is None and not create.keys() & OF_A_PROCESS:
            home = self._shared_home()
            environ = partial(self.agent.shared_environ, own)
        live = Live(self.daemon, model, own, self.agent, environ, home, **create)
        self._stack.callback(self._leave, live)
        return live

    def _shared_home(self) -> Path:
        """Another one after some kills: who dies again and again is kept from starting."""
        if self._home is None:
            data = self.daemon.data_dir
            homes = (data.with_name(f"{data.name}-{self.agent.adapter.id}-{n}") for n in count(1))
            self._home = next(home for home in homes if _kills_in(home) < MAX_KILLS)
        return self._home

    def _leave(self, live: Live) -> None:
        """End what a scenario has left, which would stay for as long as the daemon does."""
        live.post("/terminate")
        for pid in () if live.shares_process else self.agent.processes(live):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def shared_daemon(agents: Iterable[LiveAgent], folder: Path) -> Iterator[Daemon | None]:
    """A daemon for many scenarios; None where each is recorded by itself."""
    if os.environ.get(RECORD):
        yield None
        return
    env = {name: value for agent in agents for name, value in chosen(agent.adapter).items()}
    with running(folder, env=env) as daemon:
        yield daemon


@contextmanager
def bench(
    agent: LiveAgent, daemon: Daemon | None, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    """A bench for one scenario; on a daemon of its own where it is recorded."""
    folder: Path = request.getfixturevalue("tmp_path")
    command(agent.adapter)
    shares = daemon is not None
    with ExitStack() as stack:
        if daemon is None:
            daemon = stack.enter_context(_recorded(agent.adapter, folder, _case(agent, request)))
        yield Bench(agent, daemon, folder, stack, shares)


def _case(agent: LiveAgent, request: pytest.FixtureRequest) -> str:
    """What a recording is called: after its scenario, for whichever agent."""
    name, _, parameters = request.node.name.removeprefix("test_").rstrip("]").partition("[")
    own = [each for each in parameters.replace(agent.adapter.id, "", 1).split("-") if each]
    return "_".join([name, *own])


@contextmanager
def alone(agent: LiveAgent, folder: Path, *steps: StepLike, **env: str) -> Iterator[Live]:
    """A session on a daemon of its own, which may be killed and has these variables."""
    command(agent.adapter)
    own = running(folder / "data", env={**chosen(agent.adapter), **env})
    with own as daemon, scripted(agent, steps) as model:
        yield Live(daemon, model, folder, agent)


@contextmanager
def _recorded(agent: Adapter, folder: Path, case: str) -> Iterator[Daemon]:
    out = FOLDER / folder_of(agent.id) / case / "transcript.jsonl"
    out.unlink(missing_ok=True)
    words = [sys.executable, "-m", "dragoman.cli.main", "record", "--out", str(out)]
    words += ["--"] if agent.http is None else ["--serves", "--"]
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
    return command_variable(agent.id)


def version_of(agent: Adapter) -> str | None:
    """The version that is tried; one that a variable names tells it itself."""
    assert agent.package is not None
    program = chosen(agent).get(variable_of(agent))
    return agent.package.version if program is None else _version_of(program)


@cache
def _version_of(program: str) -> str | None:
    words = [*shlex.split(program), "--version"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r"\d+\.\d+\.\d+", said.stdout + said.stderr)
    return found and found[0]


def capabilities_of(agent: Adapter) -> Capabilities:
    """What the version that is tried has."""
    return agent.capabilities.of_version(version_of(agent))


def command(agent: Adapter) -> list[str]:
    """The agent's program, perhaps behind an interpreter; skips where it is missing.

    As its variable says, else as `make agents` has installed it.
    """
    if chosen(agent):
        return shlex.split(chosen(agent)[variable_of(agent)])
    assert agent.package is not None
    ours = Installer(AGENTS, os.environ).command(agent, agent.package.version)
    if ours is not None:
        return [*ours, *agent.command[1:]]
    program = shutil.which(agent.command[0])
    if program is None:
        pytest.skip(f"{agent.name} {agent.package.version} is not installed: run `make agents`")
    return [program, *agent.command[1:]]
