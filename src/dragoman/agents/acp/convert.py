"""The converter of agents that speak ACP: text turns and interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Exit
from dragoman.schema.commands import Command, Interrupt, Prompt
from dragoman.schema.items import Text
from dragoman.steps import (
    CompleteItem,
    Delivered,
    Delta,
    EndTurn,
    Notify,
    Report,
    Request,
    StartItem,
    Step,
)
from dragoman.wire.jsonrpc import Reply, Result

DEADLINE_S = 120.0
"""Agents on Node.js take up to 17 s to come up, and longer on a busy machine."""


class AcpConverter:
    """Speaks ACP with one agent. Its messages need no ids, so they are counted."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._native = ""
        self._prompt: Prompt | None = None
        self._messages = 0
        self._is_open = False

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt() as prompt:
                self._prompt = prompt
                if self._native:
                    yield from self._send_prompt()
            case Interrupt():
                yield Notify(method="session/cancel", params={"sessionId": self._native})
            case _:
                pass

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        told: dict[str, Any] = msgspec.json.decode(message)
        update = told.get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            if not self._is_open:
                self._messages += 1
                self._is_open = True
                yield StartItem(
                    key=self._key, kind="message", role="assistant", content=(Text(text=""),)
                )
            yield Delta(self._key, update["content"].get("text", ""))

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a request."""
        if not isinstance(reply, Result):
            if self._prompt is not None:
                yield Delivered(message_id=self._prompt.message_id)
                self._prompt = None
            yield Report(
                message=getattr(reply, "message", "it did not answer in time"), code="agent_error"
            )
            yield EndTurn(outcome="failed")
        elif tag == "initialize":
            params = {"cwd": self._spec.directory, "mcpServers": []}
            yield Request(
                method="session/new", params=params, tag="session/new", deadline_s=DEADLINE_S
            )
        elif tag == "session/new":
            self._native = msgspec.json.decode(reply.result)["sessionId"]
            if self._prompt is not None:
                yield from self._send_prompt()
        elif tag == "session/prompt":
            yield from self._complete()
            stop = msgspec.json.decode(reply.result).get("stopReason")
            yield EndTurn(outcome="interrupted" if stop == "cancelled" else "completed")

    def steers(self) -> bool:
        """Say no."""
        return False

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Introduce ourselves."""
        self._native = ""
        yield Request(
            method="initialize",
            params={"protocolVersion": 1, "clientCapabilities": {}},
            tag="initialize",
            deadline_s=DEADLINE_S,
        )

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what belonged to the process."""
        self._native, self._prompt, self._is_open = "", None, False
        return iter(())

    @property
    def _key(self) -> str:
        return f"message-{self._messages}"

    def _complete(self) -> Iterator[Step]:
        if self._is_open:
            self._is_open = False
            yield CompleteItem(key=self._key)

    def _send_prompt(self) -> Iterator[Step]:
        prompt, self._prompt = self._prompt, None
        assert prompt is not None
        yield Delivered(message_id=prompt.message_id)
        yield Request(
            method="session/prompt",
            params={
                "sessionId": self._native,
                "prompt": [{"type": "text", "text": prompt.text}],
            },
            tag="session/prompt",
            deadline_s=None,
        )
