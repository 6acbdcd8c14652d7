"""A running mock agent, and what to read from its steps."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Callable

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.mock import ADAPTER
from dragoman.schema.commands import Command, Prompt
from dragoman.schema.items import ToolResult
from dragoman.steps import CompleteItem, Delta, EndTurn, Send, StartItem, Step

DEADLINE_S = 20.0


class Agent:
    """A running mock agent; every line it says goes through the converter."""

    def __init__(self, spec: Spec) -> None:
        launch = ADAPTER.launch(spec, ADAPTER.command)
        self._converter = ADAPTER.converter(spec)
        self.process = subprocess.Popen(
            launch.argv,
            cwd=launch.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._unread = bytearray()
        self.undecodable: list[bytes] = []
        self.longest_line = 0

    def tell(self, command: Command) -> None:
        assert self.process.stdin is not None
        for step in self._converter.command(command):
            if isinstance(step, Send):
                self.process.stdin.write(step.data + b"\n")

    def prompt(self, text: str) -> None:
        self.tell(Prompt(message_id="msg1", text=text))

    def until(self, last: Callable[[Step], bool]) -> list[Step]:
        steps: list[Step] = []
        while not (steps and any(map(last, steps[-3:]))):
            line = self._line()
            assert line is not None, f"it ended after {steps[-5:]}"
            steps += self._hear(line)
        return steps

    def until_end(self) -> list[Step]:
        steps: list[Step] = []
        while (line := self._line()) is not None:
            steps += self._hear(line)
        return steps

    def turn(self, text: str) -> list[Step]:
        self.prompt(text)
        return self.until(ends_turn)

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _hear(self, line: bytes) -> list[Step]:
        self.longest_line = max(self.longest_line, len(line))
        try:
            return list(self._converter.receive(line))
        except msgspec.DecodeError:
            self.undecodable.append(line)
            return []

    def _line(self) -> bytes | None:
        assert self.process.stdout is not None
        fd, seen = self.process.stdout.fileno(), 0
        while (end := self._unread.find(b"\n", seen)) < 0:
            seen = len(self._unread)
            readable, _, _ = select.select([fd], [], [], DEADLINE_S)
            assert readable, "it says nothing"
            chunk = os.read(fd, 1 << 20)
            if not chunk:
                return None
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line


def ends_turn(step: Step) -> bool:
    return isinstance(step, EndTurn)


def is_delta(step: Step) -> bool:
    return isinstance(step, Delta)


def said(steps: list[Step]) -> str:
    return "".join(
        step.text for step in steps if isinstance(step, Delta) if step.content_type == "text"
    )


def outcome(steps: list[Step]) -> str:
    (end,) = (step for step in steps if isinstance(step, EndTurn))
    return end.outcome


def started(steps: list[Step], kind: str) -> list[StartItem]:
    return [step for step in steps if isinstance(step, StartItem) and step.kind == kind]


def completed(steps: list[Step], kind: str) -> list[CompleteItem]:
    keys = {step.key for step in started(steps, kind)}
    return [step for step in steps if isinstance(step, CompleteItem) and step.key in keys]


def outputs(steps: list[Step]) -> list[tuple[str, str]]:
    return [
        (done.status, part.output)
        for done in completed(steps, "tool_result")
        for part in done.content or ()
        if isinstance(part, ToolResult)
    ]
