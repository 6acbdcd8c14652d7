"""A reader goes on after a cut, sees each event once, and stops at the end."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import msgspec
import pytest

from dragoman.client import BadAnswer, Client, UnknownData, Unreachable, encode_event
from dragoman.client.resume import ORIGIN
from dragoman.errors import HistoryDiverged, InvalidRequest, SessionEndedError
from dragoman.schema.events import Event, QueueUpdated
from tests.client.canned import (
    Answer,
    Canned,
    delta,
    ended,
    event,
    frame,
    session_info,
    stream,
    turn,
)

SSE = "/v1/sessions/s1/events/sse"
TURN = "/v1/sessions/s1/messages/stream"


def test_following_ends_after_session_ended(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, stream(frame(delta(1, "a")), b": beat\n\n", frame(ended(2)), then="hold"))
    assert [event.sequence for event in client.follow("s1")] == [1, 2]


@pytest.mark.parametrize("then", ["cut", "end"])
def test_a_cut_is_resumed_where_it_was(daemon: Canned, client: Client, then: str) -> None:
    daemon.on(
        "GET",
        SSE,
        stream(frame(delta(1, "a")), frame(delta(2, "b"))[:-9], then=then),
        stream(frame(delta(2, "b")), frame(ended(3))),
    )
    assert [event.sequence for event in client.follow("s1")] == [1, 2, 3]
    first, second = daemon.seen
    assert "last-event-id" not in first.headers
    assert second.headers["last-event-id"] == "1"


def test_an_event_that_comes_again_is_not_given_again(daemon: Canned, client: Client) -> None:
    again = stream(frame(delta(1, "a")), frame(delta(2, "b")), frame(ended(3)))
    daemon.on("GET", SSE, stream(frame(delta(1, "a")), then="cut"), again)
    assert [event.sequence for event in client.follow("s1")] == [1, 2, 3]


def test_a_restart_of_the_daemon_is_waited_for(daemon: Canned, client: Client) -> None:
    starting = Answer(503, {"type": "x", "title": "Service Unavailable", "status": 503})
    daemon.on(
        "GET", SSE, stream(frame(delta(1, "a")), then="cut"), starting, stream(frame(ended(2)))
    )
    assert [event.sequence for event in client.follow("s1")] == [1, 2]


def test_a_daemon_that_stays_away_is_unreachable(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, stream(frame(delta(1, "a")), then="cut"), stream(then="cut"))
    following = client.follow("s1")
    assert next(following).sequence == 1
    with pytest.raises(Unreachable):
        next(following)
    assert len(daemon.seen) == 1 + 3


def test_the_end_of_an_ended_session_is_quiet(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, Answer(204))
    assert list(client.follow("s1", after=7)) == []
    assert daemon.seen[0].headers["last-event-id"] == "7"


def test_a_refused_stream_raises_its_problem(daemon: Canned, client: Client) -> None:
    daemon.problem("GET", SSE, 400, "Invalid Request", detail="beyond the end")
    with pytest.raises(InvalidRequest, match="beyond the end"):
        next(client.follow("s1", after=99))


def test_what_is_no_stream_is_a_bad_answer(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, Answer(200, {"events": []}))
    with pytest.raises(BadAnswer):
        next(client.follow("s1"))


def test_a_large_event_is_no_trouble(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, stream(frame(delta(1, "x" * 3_000_000)), frame(ended(2))))
    assert len(list(client.follow("s1"))) == 2


def test_an_event_type_of_tomorrow_is_kept(daemon: Canned, client: Client) -> None:
    line = encode_event(event(1, UnknownData(data={"path": "/x"}))).replace(
        b'"unmodelled"', b'"weather.changed"'
    )
    daemon.on("GET", SSE, stream(b"data: %s\n\n" % line, frame(ended(2))))
    first = next(client.follow("s1"))
    assert first.type == "weather.changed"
    assert first.data == UnknownData(data={"path": "/x"})
    assert encode_event(first) == line


def test_a_turn_is_streamed_to_its_end(daemon: Canned, client: Client) -> None:
    said = turn("Hel", "lo")
    daemon.on("POST", TURN, stream(*map(frame, said)))
    assert list(client.stream_turn("s1", "hi")) == said
    assert daemon.seen[0].json() == {"message": "hi"}


def test_a_turn_cut_in_its_middle_is_followed_not_sent_again(
    daemon: Canned, client: Client
) -> None:
    said = turn("Hel", "lo", first=5)
    daemon.on("POST", TURN, stream(*map(frame, said[:3]), then="cut"))
    daemon.on("GET", SSE, stream(*map(frame, said[3:]), frame(delta(99, "later")), then="hold"))
    assert list(client.stream_turn("s1", "hi")) == said
    assert [seen.method for seen in daemon.seen] == ["POST", "GET"]
    assert daemon.seen[1].headers["last-event-id"] == "7"


def test_a_turn_cut_before_its_first_event_is_sent_under_the_same_key(
    daemon: Canned, client: Client
) -> None:
    said = turn("Hello")
    daemon.on("POST", TURN, stream(then="cut"), stream(*map(frame, said)))
    assert list(client.stream_turn("s1", "hi")) == said
    first, second = (seen.headers["idempotency-key"] for seen in daemon.seen)
    assert first == second


def test_the_id_of_the_message_is_told_once_and_before_its_turn(
    daemon: Canned, client: Client
) -> None:
    named = {"dragoman-message-id": "msg_1"}
    cut, whole = stream(then="cut"), stream(*map(frame, turn("Hello")))
    daemon.on("POST", TURN, replace(cut, headers=named), replace(whole, headers=named))
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info()))
    daemon.on("GET", "/v1/sessions/s1/events", Answer(body={"events": [], "hasMore": False}))
    heard: list[str] = []
    first = next(client.stream_turn("s1", "hi", delivery="steer", accepted=heard.append))
    assert first.type == "turn.started"
    assert heard == ["msg_1"]
    assert daemon.seen[0].query["delivery"] == "steer"


def test_the_stream_of_a_message_that_is_taken_back_ends_with_that(
    daemon: Canned, client: Client
) -> None:
    taken_back = event(7, QueueUpdated(messages=(), cancelled="msg_1"))
    daemon.on("POST", TURN, replace(stream(), headers={"dragoman-message-id": "msg_1"}))
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info(eventCount=7)))
    page = {"events": [delta(6, "a"), taken_back], "hasMore": False}
    daemon.on("GET", "/v1/sessions/s1/events", Answer(body=page))
    assert list(client.stream_turn("s1", "hi")) == [taken_back]
    assert [seen.method for seen in daemon.seen] == ["POST", "GET", "GET"]


def test_a_message_to_an_ended_session_is_refused(daemon: Canned, client: Client) -> None:
    daemon.problem("POST", TURN, 410, "Session Ended", detail="over")
    with pytest.raises(SessionEndedError):
        list(client.stream_turn("s1", "hi"))


def chained(*events: Event, previous: str = ORIGIN) -> list[str]:
    """The links of events, as the daemon computes them."""
    links, link = [], bytes.fromhex(previous)
    for each in events:
        link = hashlib.blake2b(link + encode_event(each), digest_size=16).digest()
        links.append(link.hex())
    return links


def comment(sequence: int, link: str) -> bytes:
    """How a stream tells a link."""
    return f": chain {sequence} {link}\n\n".encode()


def test_a_reader_resumes_with_the_link_of_what_it_has_read(daemon: Canned, client: Client) -> None:
    said = [delta(1, "a"), delta(2, "b")]
    daemon.on(
        "GET", SSE, stream(*map(frame, said), then="cut"), stream(frame(ended(3)), then="hold")
    )
    links: dict[int, str] = {}
    assert len(list(client.follow("s1", on_link=links.__setitem__))) == 3
    assert daemon.seen[0].query["afterChain"] == ORIGIN
    assert daemon.seen[1].query == {"offset": "2", "afterChain": chained(*said)[-1]}
    assert links == dict(enumerate(chained(*said, ended(3)), 1))


@pytest.mark.parametrize("raw", [b"1", b' {"raw":null} ', b'"\\"raw\\":null}"', b"null"])
def test_a_link_leaves_the_native_message_out(daemon: Canned, client: Client, raw: bytes) -> None:
    said = delta(5, "a")
    with_raw = frame(said).replace(b'"raw":null}', b'"raw":%b}' % raw)
    daemon.on("GET", SSE, stream(with_raw, then="cut"), stream(frame(ended(6))))
    before = "ab" * 16
    seen = list(client.follow("s1", 4, after_chain=before, include_raw=True))
    assert [each.sequence for each in seen] == [5, 6]
    assert daemon.seen[1].query["afterChain"] == chained(said, previous=before)[0]


def test_a_reader_that_was_given_no_link_learns_it_from_the_stream(
    daemon: Canned, client: Client
) -> None:
    told, said = "cd" * 16, delta(8, "a")
    daemon.on("GET", SSE, stream(comment(7, told), frame(said), then="cut"), stream(then="cut"))
    following = client.follow("s1", 7)
    assert next(following).sequence == 8
    with pytest.raises(Unreachable):
        next(following)
    assert "afterChain" not in daemon.seen[0].query
    assert daemon.seen[1].query["afterChain"] == chained(said, previous=told)[0]


def test_a_turn_that_is_cut_is_resumed_with_the_link_that_was_told_in_it(
    daemon: Canned, client: Client
) -> None:
    said = turn("Hel", "lo", first=5)
    first = (*map(frame, said[:2]), comment(6, "ef" * 16), frame(said[2]))
    daemon.on("POST", TURN, stream(*first, then="cut"))
    daemon.on("GET", SSE, stream(*map(frame, said[3:])))
    assert list(client.stream_turn("s1", "hi")) == said
    assert daemon.seen[1].query["offset"] == "7"
    assert daemon.seen[1].query["afterChain"] == chained(said[2], previous="ef" * 16)[0]


def test_another_history_is_raised_and_not_asked_for_again(daemon: Canned, client: Client) -> None:
    problem = {"type": "urn:dragoman:error:history_diverged", "title": "History Diverged",
               "status": 409, "detail": "read it again", "details": {"resumeFrom": 0}}  # fmt: skip
    daemon.on("GET", SSE, stream(frame(delta(1, "a")), then="cut"), Answer(409, problem))
    with pytest.raises(HistoryDiverged, match="read it again") as raised:
        list(client.follow("s1"))
    assert raised.value.details == {"resumeFrom": 0}
    assert len(daemon.seen) == 2


def test_events_that_were_changed_on_their_way_are_noticed(daemon: Canned, client: Client) -> None:
    daemon.on("GET", SSE, stream(frame(delta(1, "a")), comment(1, "ab" * 16), then="hold"))
    with pytest.raises(BadAnswer, match="changes events"):
        list(client.follow("s1"))


def test_raw_is_asked_for_and_kept(daemon: Canned, client: Client) -> None:
    with_raw = msgspec.structs.replace(delta(1, "a"), raw={"n": 1})
    daemon.on("GET", SSE, stream(frame(with_raw), frame(ended(2))))
    assert next(client.follow("s1", include_raw=True)).raw == {"n": 1}
    assert daemon.seen[0].query["includeRaw"] == "true"
