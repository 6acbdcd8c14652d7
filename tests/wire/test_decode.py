from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from dragoman.wire.decode import MAX_DEPTH, Unknown, blocks, decode, is_deep

anything: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
strings = msgspec.json.Decoder(str)


class Block(Struct, tag_field="type"):
    pass


class Said(Block, tag="text"):
    text: str


class Used(Block, tag="tool_use"):
    name: str


class Native(Struct):
    content: list[Raw]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (rb'"half \ud83d"', "half \ufffd"),
        (rb'"half \ude00"', "half \ufffd"),
        (rb'"\uD83D\u0041"', "\ufffdA"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\ud83d\ude00 \ud83d"', "\U0001f600 \ufffd"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
        (rb'"\\\ud83d"', "\\\ufffd"),
    ],
)
def test_a_lone_surrogate_is_replaced(message: bytes, text: str) -> None:
    assert decode(message, strings) == text


@given(st.lists(st.sampled_from(["\\", '"', "u", "d83d", "\ud83d", "\ude00", "\U0001f600"])))
def test_every_string_survives_with_its_lone_surrogates_replaced(pieces: list[str]) -> None:
    # Python joins two escapes that make a pair, and keeps every other surrogate.
    escaped = json.dumps("".join(pieces))
    expected = "".join(
        "\ufffd" if 0xD800 <= ord(letter) <= 0xDFFF else letter for letter in json.loads(escaped)
    )
    assert decode(escaped.encode(), strings) == expected


def test_a_byte_order_mark_is_skipped() -> None:
    assert decode(b"\xef\xbb\xbf" + rb'{"a":"\ud83d"}', anything) == {"a": "\ufffd"}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'"\xff"', "invalid UTF-8"),
        (b"", "truncated"),
        (b"npm warn deprecated", "malformed"),
        (rb'"\ud83d" trailing', "malformed"),
        (b"1e999", "out of range"),
    ],
)
def test_what_cannot_be_decoded_is_a_msgspec_error(message: bytes, error: str) -> None:
    with pytest.raises(msgspec.DecodeError, match=error):
        decode(message, anything)


@pytest.mark.parametrize(
    "message",
    [
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"[[]]," * 1000 + b"1]",
        b'{"a":"' + b"[" * 1000 + b'"}',
        b'{"a":"' + rb"\"[" * 1000 + b'"}',
        b'["' + rb"\\" + b'",' + b"[[]]," * 1000 + b"1]",
    ],
    ids=["as deep as may be", "many beside each other", "in a text", "in quotes", "a backslash"],
)
def test_what_only_has_many_brackets_is_decoded(message: bytes) -> None:
    decode(message, anything)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"]":', b'{"a\\"}":'])
def test_case_16_what_is_nested_deeper_is_refused_wherever_one_stands(opening: bytes) -> None:
    """Before, it depended on the stack: what one could decode, the next reader could not."""
    closing = opening.translate(bytes.maketrans(b"[{", b"]}"), b'"a:\\]}')[::-1]
    depth = MAX_DEPTH + 1
    message = (opening * depth)[: len(opening) * depth] + b"1" + closing * depth
    assert is_deep(message)
    with pytest.raises(msgspec.DecodeError, match="nested too deeply"):
        decode(message, anything)


def test_case_16_a_long_text_that_is_cut_off_costs_no_time() -> None:
    """A look at the brackets from each of its quotes on would take minutes."""
    message = b"[" * 150 + b"{}," * 100 + b'"' + rb"\"[" * 1_000_000
    assert not is_deep(message)


@given(st.binary())
def test_any_bytes_raise_only_msgspec_errors(message: bytes) -> None:
    try:
        decode(message, anything)
    except msgspec.MsgspecError:
        return
    json.loads(message.decode("utf-8-sig"))


def test_a_wrong_type_is_told_as_it_is() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `str`, got `int`"):
        decode(b"1", strings)


def test_unknown_block_keeps_its_siblings() -> None:
    unknown = b'{"type":"new","x":1}'
    message = (
        b'{"content":[{"type":"text","text":"a"},' + unknown + b',{"type":"tool_use","name":"b"}]}'
    )
    raws = decode(message, msgspec.json.Decoder(Native)).content
    first, second, third = blocks(raws, msgspec.json.Decoder(Said | Used))
    assert (first, third) == (Said("a"), Used("b"))
    assert isinstance(second, Unknown)
    assert second.raw == unknown
    assert "new" in second.error
