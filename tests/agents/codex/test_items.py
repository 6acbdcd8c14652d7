"""Items that are no tools, also of unknown types and shapes."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.schema.events import Draft
from tests.agents.codex.session import THREAD, CodexSession, EventData, completed


@pytest.fixture
def session() -> CodexSession:
    return CodexSession()


def streamed(events: list[EventData]) -> str:
    return "".join(data["delta"] for type, data in events if type == "item.delta")


@pytest.mark.parametrize(
    ("item", "kind", "part"),
    [
        (
            {"type": "sleep", "durationMs": 1500},
            "status",
            {"type": "status", "label": "sleep", "detail": "1.5 s"},
        ),
        (
            {"type": "hookPrompt", "fragments": [{"hookRunId": "h", "text": "Mind the gap."}]},
            "system",
            {"type": "text", "text": "Mind the gap."},
        ),
        (
            {"type": "functionCallOutput", "name": "get_goal", "output": "none"},
            "status",
            {"type": "status", "label": "output", "detail": "get_goal"},
        ),
        (
            {"type": "hologram", "shape": "cube"},
            "unknown",
            {"type": "json", "json": {"type": "hologram", "id": "i1", "shape": "cube"}},
        ),
    ],
    ids=["sleep", "hook", "output", "unknown"],
)
def test_an_item_that_is_no_tool(session: CodexSession, item: Any, kind: str, part: Any) -> None:
    (found,) = completed(session.item(id="i1", **item))
    assert (found["kind"], found["content"][0]) == (kind, part)
    assert found["native_item_id"] == "i1"


def test_an_item_of_another_shape_costs_only_itself(session: CodexSession) -> None:
    (found,) = completed(session.item(type="commandExecution", id="c1", command=["ls"]))
    assert (found["kind"], found["content"][0]["json"]["command"]) == ("unknown", ["ls"])
    (message,) = completed(session.item(type="agentMessage", id="m1", text="Still here."))
    assert message["content"][0]["text"] == "Still here."


def test_the_parts_of_a_summary_are_set_apart_as_they_stream(session: CodexSession) -> None:
    session.tell("item/started", item={"type": "reasoning", "id": "r1"})
    pieces = [(0, "One"), (0, " and"), (1, "Two"), (2, "Three")]
    method = "item/reasoning/summaryTextDelta"
    told = [
        each
        for index, piece in pieces
        for each in session.tell(method, itemId="r1", delta=piece, summaryIndex=index)
    ]
    whole = {"type": "reasoning", "id": "r1", "summary": ["One and", "Two", "Three"]}
    (thought,) = completed(session.tell("item/completed", item=whole))
    assert streamed(told) == thought["content"][0]["text"] == "One and\n\nTwo\n\nThree"


def test_case_16_a_hook_that_says_what_is_no_text_is_shown() -> None:
    """Before, it was a defect of the converter's own."""
    prompt = {"type": "hookPrompt", "id": "h1", "fragments": [{"text": ["x"]}, {"text": "Go on"}]}
    (item,) = completed(CodexSession().item(**prompt))
    assert list(item["content"]) == [{"type": "text", "text": "Go on"}]


def test_case_16_a_sleep_longer_than_any_number_is_shown() -> None:
    """Before, it was a defect of the converter's own."""
    line = b'{"method":"item/completed","params":{"threadId":"%b","item":{"type":"sleep","id":"z",'
    session = CodexSession()
    session.interpreter.receive(line % THREAD.encode() + b'"durationMs":1%b}}}' % (b"0" * 400))
    drafts = [draft for draft in session.interpreter.take() if isinstance(draft, Draft)]
    assert [draft.body.type for draft in drafts] == ["item.started", "item.completed"]
