"""Run a converter to its end and its steps through the normalizer. Pure.

Nothing escapes but what `on_defect` lets out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.adapter import Adapter, Converter, Requester, Spec
from dragoman.core.fold import SessionState
from dragoman.core.ignored import is_ignored
from dragoman.core.normalize import Normalizer, Output
from dragoman.core.permission_diff import ReadFile, read_nothing, with_diff
from dragoman.core.policy import decide
from dragoman.facts import Exit, IgnoredMessage
from dragoman.schema.commands import Command, Interrupt, Prompt
from dragoman.steps import AskPermission, Bind, Claim, Delta, Respond, Step, Unparsed, Update
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
    """One session's converter and normalizer, with the policy between them."""

    def __init__(
        self,
        agent: str,
        converter: Converter,
        normalizer: Normalizer,
        state: SessionState,
        is_own: Callable[[Sequence[str]], bool] = lambda files: True,
        on_defect: OnDefect = raise_defect,
        ignored: Sequence[IgnoredMessage] | None = None,
        read_file: ReadFile = read_nothing,
    ) -> None:
        self._agent = agent
        self._converter = converter
        self._normalizer = normalizer
        self._state = state
        self._claims = False
        self._on_defect = on_defect
        self._is_own = is_own
        """Whether files are where the session works; only who sees the disk knows its links."""
        self._ignored = ignored
        """What may leave no event; None: anything may."""
        self._read_file = read_file
        """What is in a file that may be shown; as with links, only who sees the disk knows it."""

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

    def command(self, command: Command) -> Iterator[list[Output]]:
        """A person says something; what each step comes to, before the next is taken."""
        if isinstance(command, Prompt):
            self._normalizer.remember(command)
        elif isinstance(command, Interrupt):
            self._normalizer.take_back("interrupt", everything=False)
            yield self._normalizer.take()
        for step in self._converter.command(command):
            self._run((step,), None)
            yield self._normalizer.take()

    def call_off(self) -> Iterator[list[Output]]:
        """End the agent's turn, whatever becomes of the session's; as in `command`."""
        for step in self._converter.command(Interrupt()):
            self._run((step,), None)
            yield self._normalizer.take()

    def steers(self) -> bool:
        """Whether a message that is sent now joins the running turn."""
        return self._converter.steers()

    def on_open(self, spec: Spec) -> None:
        """A process has started."""
        self._run(self._converter.on_open(spec), None)

    def on_close(self, exit: Exit, *, resumable: bool) -> None:
        """The process is gone, by itself or by us."""
        self._run(self._converter.on_close(exit), None)
        if not exit.expected:
            self._normalizer.process_gone(exit, resumable=resumable)

    def take_claims(self) -> bool:
        """Whether there was a claim since somebody last asked."""
        claimed, self._claims = self._claims, False
        return claimed

    def take(self) -> list[Output]:
        """What has come out, in order."""
        return self._normalizer.take()

    def _run(self, steps: Iterable[Step], raw: bytes | None) -> None:
        apply = self._normalizer.apply
        for step in steps:
            if isinstance(step, Update):
                self._update(step, raw)
                continue
            if isinstance(step, AskPermission):
                step = with_diff(step, self._read_file)
            apply(step, raw)
            if type(step) is Delta:
                continue  # by far the most
            if isinstance(step, AskPermission):
                self._decide(step)
            elif isinstance(step, Claim):
                self._claims = True
            elif isinstance(step, Bind):
                self._state.bind(step.native_session_id, resumable=step.resumable)

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
