"""What people say, in the mock agent's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.agents.mock.convert import MockConverter
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Attachment,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import SessionUpdated
from dragoman.steps import Delivered, Resolve, Send, Step, Update


def tell(converter: MockConverter, command: Command) -> tuple[dict[str, Any], list[Step]]:
    first, *rest = converter.command(command)
    assert isinstance(first, Send)
    return msgspec.json.decode(first.data), rest


def test_a_prompt_is_delivered_by_writing_it(converter: MockConverter) -> None:
    prompt = Prompt(message_id="msg1", text="hi", attachments=(Attachment(path="/a.txt"),))
    line, rest = tell(converter, prompt)
    attachments = [{"path": "/a.txt"}]
    assert line == {"type": "prompt", "id": "msg1", "text": "hi", "attachments": attachments}
    assert rest == [Delivered(message_id="msg1")]


def test_an_interrupt_is_only_sent(converter: MockConverter) -> None:
    assert tell(converter, Interrupt()) == ({"type": "interrupt"}, [])


@pytest.mark.parametrize(
    ("reply", "decision"),
    [("once", "allow"), ("always", "allow_for_session"), ("reject", "deny")],
)
def test_an_answered_permission_is_sent_and_then_resolved(
    converter: MockConverter, reply: Any, decision: str
) -> None:
    answer = AnswerPermission(key="p1", reply=reply, message="no", updated_input={"a": 1})
    line, rest = tell(converter, answer)
    assert line == {
        "type": "permission_answer",
        "id": "p1",
        "decision": decision,
        "message": "no",
        "updated_input": {"a": 1},
    }
    assert rest == [Resolve(command=answer)]


@pytest.mark.parametrize("answers", [(("Red",), ("Apple", "Plum")), None])
def test_an_answered_question_is_sent_and_then_resolved(
    converter: MockConverter, answers: Any
) -> None:
    answer = AnswerQuestion(key="q1", answers=answers)
    line, rest = tell(converter, answer)
    sent = answers and [list(labels) for labels in answers]
    assert line == {"type": "question_answer", "id": "q1", "answers": sent}
    assert rest == [Resolve(command=answer)]


def test_configuring_sends_and_updates_only_what_changes(converter: MockConverter) -> None:
    line, rest = tell(converter, Configure(model="mock-large", mode="plan"))
    assert line == {"type": "configure", "model": "mock-large", "mode": "plan"}
    assert rest == [Update(body=SessionUpdated(model="mock-large", mode="plan"))]


def test_a_line_holds_no_line_feed(converter: MockConverter) -> None:
    (send, *_) = converter.command(Prompt(message_id="msg1", text="two\nlines"))
    assert isinstance(send, Send)
    assert b"\n" not in send.data
