from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.sse import HEARTBEAT, SseParser, frame
from tests.wire.chunks import cut, places

Parsed = list[tuple[str | None, bytes]]

one_line = st.binary().map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))
streams = st.lists(
    st.sampled_from(
        [b"data", b"id", b"event", b":", b" ", b"\r", b"\n", b"\r\n", b"7", b"\0", b"x"]
    )
).map(b"".join)


def parse(stream: bytes, cuts: list[int] | None = None) -> Parsed:
    events = SseParser()
    return [event for chunk in cut(stream, cuts or []) for event in events.feed(chunk)]


def test_a_frame_is_an_id_and_the_line() -> None:
    assert frame(7, b'{"sequence":7}') == b'id: 7\ndata: {"sequence":7}\n\n'


@given(st.lists(one_line), places)
def test_what_is_framed_is_parsed_in_any_chunks(lines: list[bytes], cuts: list[int]) -> None:
    stream = HEARTBEAT + b"".join(frame(n, line) + HEARTBEAT for n, line in enumerate(lines, 1))
    assert parse(stream, cuts) == [(str(n), line) for n, line in enumerate(lines, 1)]


@given(st.sampled_from([b"", b"\xef\xbb\xbf"]), streams, places)
def test_any_chunking_gives_the_same_events(bom: bytes, stream: bytes, cuts: list[int]) -> None:
    assert parse(bom + stream, cuts) == parse(stream)


@given(streams, st.sampled_from([b"\r", b"\r\n"]), places)
def test_all_line_ends_mean_the_same(stream: bytes, end: bytes, cuts: list[int]) -> None:
    plain = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert parse(plain.replace(b"\n", end), cuts) == parse(plain)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [(None, b"a")]),
        (b"data:a\n\n", [(None, b"a")]),
        (b"data:  a\n\n", [(None, b" a")]),
        (b"data: a\ndata: b\n\n", [(None, b"a\nb")]),
        (b"data\n\n", [(None, b"")]),
        (b"data: cut", []),
        (b"data: cut\n", []),
        (b"id: 4\n\n", []),
        (b"id: 4\n\ndata: a\n\n", [("4", b"a")]),
        (b"id: 4\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [("4", b"a"), ("4", b"b"), ("", b"c")]),
        (b"id: 4\0\ndata: a\n\n", [(None, b"a")]),
        (b": comment\n:\n\nevent: x\nretry: 5\nother: y\ndata: a\n\n", [(None, b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [(None, b"a")]),
    ],
)
def test_the_stream_is_read_as_the_standard_says(stream: bytes, events: Parsed) -> None:
    assert parse(stream) == events
