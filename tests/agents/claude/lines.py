"""Claude Code's lines, one by one, and what they become."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.claude import ADAPTER
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.schema.commands import Prompt
from dragoman.schema.events import Draft
from dragoman.steps import Delivered

SESSION = "0b42215d-cb92-4b8b-95e7-8b3b590c9bb5"


INIT = {"type": "system", "subtype": "init", "model": "m"}
NOTHING: dict[str, Any] = {"id": "msg_0", "content": []}


class Heard:
    """A session of Claude Code, line by line; in a turn, unless nothing was said in it yet."""

    def __init__(self, *, in_turn: bool = True) -> None:
        numbers = itertools.count(1)
        spec = Spec(session_id="s", agent="claude", agent_mode="build", directory="/workspace")
        state = SessionState(agent_mode="build")
        self.interpreter = Interpreter(
            "claude", ADAPTER.converter(spec), state, lambda prefix: f"{prefix}_{next(numbers)}"
        )
        self.delivered: list[str] = []
        """The messages that Claude Code has."""
        if in_turn:
            self.say("msg_1", "Hi")
            self.hear(INIT, {"type": "assistant", "message": {**NOTHING, "stop_reason": "end"}})

    def say(self, message_id: str, text: str) -> None:
        """A person says something."""
        list(self.interpreter.command(Prompt(message_id=message_id, text=text)))

    def hear(self, *lines: dict[str, Any]) -> list[tuple[str, Any]]:
        """What the lines become: types and data."""
        for line in lines:
            self.interpreter.receive(msgspec.json.encode({"session_id": SESSION, **line}))
        out = self.interpreter.take()
        self.delivered += [each.message_id for each in out if isinstance(each, Delivered)]
        drafts = [draft for draft in out if isinstance(draft, Draft)]
        assert all(draft.raw is not None or draft.source == "daemon" for draft in drafts)
        return [(draft.body.type, msgspec.to_builtins(draft.body)) for draft in drafts]


def streamed(**event: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None}


def assistant(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "msg_a", "content": list(content)}, **more}
