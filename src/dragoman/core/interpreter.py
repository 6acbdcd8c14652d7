"""One session's interpreter: converter → policy → normalizer → outputs. Pure.

Nothing escapes but what `on_defect` lets out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.adapter import Adapter, Converter, Requester, ServiceUser, Spec
from dragoman.core.fold import SessionState
from dragoman.core.ignored import is_ignored
from dragoman.core.items import NewId
from dragoman.core.loop_guard import CODE, LoopGuard
from dragoman.core.normalize import Normalizer, Output
from dragoman.core.permission_diff import ReadFile, read_nothing, with_diff
from dragoman.core.policy import decide
from dragoman.core.requests import OpenRequest
from dragoman.core.restore import restore
from dragoman.core.written_files import FindFile, WrittenFiles, find_nothing
from dragoman.facts import Exit, IgnoredMessage
from dragoman.schema.commands import Command, Interrupt, Prompt
from dragoman.schema.events import Body, Draft, QueueUpdated, SessionEnded
from dragoman.schema.items import Status
from dragoman.services import ServiceEvent
from dragoman.steps import (
    AskPermission,
    Bind,
    Claim,
    CompleteItem,
    Delivered,
    Delta,
    EndTurn,
    Report,
    Respond,
    StartItem,
    Step,
    Unparsed,
    Update,
    whole,
)
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, Reply, RpcError

OnDefect = Callable[[Exception], None]
"""Is told of an exception that no dialect may raise, after what was said was kept."""
_UNKNOWN = RpcError(code=METHOD_NOT_FOUND, message="this client does not know that")


def raise_defect(error: Exception) -> None:
    """Let it be seen, as whoever tests a dialect wants it."""
    raise error


def keys_of(
    adapter: Adapter, message: bytes, on_defect: OnDefect = raise_defect
) -> tuple[str, ...] | Unparsed:
    """Whom a message of a shared process is for, by native keys."""
    try:
        return () if adapter.route is None else adapter.route(message)
    except Exception as error:  # noqa: BLE001 - a dialect's defect costs one message
        if is_defect(error):
            on_defect(error)
        return Unparsed(error=_reason(error), location=adapter.id)


def is_defect(error: Exception) -> bool:
    """Whether the dialect is to blame, and not what the agent said."""
    return not isinstance(error, msgspec.MsgspecError)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if is_defect(error) else str(error)


class Interpreter:
    """One session's converter and normalizer, with the policy between them.

    Whatever happens to a session is told to this class; what is to be written and done comes out
    of `take`, in order.
    """

    def __init__(
        self,
        agent: str,
        converter: Converter,
        state: SessionState,
        new_id: NewId,
        *,
        files_dir: str = "/files",
        is_own: Callable[[Sequence[str]], bool] = lambda files: True,
        on_defect: OnDefect = raise_defect,
        ignored: Sequence[IgnoredMessage] | None = None,
        read_file: ReadFile = read_nothing,
        find_file: FindFile = find_nothing,
        loop_limit: int = 0,
    ) -> None:
        self._agent = agent
        self._converter = converter
        self._normalizer = Normalizer(new_id, files_dir)
        self._normalizer.native_session_id = state.native_session_id
        self._normalizer.ended = state.ended
        self._state = state
        self._claims = False
        self._on_defect = on_defect
        self._is_own = is_own
        """Whether files are where the session works; only who sees the disk knows its links."""
        self._ignored = ignored
        """What may leave no event; None: anything may."""
        self._loop_guard = LoopGuard(loop_limit)
        self._written_files = WrittenFiles(find_file)
        self._read_file = read_file
        """What is in a file that may be shown; as with links, only who sees the disk knows it."""

    # --- How it stands ---

    @property
    def turn_id(self) -> str | None:
        """The running turn."""
        return self._normalizer.turn_id

    @property
    def idle(self) -> bool:
        """Nothing is open: no turn, no item, no request."""
        return self._normalizer.idle

    @property
    def ended(self) -> bool:
        """The session has ended: nothing more comes."""
        return self._normalizer.ended

    @property
    def requests(self) -> Collection[OpenRequest]:
        """The requests that wait for a person."""
        return self._normalizer.requests.values()

    def request(self, request_id: str) -> OpenRequest | None:
        """The open request with this id of ours."""
        return self._normalizer.request(request_id)

    # --- From the agent ---

    def receive(self, message: bytes) -> None:
        """The agent said something; what cannot be decoded is kept, and harms nothing else."""
        try:
            self._run(self._converter.receive(message), message)
        except Exception as error:  # noqa: BLE001 - a dialect's defect costs one message
            self._unparsed(error, message)
        else:
            self._keep(message)

    def on_request(self, key: str, message: bytes) -> None:
        """The agent wants an answer; where nothing is understood it is a refusal, at once."""
        steps: tuple[Step, ...] = ()
        try:
            steps = tuple(self._converter.receive(message))
        except Exception as error:  # noqa: BLE001 - as above
            self._unparsed(error, message)
        else:
            if not steps:
                self.stray("a request that nobody here answers", message)
        self._run(steps, message)
        self._keep(message)
        if all(isinstance(step, Unparsed) for step in steps):
            self._normalizer.apply(Respond(key=key, error=_UNKNOWN), message)

    def on_reply(self, tag: str, reply: Reply, message: bytes | None) -> None:
        """A request of ours was answered, refused, or is overdue: then there is no message."""
        assert isinstance(self._converter, Requester)
        try:
            self._run(self._converter.on_reply(tag, reply), message)
        except Exception as error:  # noqa: BLE001 - as above
            self._unparsed(error, message)
        else:
            if message is not None:
                self._keep(message)

    def on_service(self, event: ServiceEvent) -> None:
        """Something became of what the converter had the daemon do."""
        assert isinstance(self._converter, ServiceUser)
        try:
            self._run(self._converter.on_service(event), None)
        except Exception as error:  # noqa: BLE001 - as above
            self._unparsed(error, None)

    def stray(self, error: str, message: bytes | None) -> None:
        """The agent said something that belongs to nothing; it is kept."""
        self._normalizer.apply(Unparsed(error=error, location=self._agent), message)

    def _keep(self, message: bytes) -> None:
        """Nothing vanishes: what came to no event, and is not known as noise, does now."""
        if self._ignored is None or self._normalizer.shows(message):
            return
        if not is_ignored(self._ignored, message):
            self.stray("it is about nothing that is known here", message)

    def _unparsed(self, error: Exception, message: bytes | None) -> None:
        self.stray(_reason(error), message)
        if is_defect(error):
            self._on_defect(error)

    def oversize(self, size: int, sha256: str, head: bytes) -> None:
        """The agent said more at once than is decoded."""
        error = f"oversize: a message of {size} bytes, sha256 {sha256}, was not decoded"
        self._normalizer.oversize(error, self._agent, sha256, head)

    # --- From people ---

    def command(self, command: Command) -> Iterator[list[Output]]:
        """A person says something; what each step comes to, before the next is taken."""
        if isinstance(command, Prompt):
            self._normalizer.remember(command)
        elif isinstance(command, Interrupt):
            self._normalizer.take_back("interrupt", everything=False)
            yield self.take()
        yield from self._each_step(command)

    def call_off(self) -> Iterator[list[Output]]:
        """End the agent's turn, whatever becomes of the session's; as in `command`."""
        yield from self._each_step(Interrupt())

    def _each_step(self, command: Command) -> Iterator[list[Output]]:
        for step in self._converter.command(command):
            self._run((step,), None)
            yield self.take()

    def remember(self, prompt: Prompt) -> None:
        """Know a message before it is sent, so that it gets its turn whatever goes wrong."""
        self._normalizer.remember(prompt)

    def forget(self, message_id: str) -> None:
        """A message that no process has heard was taken back."""
        self._normalizer.forget(message_id)

    def deliver(self, message_id: str) -> None:
        """A message gets its turn, although the agent has not accepted it."""
        self._normalizer.apply(Delivered(message_id=message_id), None)

    def steers(self) -> bool:
        """Whether a message that is sent now joins the running turn."""
        return self._converter.steers()

    # --- From us ---

    def note(self, body: Body) -> None:
        """An event of our own."""
        self._normalizer.note(body)

    def show_status(self, label: str, detail: str) -> None:
        """A status item of our own, in a turn or between two."""
        item = StartItem(
            key=f"daemon:{label}",
            kind="status",
            content=(Status(label=label, detail=detail),),
            source="daemon",
        )
        for step in whole(item):
            self._normalizer.apply(step, None)

    def report(self, message: str, code: str) -> None:
        """An error of our own, in the turn if there is one."""
        self._normalizer.apply(Report(message=message, code=code), None)

    def fail_turn(self, message: str, code: str) -> None:
        """The turn ends with an error of ours."""
        self.report(message, code)
        self._normalizer.apply(EndTurn(outcome="failed"), None)

    def take_back(self, reason: str) -> None:
        """Who stops an agent first takes back what it asks of people."""
        self._normalizer.take_back(reason)

    def cut_turn(self, reason: str) -> None:
        """We end the turn, and all that is open."""
        self._normalizer.cut_turn(reason)

    def terminate(self) -> None:
        """A person ended the session; its processes are gone."""
        self._normalizer.terminate()

    def restore(self, bodies: Iterable[Body]) -> None:
        """Know what is open from what is in the log."""
        for body in bodies:
            restore(self._normalizer, body)

    # --- Processes ---

    def on_open(self, spec: Spec) -> None:
        """A process has started."""
        self._run(self._converter.on_open(spec), None)

    def on_close(self, exit: Exit, *, resumable: bool) -> None:
        """The process is gone, by itself or by us."""
        self._run(self._converter.on_close(exit), None)
        if not exit.expected:
            self._normalizer.process_gone(exit, resumable=resumable)

    def process_gone(self, exit: Exit, *, resumable: bool) -> None:
        """The same where the converter knows already, or never met the process."""
        self._normalizer.process_gone(exit, resumable=resumable)

    def give_up(self, message: str, exit: Exit | None) -> None:
        """The agent cannot go on, nor be resumed: the session ends with what is known."""
        self._normalizer.give_up(message, exit)

    def take_claims(self) -> bool:
        """Whether there was a claim since somebody last asked."""
        claimed, self._claims = self._claims, False
        return claimed

    def take(self) -> list[Output]:
        """What has come out, in order."""
        out = self._normalizer.take()
        if self._normalizer.ended and self._state.queue and out:
            self._empty_queue(out)
        return out

    def _empty_queue(self, out: list[Output]) -> None:
        """Whoever ends the session: what people saw waiting will not be delivered."""
        for at, output in enumerate(out):
            if isinstance(output, Draft) and isinstance(output.body, SessionEnded):
                native = self._state.native_session_id
                out.insert(at, Draft(QueueUpdated(messages=()), "daemon", native))
                return

    def _run(self, steps: Iterable[Step], raw: bytes | None) -> None:
        apply = self._normalizer.apply
        for step in steps:
            if isinstance(step, Update):
                self._update(step, raw)
                continue
            if isinstance(step, AskPermission):
                step = with_diff(step, self._read_file)
            elif isinstance(step, StartItem) and step.writes is not None:
                self._written_files.expect(step.writes)
            elif isinstance(step, CompleteItem):
                step = self._written_files.complete(step)
            elif isinstance(step, EndTurn):
                self._written_files.clear()
                if self._loop_guard.is_tripped:
                    step = replace(step, outcome="failed")
            apply(step, raw)
            if type(step) is Delta:
                continue  # by far the most
            if self._loop_guard.observe(step):
                self._stop_loop()
            if isinstance(step, AskPermission):
                self._decide(step)
            elif isinstance(step, Claim):
                self._claims = True
            elif isinstance(step, Bind):
                self._state.bind(step.native_session_id, resumable=step.resumable)

    def _stop_loop(self) -> None:
        """The agent is told to stop, as if a person had; its turn has failed."""
        self.report(self._loop_guard.message, CODE)
        self._run(self._converter.command(Interrupt()), None)

    def _update(self, step: Update, raw: bytes | None) -> None:
        """Only what is new is told."""
        news = self._state.news(step.body)
        if news is not None:
            self._normalizer.apply(Update(body=news), raw)

    def _decide(self, ask: AskPermission) -> None:
        """Modes and rules answer at once, by the same way as a person."""
        if ask.files and not ask.guarded:
            ask = replace(ask, guarded=not self._is_own(ask.files))
        answer = decide(ask, self._state.permission_mode, self._state.rules)
        if answer is not None:
            self._run(self._converter.command(answer), None)
