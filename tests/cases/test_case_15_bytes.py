"""Case 15: invalid UTF-8, split characters, U+2028, CR, NUL, BOM and lone surrogates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, said

from .puppet import BEGIN, DONE, END, ENV, MESSAGE, bytes_of, line, prompt, saying, unparsed, write


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=ENV) as started:
        yield started


def delta(text: bytes) -> bytes:
    """A delta whose text is exactly these bytes."""
    return b'{"type":"delta","key":"m1","text":"' + text + b'"}\n'


def test_case_15_a_character_may_be_split_anywhere(daemon: Daemon) -> None:
    text = "é☃𝄞"
    whole = BEGIN + MESSAGE + delta(text.encode())
    start = whole.index("é".encode())
    pieces = [whole[:start], *(bytes([byte]) for byte in whole[start:]), DONE + END]
    talk = Talk(daemon)
    assert said(talk.turn(prompt(*write(*pieces)))) == [text]
    assert unparsed(talk.conforms()) == []


def test_case_15_a_line_may_come_byte_by_byte(daemon: Daemon) -> None:
    talk = Talk(daemon)
    pieces = [bytes([byte]) for byte in delta("ünïcödé".encode())]
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE, *pieces, DONE + END)))
    assert said(turn) == ["ünïcödé"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\u2028line\u2029still\x85".encode(), "one\u2028line\u2029still\x85"),
        (rb"nul \u0000 escaped", "nul \0 escaped"),
        (rb"cr \r escaped", "cr \r escaped"),
        (rb"half \ud83d an emoji", "half \ufffd an emoji"),
        (rb"the other half \ude00", "the other half \ufffd"),
        (rb"both halves \ud83d\ude00", "both halves 😀"),
        (rb"the wrong way \ude00\ud83d round", "the wrong way \ufffd\ufffd round"),
        (rb"no escape \\ud83d at all", r"no escape \ud83d at all"),
        ("\ufeffin the middle".encode(), "\ufeffin the middle"),
        ("noncharacters \uffff \U0010ffff".encode(), "noncharacters \uffff \U0010ffff"),
    ],
)
def test_case_15_strange_text_is_text(daemon: Daemon, text: bytes, shown: str) -> None:
    talk = Talk(daemon)
    assert said(talk.turn(saying(delta(text)))) == [shown]
    assert unparsed(talk.conforms()) == []


def test_case_15_a_lone_surrogate_is_kept_as_it_came_in_raw(daemon: Daemon) -> None:
    talk = Talk(daemon)
    message = delta(rb"half \ud83d an emoji")
    talk.turn(saying(message))
    (event,) = (e for e in talk.events(raw=True) if "\ufffd" in str(e["data"].get("delta")))
    assert bytes_of(event) == message.rstrip(b"\n")


@pytest.mark.parametrize(
    "message",
    [
        delta(b"fine")[:-1] + b"\r\n",
        delta(b"fine").replace(b",", b",\r"),
        b"\xef\xbb\xbf" + delta(b"fine"),
        b"   " + delta(b"fine"),
    ],
    ids=["CRLF", "CR", "BOM", "spaces"],
)
def test_case_15_what_stands_around_json_costs_nothing(daemon: Daemon, message: bytes) -> None:
    talk = Talk(daemon)
    assert said(talk.turn(saying(message))) == ["fine"]
    assert unparsed(talk.conforms()) == []
    (event,) = (e for e in talk.events(raw=True) if e["data"].get("delta") == "fine")
    if message.isspace() or b"\r" in message or message.startswith(b"\xef"):
        assert bytes_of(event) == message.removesuffix(b"\n")
    else:
        assert event["raw"] == {"type": "delta", "key": "m1", "text": "fine"}


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"\xc3\x28",
        b"\xc0\xaf",
        b"\xed\xa0\xbd",
        b"\xf4\x90\x80\x80",
        b"cut \xe2\x98",
        b"nul \x00 as it is",
        b"tab \t as it is",
    ],
)
def test_case_15_what_is_not_utf_8_is_kept_byte_for_byte_and_the_next_line_is_read(
    daemon: Daemon, text: bytes
) -> None:
    talk = Talk(daemon)
    message = delta(text)
    assert said(talk.turn(saying(message, delta(b"next")))) == ["next"]
    (event,) = unparsed(talk.events(raw=True))
    assert bytes_of(event) == message.rstrip(b"\n")
    talk.conforms()


def test_case_15_an_oddly_named_session_is_bound_all_the_same(daemon: Daemon) -> None:
    talk = Talk(daemon)
    name = "ünï\u2028☃"
    talk.turn(prompt(*write(BEGIN, line("bind", native_session_id=name), END)))
    assert talk.info["nativeSessionId"] == name
    assert of_type(talk.conforms(), "agent.unparsed") == []
