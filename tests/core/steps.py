"""Steps that many tests use, and what came of them."""

from __future__ import annotations

from dragoman.facts import Exit
from dragoman.schema.events import (
    ItemCompleted,
)
from dragoman.schema.items import (
    Item,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import StartItem

from .stage import STDERR, Stage

MESSAGE = StartItem(key="a", kind="message", role="assistant", content=(Text(text=""),))
CALL = StartItem(
    key="t",
    kind="tool_call",
    role="assistant",
    content=(ToolCall(name="bash", arguments="", call_id="t"),),
)
RESULT = StartItem(
    key="t:result", kind="tool_result", role="tool", content=(ToolResult(call_id="t", output=""),)
)
DIED = Exit(code=3, signal=None, expected=False, stderr=STDERR)


def completed(stage: Stage) -> list[Item]:
    return [body.item for body in stage.tape.bodies if isinstance(body, ItemCompleted)]


def last(stage: Stage) -> Item:
    return completed(stage)[-1]
