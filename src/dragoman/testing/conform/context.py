"""What a probe works with: sessions, a workspace, a scripted model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from dragoman.adapter import Adapter
from dragoman.client import Client
from dragoman.errors import DragomanError, SessionEndedError
from dragoman.facts import Block, ProbeRecipes
from dragoman.schema.commands import Attachment, PermissionReply
from dragoman.schema.events import Event, PermissionRequested, QuestionRequested
from dragoman.schema.http import CreateSession, Delivery, PatchSession
from dragoman.testing.conform.daemon import ConformDaemon
from dragoman.testing.conform.listener import Listener
from dragoman.testing.conform.probe import NoRecipe, ProbeFailure
from dragoman.testing.conform.query import ends_turn
from dragoman.testing.model import ScriptedModel, StepLike
from dragoman.testing.recordings.http_calls import with_calls
from dragoman.testing.recordings.transcript import Run, load

DONE = "That is done."
PROMPT = "Go on, please."
REST = "rest"
"""The gate before the last piece of what the model says slowly."""

Act = Literal["run", "write", "look", "ask", "delegate", "mcp"]


class Talk:
    """One session."""

    def __init__(self, client: Client, wish: CreateSession) -> None:
        self._client = client
        self.id = client.create(wish).session_id
        self._ear = Listener(client, self.id)
        self._read_count = 0

    @property
    def events(self) -> list[Event]:
        """All events so far."""
        return self._ear.events

    @property
    def native_id(self) -> str | None:
        """The agent's own id of the session."""
        return self._client.get(self.id).native_session_id

    def send(self, prompt: str, *attachments: Attachment, delivery: Delivery = "queue") -> None:
        """Send a message, and do not wait."""
        self._client.send(self.id, prompt, attachments=attachments, delivery=delivery)

    def turn(self, prompt: str, *attachments: Attachment) -> list[Event]:
        """Send a message; the events until its turn is over."""
        self.send(prompt, *attachments)
        return self.rest()

    def rest(self) -> list[Event]:
        """The events until the turn is over. Where it asks a person, it never is."""
        before = self._read_count
        self.until(ends_turn, "the end of the turn")
        return self.events[before : self._read_count]

    def until(self, wanted: Callable[[Event], bool], expected: str, *, last: str = "") -> Event:
        """The next such event, after those that were waited for before."""
        event = self._ear.until(wanted, expected, self._read_count, last=last)
        self._read_count = event.sequence
        return event

    def permission(self) -> PermissionRequested:
        """The permission that the agent asks for."""
        event = self.until(
            lambda event: isinstance(event.data, PermissionRequested),
            "permission.requested",
            last="turn.ended",
        )
        assert isinstance(event.data, PermissionRequested)
        return event.data

    def allow(self, asked: PermissionRequested, reply: PermissionReply = "once") -> None:
        """Answer a permission."""
        self._client.reply_permission(self.id, asked.permission_id, reply)

    def answer(self, asked: QuestionRequested, answers: Sequence[Sequence[str]]) -> None:
        """Answer a question."""
        self._client.reply_question(self.id, asked.question_id, answers)

    def patch(self, **change: Any) -> None:
        """Change the session."""
        self._client.patch(self.id, PatchSession(**change))

    def interrupt(self) -> None:
        """Stop the turn."""
        self._client.interrupt(self.id)

    def end(self) -> None:
        """End the session, if it has not ended."""
        with contextlib.suppress(SessionEndedError):
            self._client.terminate(self.id)
        self._ear.close()


class ProbeContext:
    """What a probe needs. `model` is None for an agent that is driven by prompts."""

    def __init__(
        self, daemon: ConformDaemon, adapter: Adapter, probe_recipes: ProbeRecipes, folder: Path
    ) -> None:
        self.adapter = adapter
        self.probe_recipes = probe_recipes
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.talks: list[Talk] = []
        self.model = ScriptedModel(side=probe_recipes.side) if probe_recipes.environ else None
        self._cues = 0
        self._daemon = daemon
        self._client = daemon.client()

    def __enter__(self) -> ProbeContext:
        """Make the folders, and start the model."""
        for folder in (self.workspace, self.home):
            folder.mkdir(parents=True)
        if self.model is not None:
            self.model.start()
            furnish(self.home, self.probe_recipes, self.model.url)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the sessions, and stop the model."""
        try:
            for talk in self.talks:
                talk.end()
        finally:
            if self.model is not None:
                self.model.close()
            self._client.close()

    def open(self, **create: Any) -> Talk:
        """Open a session in the workspace."""
        environ = self.probe_recipes.environ
        env = dict(environ(self.model.url, str(self.home))) if environ and self.model else {}
        wish = CreateSession(
            agent=self.adapter.id,
            agent_version=self._daemon.version,
            directory=str(self.workspace),
            env=env or None,
            **create,
        )
        self.talks.append(Talk(self._client, wish))
        return self.talks[-1]

    def runs(self) -> list[Run]:
        """The agent's processes in the workspace, as they were recorded so far."""
        return runs_in(self._daemon.tapes, self.workspace)

    # --- Cues: each gives the prompt that makes the agent do it ---

    def say(self, words: str) -> str:
        """Say this."""
        return self._cue("say", ({"text": words},), words=words)

    def stream(self, pieces: Sequence[str]) -> str:
        """Say this piece by piece, the last one when the gate REST is opened."""
        return self._cue("stream", ({"text": list(pieces), "gate": REST},))

    def work(self, pieces: Sequence[str]) -> str:
        """Be busy for a while, the same way."""
        return self._cue("work", ({"text": list(pieces), "gate": REST},))

    def think(self, thought: str) -> str:
        """Think this, and then answer."""
        return self._cue("think", ({"blocks": [{"thinking": thought}, {"text": DONE}]},))

    def fail(self) -> str:
        """Fail, because the model does, however often it is asked."""
        refused = {"error": {"status": 401, "message": "no such key"}, "times": 20}
        return self._cue("fail", (refused,))

    def leave(self) -> str:
        """End the session by itself."""
        return self._cue("leave", ({"text": DONE},))

    def retry(self) -> str:
        """Say what goes on: the model fails once, and is asked again."""
        told = {"status": 529, "message": "Overloaded", "headers": {"retry-after": "0"}}
        overloaded = {"error": told}
        return self._cue("retry", (overloaded, {"text": DONE}))

    def do(self, act: Act, *given: Any, between: Iterable[StepLike] = (), name: str = "") -> str:
        """Call a tool, and then say that it is done."""
        if self.model is None:
            return self._cue(name or act, ())
        call: Callable[..., Block | tuple[Block, ...]] | None = getattr(self.probe_recipes, act)
        if call is None:
            raise NoRecipe(f"the recipes have no {act!r}")
        made = call(*given)
        first, *others = made if isinstance(made, tuple) else (made,)
        rest = ({"blocks": [block]} for block in others)
        return self._cue(act, ({"blocks": [first]}, *between, *rest, {"text": DONE}))

    def change(self, path: Path) -> str:
        """Make a file by a command, which a person is asked for."""
        return self.do("run", f"touch {path.name}", name="change")

    def plan(self, plan: str) -> str:
        """Hand in a plan."""
        if self.model is None:
            return self._cue("plan", ())
        if self.probe_recipes.plan is None:
            raise NoRecipe("the recipes have no 'plan'")
        calls = self.probe_recipes.plan(plan, self.last_request())
        return self._cue("plan", (*({"blocks": [call]} for call in calls), {"text": DONE}))

    def open_gate(self) -> None:
        """Let the model say the last piece."""
        if self.model is not None:
            self.model.open(REST)

    def _cue(self, name: str, steps: Iterable[StepLike], **words: str) -> str:
        if self.model is not None:
            self.model.script(*steps)
            self._cues += 1
            return f"{PROMPT} ({self._cues})"  # each unlike the others, to be told apart
        if name not in self.probe_recipes.prompts:
            raise NoRecipe(f"the recipes have no prompt {name!r}")
        return self.probe_recipes.prompts[name].format(**words)

    def last_request(self) -> str:
        """The last request to the model, as JSON; empty without a model."""
        return (
            "" if self.model is None else msgspec.json.encode(self._last_body(self.model)).decode()
        )

    def last_message(self) -> str:
        """The last message of that request, as JSON."""
        body = {} if self.model is None else self._last_body(self.model)
        messages = body.get("messages") or body.get("input") or [""]
        return msgspec.json.encode(messages[-1]).decode()

    def _last_body(self, model: ScriptedModel) -> Any:
        if not model.mains:
            raise ProbeFailure("a request to the model", "none")
        return model.mains[-1].body


def furnish(home: Path, probe_recipes: ProbeRecipes, url: str) -> None:
    """Put into a home what the agent must find there, for the model at this URL."""
    for name, text in (probe_recipes.files(url) if probe_recipes.files else {}).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def runs_in(tapes: Path, workspace: Path) -> list[Run]:
    """The processes that worked in a workspace, as recorded. Raise DragomanError."""
    found = []
    for path in sorted(tapes.iterdir()):
        try:
            runs = with_calls(load(path.read_bytes()))
        except msgspec.DecodeError as error:
            raise DragomanError(f"the recording {path} cannot be read: {error}") from None
        found += [run for run in runs if _worked_in(run, workspace)]
    return found


def _worked_in(run: Run, workspace: Path) -> bool:
    """It was started there or, where several share it, was told to work there."""
    named = msgspec.json.encode(str(workspace))
    in_query = f"directory={quote(str(workspace))}".encode()
    told = (named in line.data or in_query in line.data for line in run.lines("in"))
    return run.meta.cwd == str(workspace) or any(told)
