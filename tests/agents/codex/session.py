"""Codex's lines, one by one, and what they become."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.codex import ADAPTER
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.core.normalize import Output
from dragoman.schema.commands import Command, Prompt
from dragoman.schema.events import Draft
from dragoman.steps import Request, Respond
from dragoman.wire.jsonrpc import Result

THREAD, TURN = "thread-1", "turn-1"
EventData = tuple[str, Any]


class CodexSession:
    """A session of Codex, line by line, in a turn."""

    def __init__(self, *, echoes_ids: bool = True) -> None:
        numbers = itertools.count(1)
        spec = Spec(session_id="s", agent="codex", agent_mode="build", directory="/workspace")
        state = SessionState(agent_mode="build")
        self.interpreter = Interpreter(
            "codex", ADAPTER.converter(spec), state, lambda prefix: f"{prefix}_{next(numbers)}"
        )
        self.out: list[Output] = []
        """All that came out, what is for the agent included."""
        self.interpreter.on_open(spec)
        self.on_reply("open", {"thread": {"id": THREAD}, "model": "m"})
        self.say(Prompt(message_id="msg_1", text="Hi"))
        self.on_reply("start:msg_1", {"turn": {"id": TURN}})
        words = [{"type": "text", "text": "Hi"}]
        self.tell("turn/started", turn={"id": TURN})
        named = {"clientId": "msg_1"} if echoes_ids else {}
        self.tell(
            "item/started", item={"type": "userMessage", "id": "u1", "content": words, **named}
        )

    def tell(self, method: str, **params: Any) -> list[EventData]:
        """What a notification becomes: types and data."""
        line = {"method": method, "params": {"threadId": THREAD, "turnId": TURN, **params}}
        self.interpreter.receive(msgspec.json.encode(line))
        return self._read(self.interpreter.take())

    def item(self, **item: Any) -> list[EventData]:
        """What an item becomes that begins and is whole."""
        begun = self.tell("item/started", item=item)
        return begun + self.tell("item/completed", item=item)

    def ask(self, method: str, id: int = 0, **params: Any) -> list[EventData]:
        """What a request of Codex becomes."""
        line = {"method": method, "id": id, "params": {"threadId": THREAD, **params}}
        self.interpreter.on_request(str(id), msgspec.json.encode(line))
        return self._read(self.interpreter.take())

    def say(self, command: Command) -> list[EventData]:
        """What a person's command becomes."""
        return [told for out in self.interpreter.command(command) for told in self._read(out)]

    def on_reply(self, tag: str, result: Any) -> list[EventData]:
        """What comes of a request of ours that was answered."""
        line = msgspec.json.encode(result)
        self.interpreter.on_reply(tag, Result(line), line)
        return self._read(self.interpreter.take())

    def answers(self) -> list[Any]:
        """Our answers to Codex's requests: a result, or the code of an error."""
        found = [each for each in self.out if isinstance(each, Respond)]
        return [each.error.code if each.error else each.result for each in found]

    def requests(self) -> list[Request]:
        """Our requests to Codex."""
        return [each for each in self.out if isinstance(each, Request)]

    def _read(self, out: list[Output]) -> list[EventData]:
        self.out += out
        drafts = [each for each in out if isinstance(each, Draft)]
        return [(draft.body.type, msgspec.to_builtins(draft.body)) for draft in drafts]


def completed(events: list[EventData]) -> list[Any]:
    """The items that are complete."""
    return [data["item"] for type, data in events if type == "item.completed"]
