"""OpenCode's converter, where the real agent cannot be brought to it."""

from __future__ import annotations

import json
from typing import Any

from dragoman.adapter import Spec
from dragoman.agents.opencode.convert import OpenCodeConverter
from dragoman.schema.items import Status, Text
from dragoman.steps import CompleteItem, Delta, StartItem, Step

SPEC = Spec(
    session_id="s1",
    agent="opencode",
    agent_mode="build",
    directory="/project",
    native_session_id="ses_1",
)


class Server:
    """A session's converter, and what its server says to it."""

    def __init__(self) -> None:
        self._converter = OpenCodeConverter(SPEC)
        list(self._converter.on_open(SPEC))

    def say(self, type: str, **properties: Any) -> list[Step]:
        payload = {"id": "evt_1", "type": type, "properties": {"sessionID": "ses_1", **properties}}
        line = json.dumps({"directory": "/project", "payload": payload}).encode()
        return list(self._converter.receive(line))

    def message(self, **more: Any) -> list[Step]:
        info = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1}}
        return self.say("message.updated", info={**info, **more})

    def part(self, id: str, type: str = "text", **more: Any) -> list[Step]:
        part = {"id": id, "messageID": "msg_1", "sessionID": "ses_1", "type": type, **more}
        return self.say("message.part.updated", part=part)

    def begin(self, id: str, words: str, type: str = "text") -> list[Step]:
        """A text that is being written."""
        steps = self.part(id, type, text="", time={"start": 1})
        field = {"messageID": "msg_1", "partID": id, "field": "text", "delta": words}
        return steps + self.say("message.part.delta", **field)


def removed_in(steps: list[Step]) -> list[str | None]:
    """What is told as removed."""
    items = [step for step in steps if isinstance(step, StartItem)]
    parts = [part for item in items for part in item.content if isinstance(part, Status)]
    return [part.detail for part in parts if part.label == "removed"]


def endings(steps: list[Step]) -> list[tuple[str, str, Any]]:
    """How the items of messages and thoughts end."""
    ends = [step for step in steps if isinstance(step, CompleteItem)]
    return [(end.key, end.status, (end.fields or {}).get("reason"))
            for end in ends if ":removed" not in end.key]  # fmt: skip


def test_a_message_that_is_removed_while_it_is_written_is_retracted() -> None:
    """Before, the event was `agent.unparsed`, and the message stayed open to the turn's end."""
    server = Server()
    server.message()
    server.begin("prt_1", "Hello")
    steps = server.say("message.removed", messageID="msg_1")
    assert endings(steps) == [("msg_1", "failed", "retracted")]
    assert removed_in(steps) == ["message msg_1"]
    assert server.begin("prt_2", "late") == []


def test_a_message_that_is_removed_later_is_a_status_only() -> None:
    server = Server()
    steps = server.say("message.removed", messageID="msg_0")
    assert (endings(steps), removed_in(steps)) == ([], ["message msg_0"])


def test_a_thought_that_is_removed_while_it_is_written_is_retracted() -> None:
    server = Server()
    server.message()
    server.begin("prt_1", "Hm", "reasoning")
    steps = server.say("message.part.removed", messageID="msg_1", partID="prt_1")
    assert endings(steps) == [("prt_1", "failed", "retracted")]
    assert removed_in(steps) == ["part prt_1"]


def test_a_text_that_is_removed_is_not_in_its_message() -> None:
    server = Server()
    server.message()
    server.begin("prt_1", "One. ")
    server.part("prt_1", text="One. ", time={"start": 1, "end": 2})
    steps = server.begin("prt_2", "Two.")
    assert [step.text for step in steps if isinstance(step, Delta)] == ["Two."]
    server.part("prt_2", text="Two.", time={"start": 1, "end": 2})
    for part in ("prt_1", "prt_9"):
        server.say("message.part.removed", messageID="msg_1", partID=part)
    server.part("prt_3", "step-finish", reason="stop", cost=0, tokens={"input": 1, "output": 1})
    steps = server.message(time={"created": 1, "completed": 2}, finish="stop")
    (end,) = [step for step in steps if isinstance(step, CompleteItem)]
    assert end.content == (Text(text="Two."),)
