"""Case 16: garbage and near-JSON are kept, and harm nothing around them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, outcome, said

from .puppet import BEGIN, END, ENV, MESSAGE, complete, delta, prompt, saying, unparsed, write

CONTEXT = b'{"type":"update","body":{"context":{"used":%b,"window":1}}}'
DEEP = b"[" * 100_000 + b"]" * 100_000
AFTER = delta("still here")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=ENV) as started:
        yield started


@pytest.mark.parametrize(
    "garbage",
    [
        b"npm warn deprecated something",
        b"{",
        b'{"type":',
        b'{"type":"delta","key":"m1","text":"cut',
        b'{"type":"delta","key":"m1","text":"x"',
        b'{"type":"delta","key":"m1","text":"x"}}',
        b'{"type":"delta","key":"m1","text":"x"}{"type":"delta","key":"m1","text":"y"}',
        b"{'type':'delta'}",
        b'{"type":"delta","key":"m1","text":NaN}',
        b'{"type":"delta","key":"m1"}',
        b'{"type":"delta","key":7,"text":"x"}',
        b'{"type":"nobody knows"}',
        b'{"type":null}',
        b"{}",
        b"[]",
        b"null",
        b"42",
        b"1e999",
        b'"text"',
        CONTEXT % b"1e999",
        CONTEXT % b"-1",
        CONTEXT % (b"9" * 5000),
        b'{"type":"report","message":"x","details":1e999}',
        b'{"type":"update","body":{"permission_mode":"bypass"}}',
        b'{"type":"start_item","key":"x","kind":"status","source":"daemon"}',
        b'{"type":"delivered","message_id":"x"}',
        b'{"type":"send","data":"e30="}',
        DEEP,
        b'{"type":"report","message":"x","details":' + DEEP + b"}",
        b'{"a":' * 100_000,
        b"\x1b[31mred\x1b[0m",
    ],
    ids=lambda garbage: garbage[:32].decode(errors="replace"),
)
def test_case_16_what_cannot_be_decoded_is_one_event_with_its_hash(
    daemon: Daemon, garbage: bytes
) -> None:
    talk = Talk(daemon)
    turn = talk.turn(saying(garbage + b"\n", AFTER))
    assert (said(turn), outcome(turn)) == (["still here"], "completed")
    (event,) = unparsed(talk.conforms())
    assert event["data"]["location"] == "mock"
    assert event["data"]["error"]
    assert event["data"]["raw_hash"] == hashlib.sha256(garbage).hexdigest()
    assert said(talk.turn(saying(AFTER))) == ["still here"]


@pytest.mark.parametrize("depth", [150, 900, 950, 960, 970, 980, 990])
def test_case_16_what_is_nested_deeply_breaks_nobodys_stream(daemon: Daemon, depth: int) -> None:
    """Before, about 960 lists in each other could be stored, and then broke the turn's stream."""
    talk = Talk(daemon)
    deep = b'{"type":"report","message":"x","details":' + b"[" * depth + b"]" * depth + b"}\n"
    turn = talk.turn(saying(deep, AFTER))
    assert (said(turn), outcome(turn)) == (["still here"], "completed")
    assert len(unparsed(turn)) == (depth > 200)
    page = daemon.get(f"{talk.path}/events?include_raw=true")
    raws = [event["raw"] for event in page["events"] if event["raw"]]
    assert any(raw.get("encoding") == "base64" for raw in raws) == (depth > 200)


def test_case_16_a_number_that_nobody_can_hold_stays_what_it_is_in_raw(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn(saying(b'{"type":"nobody knows","n":1e999}\n'))
    page = daemon.request("GET", f"{talk.path}/events?include_raw=true").body
    assert b'"raw":{"type":"nobody knows","n":1e999}' in page
    assert json.loads(page)["hasMore"] is False


@pytest.mark.parametrize(
    "message",
    [
        b'{"type":"delta","key":"zz","key":"m1","text":"no","text":"x"}\n',
        b'{"type":"delta","key":"m1","text":"x","extra":1e999}\n',
        b'{"type":"delta","key":"m1","text":"x","extra":{"a":[1,2,{"b":null}]}}\n',
        b' {"type" : "delta" , "key" : "m1" , "text" : "x"} \n',
        b"\n\n \n" + b'{"type":"delta","key":"m1","text":"x"}\n' + b"\n",
    ],
    ids=["doubled keys", "1e999 unread", "unread fields", "spaces", "blank lines"],
)
def test_case_16_what_is_only_odd_is_understood(daemon: Daemon, message: bytes) -> None:
    talk = Talk(daemon)
    assert said(talk.turn(saying(message))) == ["x"]
    assert unparsed(talk.conforms()) == []


@pytest.mark.parametrize("part", [{"type": "smell"}, {"type": "file_ref", "path": 7}, 7], ids=str)
def test_case_16_an_end_with_an_unknown_part_leaves_what_was_streamed(
    daemon: Daemon, part: Any
) -> None:
    talk = Talk(daemon)
    content = [{"type": "text", "text": "other words"}, part]
    turn = talk.turn(
        prompt(*write(BEGIN + MESSAGE + AFTER + complete("m1", content=content) + END))
    )
    assert (said(turn), outcome(turn)) == (["still here"], "completed")
    assert len(unparsed(talk.conforms())) == 1


def test_case_16_a_last_line_that_is_cut_off_is_kept(daemon: Daemon) -> None:
    talk = Talk(daemon)
    cut = b'{"type":"delta","key":"m1","te'
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE + AFTER, cut), ["exit", 0]))
    (event,) = unparsed(talk.conforms())
    assert event["data"]["raw_hash"] == hashlib.sha256(cut).hexdigest()
    assert said(turn) == ["still here"]
    assert of_type(turn, "error")[0]["code"] == "process_exit"


def test_case_16_a_last_line_that_only_lacks_its_end_is_understood(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE, AFTER.rstrip(b"\n")), ["exit", 0]))
    assert unparsed(talk.conforms()) == []
    assert said(turn) == ["still here"]


def test_case_16_a_thousand_lines_of_garbage_are_a_thousand_events(daemon: Daemon) -> None:
    talk = Talk(daemon)
    lines = [b"warning %d\n" % number for number in range(1000)]
    turn = talk.turn(saying(*lines, AFTER))
    assert len(unparsed(turn)) == 1000
    assert said(turn) == ["still here"]
