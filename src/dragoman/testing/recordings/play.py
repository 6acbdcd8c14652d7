"""Plays a recording into an adapter without a process.

The converter, the normalizer and the policy work as in a running session; ids and times are the
same in every run. `command_of` is the agent's own inverse: which action of a person caused a
line. What our converter sends is compared with what was recorded, so that an agent's later
words about it (echoes, replies) name what we sent.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from dragoman.adapter import Adapter, Spec
from dragoman.core.daemon_events import draft
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.core.normalize import Output
from dragoman.facts import Exit
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, Command, Interrupt, Prompt
from dragoman.schema.events import Draft, Event, QuestionRequested, SessionStarted, Stderr
from dragoman.steps import Delivered, EndInput, Outgoing
from dragoman.testing.recordings.counterpart import Counterpart, Heard, PlainLines, counterpart
from dragoman.testing.recordings.http_calls import with_calls
from dragoman.testing.recordings.substitutions import Substitutions
from dragoman.testing.recordings.transcript import Eof, Line, Meta, PassedSignal, Run, Transcript
from dragoman.testing.unaccounted import Share, count, is_ignored, native_value
from dragoman.wire.jsonrpc import IncomingRequest, Response, Stray

SESSION_ID = "session"
FRESH_ID = "00000000-0000-4000-8000-000000000000"
_BLANK = b" \r"

CommandOf = Callable[[bytes], Command | None]


class PlayResult(Struct, frozen=True, kw_only=True):
    """What came of a recording."""

    events: tuple[Event, ...]
    native_lines: tuple[bytes, ...]
    """What the agent said, as the converter heard it."""
    causes: tuple[int | None, ...]
    """For each event the native line that caused it, by its index."""
    unanswered: tuple[bytes, ...]
    """What our converter sent, and the recording has nothing like it."""
    strays: tuple[bytes, ...]
    """What was recorded towards the agent, and our converter would not have sent."""
    aside: tuple[bytes, ...] = ()
    """What a process said that many share, and not to this session."""
    unclaimed: tuple[bytes, ...] = ()
    """Of the native lines, what it said under keys that are nobody's."""
    sent_in_turn: frozenset[str] = frozenset()
    """The messages of people that were sent while a turn was running, by their ids."""


def spec_of(adapter: Adapter, meta: Meta) -> Spec:
    """A plain session in the folder of the recording."""
    return Spec(
        session_id=SESSION_ID,
        agent=adapter.id,
        agent_mode=adapter.modes[0].id if adapter.modes else "",
        directory=meta.cwd or "/workspace",
        fresh_id=FRESH_ID,
    )


def play(
    adapter: Adapter, transcript: Transcript, command_of: CommandOf, spec: Spec | None = None
) -> PlayResult:
    """Play all processes of a recording, one after another. Prompts are numbered anew.

    Raise what a converter may not raise: in a daemon it would cost one message, and be logged.
    """
    first = transcript[0].meta if transcript else Meta()
    player = _Player(adapter, command_of, spec or spec_of(adapter, first))
    for run in with_calls(transcript):
        player.run(run)
    player.stop()
    return player.played()


class _Player:
    def __init__(self, adapter: Adapter, command_of: CommandOf, spec: Spec) -> None:
        self._adapter = adapter
        self._command_of = command_of
        self._spec = spec
        self._counts: Counter[str] = Counter()
        self._state = SessionState(
            agent_mode=spec.agent_mode,
            permission_mode=spec.permission_mode,
            model=spec.model,
            variant=spec.variant,
        )
        self._interpreter = Interpreter(
            adapter.id,
            adapter.converter(spec),
            self._state,
            self._new_id,
            ignored=adapter.ignored,
        )
        self._names = Substitutions()
        self._sides: list[Counterpart] = [PlainLines(self._names)]
        self._on_way: dict[str, bytes] = {}
        self._lost_lines: dict[bytes, str] = {}
        self._ended_input = False
        """The process was told nothing more by us: it may go on."""
        self._unclaimed: list[bytes] = []
        self._sent_in_turn: set[str] = set()
        self._native: list[bytes] = []
        self._heard_at: dict[int, int] = {}
        self._events: list[Event] = []
        self._causes: list[int | None] = []
        self._take([draft(SessionStarted(metadata=_metadata(spec)))])

    def _new_id(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}_{self._counts[kind]}"

    # --- A process ---

    def run(self, run: Run) -> None:
        """From its start to its end, as a session of the daemon would see it."""
        if self._is_over():
            return
        caused = self._ended_input = False
        launch = self._adapter.launch(self._spec, self._adapter.command)
        self._sides.append(counterpart(self._adapter, launch, self._names))
        self._interpreter.on_open(self._spec)
        self._settle()
        for entry in run.entries:
            match entry:
                case Line(dir="out", data=data) if data.strip(_BLANK):
                    self._receive(data)
                case Line(dir="in", data=data):
                    self._say(data)
                case PassedSignal(number=signal.SIGINT):
                    self._command(Interrupt())
                case Eof() if self._ended_input:
                    pass
                case Eof() | PassedSignal():
                    caused = True
                case Line():
                    pass
            if self._is_over():
                return
        self._close(run, caused=caused)

    def _is_over(self) -> bool:
        return self._interpreter.ended

    @property
    def _side(self) -> Counterpart:
        return self._sides[-1]

    def _receive(self, recorded: bytes) -> None:
        self._side.hear(recorded)
        self._settle()

    def _settle(self) -> None:
        """Take what has come out, and hear what the agent may say now."""
        self._take(self._interpreter.take())
        self._side.pair()
        while self._side.waiting and not self._is_over():
            self._hear(self._side.waiting.popleft())
            self._take(self._interpreter.take())
            self._side.pair()

    def _hear(self, heard: Heard) -> None:
        match heard:
            case bytes():
                self._note(heard)
                self._interpreter.receive(heard)
            case IncomingRequest(key=key, message=message):
                self._note(message)
                self._interpreter.on_request(key, message)
            case Stray(error=error, message=message):
                self._note(message)
                self._interpreter.stray(error, message)
            case Response(tag=tag, reply=reply, message=answer):
                self._note(answer or b"")
                self._interpreter.on_reply(tag, reply, answer)

    def _note(self, line: bytes) -> None:
        self._heard_at[id(line)] = len(self._native)
        self._native.append(line)

    def _say(self, recorded: bytes) -> None:
        before = len(self._side.unmatched)
        line = self._names.apply(recorded)
        command = self._fitting(self._command_of(line)) if self._side.is_ours(line) else None
        if command is not None:
            if isinstance(command, Prompt):
                command = self._numbered(command, recorded)
            self._command(command)
        self._side.match(recorded, before)
        self._settle()

    def _command(self, command: Command) -> None:
        for outputs in self._interpreter.command(command):
            self._take(outputs)

    def _numbered(self, prompt: Prompt, recorded: bytes) -> Prompt:
        """A message of our own; one that was lost with its process is sent again as the same."""
        message_id = self._lost_lines.pop(recorded, None) or self._new_id("msg")
        self._on_way[message_id] = recorded
        if self._interpreter.turn_id is not None:
            self._sent_in_turn.add(message_id)
        return msgspec.structs.replace(prompt, message_id=message_id)

    def _fitting(self, command: Command | None) -> Command | None:
        """An answer is due as long as somebody waits for it: a rule may have given it before.

        An agent may say no to a question in the words in which it refuses a permission.
        """
        if not isinstance(command, AnswerPermission | AnswerQuestion):
            return command
        request = next((r for r in self._interpreter.requests if r.key == command.key), None)
        if request is None:
            return None
        if isinstance(command, AnswerPermission) and isinstance(request.body, QuestionRequested):
            return AnswerQuestion(key=command.key, answers=None, approver=command.approver)
        return command

    def _close(self, run: Run, *, caused: bool) -> None:
        if run.ending is None:
            return
        exit = Exit(
            code=run.ending.code,
            signal=run.ending.signal,
            expected=caused,
            stderr=_stderr(run.lines("err")),
        )
        if self._on_way and not caused and self._interpreter.turn_id is None:
            # Its sending failed, and needs a turn to say so.
            self._interpreter.deliver(next(iter(self._on_way)))
            self._take(self._interpreter.take())
        self._lost_lines |= {recorded: message_id for message_id, recorded in self._on_way.items()}
        self._on_way.clear()
        resumable = caused or (self._state.confirmed and self._resumes())
        self._interpreter.on_close(exit, resumable=resumable)
        if caused:
            self._interpreter.cut_turn("restart")
        self._take(self._interpreter.take())

    def _resumes(self) -> bool:
        return "resume" in self._adapter.capabilities.shown

    def stop(self) -> None:
        """The recording is over: what is open closes as when the daemon stops."""
        for side in self._sides if not self._is_over() else ():
            self._unclaimed += side.unclaimed()
        self._native += self._unclaimed
        self._interpreter.cut_turn("restart")
        self._take(self._interpreter.take())

    # --- What comes of it ---

    def _take(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Draft):
                self._state.apply(output.body)
                self._stamp(output)
            elif isinstance(output, Outgoing):
                self._ended_input |= isinstance(output, EndInput)
                self._side.tell(output)
            elif isinstance(output, Delivered):
                self._on_way.pop(output.message_id, None)
                self._lost_lines = {
                    r: m for r, m in self._lost_lines.items() if m != output.message_id
                }

    def _stamp(self, draft: Draft) -> None:
        sequence = len(self._events) + 1
        self._causes.append(None if draft.raw is None else self._heard_at.get(id(draft.raw)))
        self._events.append(
            Event(
                event_id=f"evt_{sequence}",
                sequence=sequence,
                time=f"2026-01-01T00:00:00.{sequence:06}Z",
                session_id=self._spec.session_id,
                native_session_id=draft.native_session_id,
                synthetic=draft.source == "daemon",
                source=draft.source,
                type=draft.body.type,
                data=draft.body,
                raw=None if draft.raw is None else native_value(draft.raw),
            )
        )

    def played(self) -> PlayResult:
        """All of it."""
        return PlayResult(
            events=tuple(self._events),
            native_lines=tuple(self._native),
            causes=tuple(self._causes),
            unanswered=tuple(line for side in self._sides for line in side.unmatched),
            strays=tuple(line for side in self._sides for line in side.strays),
            aside=tuple(line for side in self._sides for line in side.aside),
            unclaimed=tuple(self._unclaimed),
            sent_in_turn=frozenset(self._sent_in_turn),
        )


def _metadata(spec: Spec) -> dict[str, str | None]:
    return {
        "agent": spec.agent,
        "agentVersion": spec.agent_version,
        "agentMode": spec.agent_mode,
        "permissionMode": spec.permission_mode,
        "model": spec.model,
        "variant": spec.variant,
        "directory": spec.directory,
    }


def _stderr(lines: list[Line]) -> Stderr:
    text = "\n".join(line.data.decode(errors="replace") for line in lines)
    return Stderr(head=text, truncated=False, total_lines=len(lines))


# --- Nothing vanishes ---


def unaccounted(adapter: Adapter, played: PlayResult) -> list[bytes]:
    """What the agent said, and is neither the raw of an event nor known noise."""
    shown = set(played.causes)
    return [
        line
        for at, line in enumerate(played.native_lines)
        if at not in shown and not is_ignored(adapter, line)
    ]


def share(adapter: Adapter, played: PlayResult) -> Share:
    """How much of what the agent said is shown."""
    shown = {at for at in played.causes if at is not None}
    return count(adapter, played.native_lines, lambda at: at in shown)
