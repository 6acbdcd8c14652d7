"""Messages of people: attachments, echoes, and a first message that nothing is said of."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dragoman.agents.claude.delivery import content_of
from dragoman.schema.commands import Attachment, Prompt
from tests.agents.claude.lines import INIT, Heard

# --- Messages that Claude Code says nothing of, or repeats under another id ---


ANSWER = {
    "type": "assistant",
    "message": {"id": "a1", "content": [{"type": "text", "text": "Yes"}]},
}
DONE = {"type": "result", "subtype": "success", "is_error": False}
CUT = {"type": "result", "subtype": "error_during_execution", "is_error": True}
FAILED = {**CUT, "errors": ["the wheels came off"]}
OTHER = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def session() -> Heard:
    return Heard(in_turn=False)


def echo(text: str) -> dict[str, Any]:
    """A message that is repeated, under an id that is not ours."""
    message = {"role": "user", "content": text}
    return {"type": "user", "isReplay": True, "uuid": OTHER, "message": message}


def items(events: list[tuple[str, Any]]) -> list[tuple[str, str | None]]:
    """Who says something, and which message it is."""
    done = [data["item"] for type, data in events if type == "item.completed"]
    return [(item["role"], item.get("message_id")) for item in done if item["role"]]


@pytest.mark.parametrize(
    ("result", "outcome"), [(CUT, "interrupted"), (FAILED, "failed"), (DONE, "completed")]
)
def test_a_first_message_that_is_over_before_it_began_is_shown(
    session: Heard, result: dict[str, Any], outcome: str
) -> None:
    """Before, it was not, and the next one waited for ever."""
    session.say("msg_1", "Hi")
    events = session.hear(result)
    assert session.delivered == ["msg_1"]
    assert items(events) == [("user", "msg_1")]
    assert (events[-1][0], events[-1][1]["outcome"]) == ("turn.ended", outcome)
    errors = [data["message"] for type, data in events if type == "error"]
    assert errors == (["the wheels came off"] if outcome == "failed" else [])
    session.say("msg_2", "And now?")
    assert items(session.hear(INIT, ANSWER, DONE)) == [("user", "msg_2"), ("assistant", None)]


def test_a_message_that_is_repeated_under_another_id_is_shown_once(session: Heard) -> None:
    """Before, it was shown twice, once as words that are nobody's."""
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Hi"), ANSWER, DONE)
    assert items(events) == [("user", "msg_1"), ("assistant", None)]
    assert session.delivered == ["msg_1"]


def test_other_words_under_a_persons_role_are_nobodys(session: Heard) -> None:
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Something else"), ANSWER, DONE)
    assert items(events) == [("system", None), ("user", "msg_1"), ("assistant", None)]


def test_the_same_words_are_repeated_once(session: Heard) -> None:
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Hi"), ANSWER, echo("Hi"), DONE)
    assert [role for role, _ in items(events)] == ["user", "system", "assistant"]


# --- Attachments ---


def content(*files: Attachment, text: str = "look", images: dict[str, bytes] | None = None) -> Any:
    return content_of(Prompt(message_id="m", text=text, attachments=files, images=images or {}))


def test_words_alone_stay_words() -> None:
    assert content() == "look"


def test_a_file_is_mentioned_so_that_it_is_read() -> None:
    expected = 'look\n\n@"/a b/c.txt"\n\n@"/d.pdf" (report.pdf)'
    files = (
        Attachment(path="/a b/c.txt", filename="c.txt"),
        Attachment(path="/d.pdf", filename="report.pdf"),
    )
    assert content(*files) == [{"type": "text", "text": expected}]


@pytest.mark.parametrize("path", ['/a"b', "/a\nb"])
def test_a_path_that_cannot_be_quoted_is_said(path: str) -> None:
    (block,) = content(Attachment(path=path))
    assert block["text"] == f"look\n\nAttached file: {path}"


def test_an_image_stands_before_the_words_since_only_the_last_block_is_searched() -> None:
    image = Attachment(path="/i.png", mime="image/png")
    blocks = content(image, Attachment(path="/t.txt"), images={"/i.png": b"pixels"})
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(b"pixels").decode(),
    }
    assert blocks == [
        {"type": "image", "source": source},
        {"type": "text", "text": 'look\n\n@"/t.txt"'},
    ]


def test_an_image_without_words_has_no_empty_text() -> None:
    image = Attachment(path="/i.png", mime="image/png")
    (block,) = content(image, text="", images={"/i.png": b"pixels"})
    assert block["type"] == "image"


def test_an_image_that_was_not_loaded_is_mentioned() -> None:
    (block,) = content(Attachment(path="/i.png", mime="image/png"))
    assert block["text"].endswith('@"/i.png"')
