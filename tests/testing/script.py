"""A good stream, with a name for each of its events, to be broken in one place."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.schema.events import (
    AgentUnparsed,
    Body,
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelUsage,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    QueuedMessage,
    QueueUpdated,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
)
from dragoman.schema.items import (
    ContentPart,
    DeltaType,
    Item,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)


def stamp(bodies: list[Body]) -> list[Event]:
    """Give each body its envelope."""
    return [
        Event(
            event_id=f"evt_{sequence}",
            sequence=sequence,
            time="2026-01-27T19:10:11.000001Z",
            session_id="sess_1",
            synthetic=sequence % 2 == 1,
            source="daemon" if sequence % 2 else "agent",
            type=body.type,
            data=body,
        )
        for sequence, body in enumerate(bodies, 1)
    ]


class Script:
    """Events by name, in order."""

    def __init__(self) -> None:
        self.bodies: dict[str, Body] = {}

    def add(self, name: str, body: Body) -> None:
        """Put an event at the end."""
        assert name not in self.bodies
        self.bodies[name] = body

    def item(
        self,
        name: str,
        start: ContentPart | None,
        final: ContentPart | None,
        deltas: tuple[str, ...] = (),
        content_type: DeltaType = "text",
        status: Any = "completed",
        **fields: Any,
    ) -> None:
        """Put the whole life of an item at the end."""
        shown = {"item_id": f"itm_{name}", "kind": "message", "role": "assistant", **fields}
        began, ended = ((part,) if part else () for part in (start, final))
        item = Item(content=began, status="in_progress", **shown)
        self.add(f"{name}.started", ItemStarted(item=item))
        for number, delta in enumerate(deltas, 1):
            body = ItemDelta(
                item_id=item.item_id,
                native_item_id=item.native_item_id,
                delta=delta,
                content_type=content_type,
            )
            self.add(f"{name}.delta{number}", body)
        item = Item(content=ended, status=status, **shown)
        self.add(f"{name}.completed", ItemCompleted(item=item))

    def change(self, *names: str, **fields: Any) -> None:
        """Change fields of events' bodies."""
        for name in names:
            self.bodies[name] = msgspec.structs.replace(self.bodies[name], **fields)

    def change_item(self, *names: str, **fields: Any) -> None:
        """Change fields of events' items."""
        for name in names:
            body = self.bodies[name]
            assert isinstance(body, ItemStarted | ItemCompleted)
            self.change(name, item=msgspec.structs.replace(body.item, **fields))

    def drop(self, *names: str) -> None:
        """Leave events out."""
        for name in names:
            del self.bodies[name]

    def move(self, *names: str, after: str) -> None:
        """Put events, old or just added, behind another one."""
        moved = {name: self.bodies.pop(name) for name in names}
        split = list(self.bodies).index(after) + 1
        old = list(self.bodies.items())
        self.bodies = {**dict(old[:split]), **moved, **dict(old[split:])}

    def repeat(self, name: str, after: str) -> None:
        """Say an event again."""
        self.add(f"{name} again", self.bodies[name])
        self.move(f"{name} again", after=after)

    def put_item(self, name: str, after: str, *parts: ContentPart | None, **fields: Any) -> None:
        """Put the whole life of an item behind an event."""
        start, final = parts or (None, None)
        self.item(name, start, final, **fields)
        names = [each for each in self.bodies if each.startswith(f"{name}.")]
        self.move(*names, after=after)

    def events(self) -> list[Event]:
        """The stream."""
        return stamp(list(self.bodies.values()))


def good() -> Script:
    """A session with everything in it, and nothing wrong."""
    script = Script()
    script.add("session.started", SessionStarted(metadata={"agent": "mock"}))
    _first_turn(script)
    _between_turns(script)
    _second_turn(script)
    script.item(
        "child.result",
        ToolResult(call_id="call_2", output=""),
        ToolResult(call_id="call_2", output=""),
        kind="tool_result",
        role="tool",
        subagent_id="sub_1",
        status="failed",
    )
    script.add("session.ended", SessionEnded(reason="terminated", terminated_by="daemon"))
    return script


def _first_turn(script: Script) -> None:
    script.add("turn1.started", TurnStarted(turn_id="trn_1"))
    retry = Status(label="retry")
    script.item("retry", retry, retry, kind="status", role="system")
    script.item(
        "prompt", Text(text=""), Text(text="Do it."), ("Do it.",), role="user", message_id="msg_1"
    )
    script.item("answer", Text(text=""), Text(text="I will."), ("I ", "will."), native_item_id="n1")
    script.item(
        "thought", Reasoning(text=""), Reasoning(text="Hm."), ("Hm.",), "reasoning",
        parent_id="itm_answer",
    )  # fmt: skip
    script.item(
        "call",
        ToolCall(name="Bash", arguments="", call_id="call_1"),
        ToolCall(name="Bash", arguments='{"a":1}', call_id="call_1"),
        ('{"a"', ":1}"),
        "arguments",
        kind="tool_call",
        parent_id="itm_answer",
    )
    permission: dict[str, Any] = {
        "permission_id": "per_1",
        "action": "Bash",
        "metadata": {"call_id": "call_1"},
    }
    script.add("permission.requested", PermissionRequested(**permission))
    script.add("permission.resolved", PermissionResolved(**permission, status="accept"))
    script.item(
        "result",
        ToolResult(call_id="call_1", output=""),
        ToolResult(call_id="call_1", output="all of it"),
        ("a preview",),
        "output",
        kind="tool_result",
        role="tool",
        parent_id="itm_answer",
    )
    question: dict[str, Any] = {"question_id": "qst_1", "prompt": "Which?", "options": ("A", "B")}
    script.add("question.requested", QuestionRequested(**question))
    script.add("question.resolved", QuestionResolved(**question, status="answered", response="A"))
    script.item(
        "steered", Text(text=""), Text(text="Also."), ("Also.",), role="user", message_id="msg_2"
    )
    script.item(
        "child.call",
        ToolCall(name="Read", arguments="", call_id="call_2"),
        ToolCall(name="Read", arguments="", call_id="call_2"),
        kind="tool_call",
        subagent_id="sub_1",
    )
    child: dict[str, Any] = {
        "permission_id": "per_2",
        "action": "Read",
        "metadata": {"subagent_id": "sub_1"},
    }
    script.add("child.requested", PermissionRequested(**child))
    usage = Usage(input_tokens=3, cost_usd=0.1, models={"m": ModelUsage(input_tokens=3)})
    script.add("turn1.ended", TurnEnded(turn_id="trn_1", outcome="completed", usage=usage))
    script.add("child.resolved", PermissionResolved(**child, status="reject"))


def _between_turns(script: Script) -> None:
    system = Text(text="resumed")
    script.item("system", system, system, kind="system", role="system")
    script.item("child", None, None, subagent_id="sub_1", parent_id="itm_child.call")
    script.add("updated", SessionUpdated(title="A title"))
    script.add("unparsed", AgentUnparsed(error="what?", location="mock"))
    waiting = tuple(
        QueuedMessage(message_id=f"msg_{n}", message="And?", created_at=n) for n in (3, 4)
    )
    script.add("queue", QueueUpdated(messages=waiting))


def _second_turn(script: Script) -> None:
    script.add("turn2.started", TurnStarted(turn_id="trn_2"))
    script.item("late.answer", Text(text=""), Text(text="cut"), ("cut",), status="failed")
    script.item(
        "late.prompt", Text(text=""), Text(text="And?"), ("And?",), role="user", message_id="msg_3"
    )
    script.add("error", ErrorRaised(message="it failed"))
    script.add("turn2.ended", TurnEnded(turn_id="trn_2", outcome="failed", usage=UNSET))
    script.add("queue.emptied", QueueUpdated(messages=()))
