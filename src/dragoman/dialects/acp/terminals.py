"""Terminals: commands that the daemon runs for the agent, and what of their output is kept."""

from __future__ import annotations

import re
import shlex
from typing import Any

from dragoman.dialects.acp import native
from dragoman.services import TerminalExited

MAX_KEPT_BYTES = 1 << 20
"""So much of the end of an output is kept for the agent, however much it asks for."""
MAX_SHOWN = 512 * 1024
"""Characters; so much of the beginning of an output is shown as it comes."""
SHOWN_END = 64 * 1024
"""Bytes; so much of the end of a longer one is shown when it is over."""
_SHELL = re.compile(r"(.*/)?(ba|da|z|k|a|fi)?sh")
_SHELL_FLAG = re.compile(r"-[a-z]*c")


class PrintedText:
    """What a command has printed: the beginning for people, the end for the agent."""

    def __init__(self, limit: int | None) -> None:
        self._limit = MAX_KEPT_BYTES if limit is None else min(limit, MAX_KEPT_BYTES)
        self._end = bytearray()
        self._size = 0
        self._beginning: list[str] = []
        self._shown = self._shown_bytes = 0

    def add(self, text: str) -> str:
        """More was printed; how much of that is shown now."""
        data = text.encode()
        self._size += len(data)
        self._end += data
        if len(self._end) > self._limit:
            del self._end[: _boundary(self._end, len(self._end) - self._limit)]
        fresh = text[: MAX_SHOWN - self._shown]
        if fresh:
            self._beginning.append(fresh)
            self._shown += len(fresh)
            self._shown_bytes += len(data) if len(fresh) == len(text) else len(fresh.encode())
        return fresh

    @property
    def beginning(self) -> str:
        """All that was shown as it came."""
        return "".join(self._beginning)

    @property
    def is_cut(self) -> bool:
        """More was printed than is shown as it comes."""
        return self._size > self._shown_bytes

    @property
    def ending(self) -> str:
        """What is shown at last where too much was printed; else nothing."""
        rest = self._size - self._shown_bytes
        start = max(len(self._end) - min(rest, SHOWN_END), 0)
        end = self._end[_boundary(self._end, start) :]
        left_out = rest - len(end)
        note = f"\n[{left_out} bytes are left out here]\n" if left_out else ""
        return note + end.decode() if rest else ""

    def answer(self, exit: TerminalExited | None) -> dict[str, Any]:
        """What the agent is told."""
        is_truncated = self._size > len(self._end)
        told: dict[str, Any] = {"output": self._end.decode(), "truncated": is_truncated}
        return told if exit is None else {**told, "exitStatus": exit_status(exit)}


class Terminal:
    """A command."""

    def __init__(self, id: str, params: native.TerminalParams, cwd: str, create_key: str) -> None:
        self.id = id
        self.command = shown_command(params.words)
        """As a person would type it."""
        self.cwd = cwd
        self.create_key = create_key
        """The request that wants to know its name."""
        self.call_id: str | None = None
        """The tool call that shows it."""
        self.is_shown = False
        """It has an item of its own."""
        self.is_released = False
        self.is_background = False
        """The turn that began it is over."""
        self.output = PrintedText(params.output_byte_limit)
        self.exit: TerminalExited | None = None
        self.waits: list[str] = []
        """Requests to be answered with its exit."""
        self.kills: list[str] = []
        """Requests to be answered when it is over."""


class Terminals:
    """The terminals of a session, by their ids; also released ones, until they are shown."""

    def __init__(self) -> None:
        self._count = 0
        self.all: dict[str, Terminal] = {}

    def create(self, params: native.TerminalParams, cwd: str, create_key: str) -> Terminal:
        """A terminal that is about to be started."""
        self._count += 1
        terminal = Terminal(f"term_{self._count}", params, cwd, create_key)
        self.all[terminal.id] = terminal
        return terminal

    def get(self, id: str) -> Terminal | None:
        """One that the agent has not released."""
        terminal = self.all.get(id)
        return None if terminal is None or terminal.is_released else terminal

    def forget_released(self, call_id: str) -> None:
        """What a call has shown of those that the agent needs no more is in its result."""
        for terminal in self.of_call(call_id):
            if terminal.is_released and terminal.exit is not None:
                del self.all[terminal.id]

    def of_call(self, call_id: str) -> list[Terminal]:
        """Those that a tool call shows."""
        return [each for each in self.all.values() if each.call_id == call_id]


def exit_status(exit: TerminalExited) -> dict[str, Any]:
    """How a command ended, in the protocol's words."""
    return {"exitCode": exit.code, "signal": exit.signal}


def shown_command(words: tuple[str, ...]) -> str:
    """A command as a person would type it: of one for a shell, what the shell gets."""
    if len(words) == 1:
        return words[0]
    is_script = len(words) == 3 and _SHELL.fullmatch(words[0]) and _SHELL_FLAG.fullmatch(words[1])
    return words[2] if is_script else shlex.join(words)


def _boundary(data: bytearray, at: int) -> int:
    """The first place from there on where a character begins."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at
