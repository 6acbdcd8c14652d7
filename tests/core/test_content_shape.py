"""What an item's content may look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core import content_shape
from dragoman.core.blobs import StoreFile, file_of, stored
from dragoman.schema.items import (
    ContentPart,
    DeltaType,
    FileRef,
    Image,
    ItemKind,
    Json,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import Blob

from .dialect import kinds, parts

CALL = ToolCall(name="bash", arguments="{}", call_id="c1")
RESULT = ToolResult(call_id="c1", output="out")


@pytest.mark.parametrize(
    ("kind", "content", "stream"),
    [
        ("message", (Text(text=""),), "text"),
        ("message", (), "text"),
        ("message", (Reasoning(text=""),), "reasoning"),
        ("system", (), "text"),
        ("tool_call", (CALL,), "arguments"),
        ("tool_result", (RESULT,), "output"),
        ("status", (Status(label="x"),), None),
        ("unknown", (Json(json=1),), None),
    ],
)
def test_each_shape_streams_one_thing(
    kind: ItemKind, content: content_shape.Parts, stream: DeltaType | None
) -> None:
    assert content_shape.stream_of(kind, content) == stream


def test_several_texts_of_a_message_join_in_front() -> None:
    given_ = (Text(text="a"), FileRef(path="/f", action="read"), Text(text="b"))
    assert content_shape.fit("message", "text", "k", given_) == (
        Text(text="ab"),
        FileRef(path="/f", action="read"),
    )


def test_a_stranger_becomes_a_json_part() -> None:
    (kept,) = content_shape.fit("status", None, "k", (Text(text="words"),))
    assert kept == Json(json={"type": "text", "text": "words"})


def test_a_tool_item_has_its_part_in_front_even_where_it_was_not_given() -> None:
    assert content_shape.fit("tool_call", "arguments", "k", ()) == (
        ToolCall(name="unknown", arguments="", call_id="k"),
    )
    assert content_shape.fit("tool_result", "output", "k", (Image(path="/i"), RESULT)) == (
        RESULT,
        Image(path="/i"),
    )


def test_a_second_tool_part_becomes_json() -> None:
    other = ToolCall(name="ls", arguments="", call_id="c2")
    first, second = content_shape.fit("tool_call", "arguments", "k", (CALL, other))
    assert first == CALL
    assert isinstance(second, Json)


@given(kinds, st.lists(parts.filter(lambda part: not isinstance(part, Blob)), max_size=4))
def test_what_fits_fits_again(kind: ItemKind, content: list[ContentPart]) -> None:
    stream = content_shape.stream_of(kind, tuple(content))
    once = content_shape.fit(kind, stream, "k", tuple(content))
    assert content_shape.fit(kind, stream, "k", once) == once
    if stream is not None:
        assert content_shape.streamed(content_shape.with_streamed(stream, once, "new")) == "new"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ((CALL,), "tool_call"),
        ((RESULT,), "tool_result"),
        ((Status(label="x"),), "status"),
        ((Text(text="x"),), "message"),
        ((), "message"),
    ],
)
def test_an_item_is_guessed_from_its_content(content: content_shape.Parts, kind: ItemKind) -> None:
    assert content_shape.guess(content)[0] == kind


@pytest.mark.parametrize(
    ("mime", "suffix"),
    [
        ("image/png", "png"),
        ("image/svg+xml", "svg"),
        (None, "bin"),
        ("image/../..", "bin"),
        ("application/x-very-long-type", "bin"),
    ],
)
def test_a_file_is_named_by_what_it_holds(mime: str | None, suffix: str) -> None:
    file = file_of(Blob(data=b"bytes", mime=mime), "/files/s1")
    folder, _, name = file.path.rpartition("/")
    assert folder == "/files/s1"
    stem, _, ending = name.partition(".")
    assert (len(stem), ending) == (64, suffix)


def test_bytes_that_are_no_image_are_a_file_that_was_read() -> None:
    out: list[StoreFile] = []
    mimes = ("image/png", "application/zip", None)
    blobs = tuple(Blob(data=b"bytes", mime=mime) for mime in mimes)
    shown = stored(blobs, "/files/s1", out)
    picture, archive, unknown = (file.path for file in out)
    assert shown == (
        Image(path=picture, mime="image/png"),
        FileRef(path=archive, action="read"),
        Image(path=unknown),
    )
