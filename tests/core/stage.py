"""A session without IO: acts go in, a tape of events comes out."""

from __future__ import annotations

import itertools

from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.core.normalize import Output
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Interrupt,
    PermissionMode,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import Approver, PermissionRequested, Stderr
from dragoman.steps import Step

from .dialect import (
    UNDECODABLE,
    Act,
    Answer,
    Cut,
    Die,
    Garble,
    Refuse,
    Restart,
    Say,
    Scripted,
    Stop,
    Terminate,
    Write,
)
from .tape import Tape, new_ids

STDERR = Stderr(head="", truncated=False, total_lines=0)


class Stage:
    """Plays acts as the runtime would, on one normalizer after another."""

    def __init__(self, *, mode: PermissionMode = "default", steers: bool = False) -> None:
        self.tape = Tape()
        self.prompts: list[Prompt] = []
        self.said: list[tuple[bytes, tuple[Step, ...]]] = []
        self.state = SessionState(agent_mode="build", permission_mode=mode)
        self._steers = steers
        self._new_id = new_ids()
        self._numbers = itertools.count(1)
        self._set_up()

    def _set_up(self) -> None:
        self.converter = Scripted()
        self.interpreter = Interpreter("test", self.converter, self.state, self._new_id)

    def play(self, *acts: Act) -> Stage:
        for act in acts:
            self._play(act)
            self._record(self.interpreter.take())
        return self

    def say(self, *steps: Step) -> Stage:
        """The agent says one message."""
        return self.play(Say(steps))

    def _record(self, outputs: list[Output]) -> None:
        before = len(self.tape.bodies)
        self.tape.record(outputs)
        for body in self.tape.bodies[before:]:
            self.state.apply(body)

    def _play(self, act: Act) -> None:
        match act:
            case Say(steps=steps):
                self._hear(b'{"n":%d}' % next(self._numbers), steps)
            case Garble():
                self._hear(UNDECODABLE, ())
            case Write(echoed=echoed):
                self._write(echoed)
            case Stop():
                if self.interpreter.turn_id is not None:
                    self.command(Interrupt())
            case Answer(favourably=favourably):
                self._answer(favourably)
            case Die(exit=exit, resumable=resumable):
                self.interpreter.on_close(exit, resumable=resumable)
            case Cut():
                exit = Exit(code=None, signal=9, expected=True, stderr=STDERR)
                self.interpreter.on_close(exit, resumable=True)
                self.interpreter.cut_turn("interrupt")
            case Refuse():
                self._refuse()
            case Restart():
                self._restart()
            case Terminate():
                self.interpreter.take_back("session_end")
                self.interpreter.terminate()

    def _hear(self, message: bytes, steps: tuple[Step, ...]) -> None:
        self.said.append((message, steps))
        self.converter.next = steps
        self.interpreter.receive(message)

    def _prompt(self) -> Prompt | None:
        """The next message, where the runtime would hand one over."""
        if self.interpreter.ended or (self.interpreter.turn_id is not None and not self._steers):
            return None
        number = len(self.prompts) + 1
        self.prompts.append(Prompt(message_id=f"m{number}", text=f"words {number}"))
        return self.prompts[-1]

    def _write(self, echoed: bool) -> None:
        if prompt := self._prompt():
            self.converter.echoes = echoed
            self.command(prompt)

    def _refuse(self) -> None:
        if prompt := self._prompt():
            self.interpreter.remember(prompt)
            self.interpreter.deliver(prompt.message_id)
            self.interpreter.fail_turn("no", "launch_failed")
            self.interpreter.give_up("no", None)

    def command(self, command: Command) -> None:
        for outputs in self.interpreter.command(command):
            self._record(outputs)

    def _answer(self, favourably: bool) -> None:
        for request in self.interpreter.requests:
            who = Approver(token="t1", scope="approve")
            if isinstance(request.body, PermissionRequested):
                reply: PermissionReply = "always" if favourably else "reject"
                self.command(AnswerPermission(key=request.key, reply=reply, approver=who))
            else:
                answers = (("yes",),) if favourably else None
                self.command(AnswerQuestion(key=request.key, answers=answers, approver=who))
            return

    def _restart(self) -> None:
        self._set_up()
        self.interpreter.restore(self.tape.bodies)
        self.interpreter.cut_turn("restart")
