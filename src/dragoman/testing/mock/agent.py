"""The mock agent's process: `python -m dragoman.testing.mock.agent`.

It imports nothing but the standard library, so that it starts fast. It hears interrupts while it
waits, runs one turn at a time, queues what comes meanwhile, and ends when its input does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from dragoman.testing.mock.lines import Ask, Ending, Message, Pause, Script, encode, item, label
from dragoman.testing.mock.prompts import choose

STOP_REASONS = {"completed": "end_turn", "failed": "error", "interrupted": "interrupted"}


class TurnInterrupted(Exception):
    """Somebody wants the turn to stop."""


class InputReader:
    """What the daemon says, read without blocking the turn."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def receive(self, timeout_s: float | None) -> Message | None:
        """Give the next command, None if none came in time. Raise EOFError at the end."""
        while not self._lines:
            readable, _, _ = select.select([self._fd], [], [], timeout_s)
            if not readable:
                return None
            chunk = os.read(self._fd, 1 << 16)
            if not chunk:
                raise EOFError
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines.extend(line for line in lines if line.strip())
        command: Message = json.loads(self._lines.popleft())
        return command


class Agent:
    """One process, one session, one turn at a time."""

    def __init__(self, options: dict[str, str]) -> None:
        resumed = None if "fork" in options else options.get("session")
        self._model = options.get("model", "mock")
        self._inbox = InputReader(sys.stdin.fileno())
        self._prompts: deque[Message] = deque()
        self._turns = 0
        self._said_bytes = 0
        self._busy = False
        session = resumed or f"mock-{os.urandom(6).hex()}"
        self._tell({"type": "bind", "native_session_id": session})
        if "model" not in options:
            self._tell({"type": "update", "body": {"model": self._model}})

    def run(self) -> None:
        """Work until the input ends."""
        while True:
            if self._prompts:
                self._turn(self._prompts.popleft())
            else:
                self._obey(self._inbox.receive(None) or {})

    def _turn(self, prompt: Message) -> None:
        self._turns += 1
        self._said_bytes = 0
        metadata = {"native_turn_id": f"turn-{self._turns}"}
        self._tell({"type": "begin_turn", "metadata": metadata})
        if attachments := prompt.get("attachments"):
            paths = ", ".join(attachment["path"] for attachment in attachments)
            self._perform(item("status", label("attachments", paths)))
        ending: Ending | str
        self._busy = True
        try:
            ending = self._perform(choose(prompt["text"]))
        except TurnInterrupted:
            ending = "interrupted"
        self._busy = False
        outcome = "completed" if ending == "goodbye" else ending
        self._tell(
            {
                "type": "end_turn",
                "outcome": outcome,
                "stop_reason": STOP_REASONS[outcome],
                "usage": self._usage(prompt["text"]),
                "metadata": metadata,
            }
        )
        if ending == "goodbye":
            self._tell({"type": "end_session", "reason": "completed", "message": "Goodbye."})
            raise SystemExit(0)

    def _perform(self, script: Script) -> Ending:
        answer: Message | None = None
        while True:
            try:
                act = script.send(answer)
            except StopIteration as stop:
                return stop.value or "completed"
            answer = None
            match act:
                case bytes():
                    self._write(act)
                case Pause(seconds=seconds):
                    self._wait(seconds)
                case Ask(message=message):
                    self._tell(message)
                    answer = self._answer(message["key"])
                case message:
                    self._tell(message)

    def _answer(self, key: str) -> Message:
        while True:
            command = self._inbox.receive(None) or {}
            if command.get("type", "").endswith("_answer") and command["id"] == key:
                return command
            self._obey(command)

    def _wait(self, seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if until is None else max(0.0, until - time.monotonic())
            command = self._inbox.receive(left)
            if command is None:
                return
            self._obey(command)

    def _obey(self, command: Message) -> None:
        match command:
            case {"type": "prompt"}:
                self._prompts.append(command)
            case {"type": "interrupt"} if self._busy:
                raise TurnInterrupted
            case {"type": "configure", "model": str(model)}:
                self._model = model

    def _usage(self, prompt: str) -> dict[str, Any]:
        counts = {
            "input_tokens": 12 + len(prompt) // 4,
            "cached_input_tokens": 1024 * self._turns,
            "cache_write_tokens": 64,
            "output_tokens": 1 + self._said_bytes // 25,
            "reasoning_tokens": 8,
        }
        prices = (3.0, 0.3, 3.75, 15.0, 15.0)
        cost = sum(n * price for n, price in zip(counts.values(), prices, strict=True)) / 1e6
        used = {**counts, "cost_usd": round(cost, 6)}
        return {**used, "cost_source": "reported", "models": {self._model: used}}

    def _tell(self, message: Message) -> None:
        self._write(encode(message))

    def _write(self, line: bytes) -> None:
        self._said_bytes += len(line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def parse(arguments: Sequence[str]) -> dict[str, str]:
    """Read `--name=value` and `--name`."""
    words = (argument.removeprefix("--").partition("=") for argument in arguments)
    return {name: value for name, _, value in words}


def main(arguments: Sequence[str]) -> int:
    """Be the agent until the input ends. Give the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        Agent(parse(arguments)).run()
    except EOFError:
        return 0
    except BrokenPipeError:
        # Nobody listens any more, and Python would complain about that when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
