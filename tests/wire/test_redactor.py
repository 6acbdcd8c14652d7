"""Values are found in texts and lines, however JSON spells them, and JSON stays JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.key_patterns import MASK, without_keys
from dragoman.wire.raw import is_one_line
from dragoman.wire.redactor import MIN_CHARACTERS, Redactor, stub, with_text

KEY = "sk-ant-0123456789"
TOKEN = "dgm_" + "Ab1-" * 10 + "xyz"
REDACTOR = Redactor([("KEY", KEY), ("QUOTED", 'a "quoted" \\ one/two'), ("DIGITS", "20240131")])

letters = st.sampled_from('ab01"\\/é😀\n -{:,')
values = st.text(letters, min_size=MIN_CHARACTERS, max_size=20).filter(
    lambda value: len(value.strip()) >= MIN_CHARACTERS
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"the key is {KEY}.", "the key is [redacted:KEY]."),
        (KEY * 2, "[redacted:KEY]" * 2),
        (KEY[:-1], KEY[:-1]),
        (f"{TOKEN} opens it", "[redacted:DRAGOMAN_TOKEN] opens it"),
        (TOKEN[:-1], TOKEN[:-1]),
        ('{"x": "a \\"quoted\\" \\\\ one/two"}', '{"x": "[redacted:QUOTED]"}'),
        ("nothing", "nothing"),
    ],
)
def test_a_text_is_shown_without_the_values(text: str, shown: str) -> None:
    assert REDACTOR.text(text) == shown


def test_a_short_value_is_none() -> None:
    assert Redactor([("DEBUG", "1"), ("PIN", "1234567")]).text("1 1234567") == "1 1234567"


def test_spaces_around_a_value_do_not_count() -> None:
    assert Redactor([("KEY", f" {KEY}\n")]).text(f"[{KEY}]") == "[[redacted:KEY]]"


def test_of_two_values_at_one_place_the_longer_is_meant() -> None:
    redactor = Redactor([("SHORT", "password"), ("LONG", "password-of-two")])
    assert redactor.text("password-of-two password-of") == "[redacted:LONG] [redacted:SHORT]-of"


def test_a_value_that_a_placeholder_holds_is_left() -> None:
    redactor = Redactor([("OPENAI_API_KEY", KEY), ("WHICH", "OPENAI_API_KEY"), ("A", "redacted")])
    shown = redactor.text(f"OPENAI_API_KEY={KEY}")
    assert shown == "OPENAI_API_KEY=[redacted:OPENAI_API_KEY]"
    assert redactor.text(shown) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f'{{"a": "x {KEY}" , "b":1.0}}', '{"a": "x [redacted:KEY]" , "b":1.0}'),
        (f'{{"{KEY}":null}}', '{"[redacted:KEY]":null}'),
        (r'{"a":"a \"quoted\" \\ one\/two"}', '{"a":"[redacted:QUOTED]"}'),
        (r'{"a":"{\"b\":\"a \\\"quoted\\\" \\\\ one/two\"}"}',
         r'{"a":"{\"b\":\"[redacted:QUOTED]\"}"}'),
        ('{"day":20240131,"days":[1,-20240131.5]}',
         '{"day":"[redacted:DIGITS]","days":[1,"-[redacted:DIGITS].5"]}'),
        (f"not JSON: {KEY}", "not JSON: [redacted:KEY]"),
        (f'{{"a":"\\ud83d {KEY}"}}', '{"a":"\\ud83d [redacted:KEY]"}'),
        ('{"a":"nothing"}', '{"a":"nothing"}'),
    ],
)  # fmt: skip
def test_a_line_is_kept_without_the_values_and_else_as_it_is(line: str, shown: str) -> None:
    assert REDACTOR.line(line.encode()) == shown.encode()


def test_bytes_that_are_no_text_are_kept() -> None:
    assert REDACTOR.line(b"\xff" + KEY.encode() + b"\xfe") == b"\xff[redacted:KEY]\xfe"


def test_a_value_that_is_json_is_found_as_json() -> None:
    value = '{"user":"me","pass":"x"}'
    redactor = Redactor([("LOGIN", value)])
    assert redactor.line(b'{"input":%b}' % value.encode()) == stub("[redacted:LOGIN]")
    assert redactor.value(json.loads(value)) == "[redacted:LOGIN]"


def test_a_value_without_a_plain_letter_is_found() -> None:
    redactor = Redactor([("SIGNS", '"é\\"é\\"é😀"')])
    for ascii in (False, True):
        line = json.dumps({"a": 'x"é\\"é\\"é😀"'}, ensure_ascii=ascii)
        assert json.loads(redactor.line(line.encode())) == {"a": "x[redacted:SIGNS]"}


def test_a_variable_need_not_be_utf_8() -> None:
    redactor = Redactor([("RAW", "caf\udce9-1234")])
    assert redactor.line(b"caf\xe9-1234") == b"[redacted:RAW]"


@pytest.mark.parametrize("size", range(1, len(KEY)))
def test_a_beginning_at_the_end_is_seen(size: int) -> None:
    text = f"so {KEY[:size]}"
    assert REDACTOR.begins_at(text) == 3
    assert REDACTOR.begins_at(f"{text}!") == len(text) + 1


@pytest.mark.parametrize("size", range(1, len(TOKEN)))
def test_a_beginning_of_a_token_of_ours_is_seen(size: int) -> None:
    assert REDACTOR.begins_at(f"so {TOKEN[:size]}") == 3


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 300, 5000, 100_007])
def test_a_beginning_of_a_long_value_is_seen(size: int) -> None:
    long = "".join(chr(97 + number % 26) + str(number) for number in range(20_000))
    redactor = Redactor([("LONG", long)])
    assert redactor.begins_at("so " + long[:size]) == 3
    assert redactor.begins_at(long[:size], since=1) > 0


def test_a_text_in_a_line_can_be_exchanged() -> None:
    line = rb'{"a":"x\/y", "b":["x/y",1]}'
    assert with_text(line, "x/y", "z") == b'{"a":"z", "b":["z",1]}'
    assert with_text(line, "x", "z") is None
    assert with_text(b"x/y", "x/y", "z") is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(letters),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(letters), inner, max_size=3)
    ),
    max_leaves=8,
)


def strings(value: Any) -> list[str]:
    match value:
        case dict():
            return [each for pair in value.items() for one in pair for each in strings(one)]
        case list():
            return [each for one in value for each in strings(one)]
        case str():
            return [value]
        case _:
            return []


@given(st.lists(values, min_size=1, max_size=4), json_values, st.booleans(), st.data())
def test_no_line_tells_a_value(
    secrets: list[str], around: Any, ascii: bool, data: st.DataObject
) -> None:
    redactor = Redactor((f"N{number}", value) for number, value in enumerate(secrets))
    told = data.draw(st.sampled_from(secrets)).strip()
    line = json.dumps({"a": f"<{told}>", told: [around, json.dumps(told)]}, ensure_ascii=ascii)
    shown = redactor.line(line.encode())
    assert is_one_line(shown)
    assert redactor.line(shown) == shown
    for value in map(str.strip, secrets):
        assert value.encode() not in shown
        assert not [each for each in strings(msgspec.json.decode(shown)) if value in each]


@given(st.lists(values, max_size=4), st.binary() | st.text(letters).map(str.encode))
def test_a_line_without_a_value_keeps_its_bytes(secrets: list[str], line: bytes) -> None:
    redactor = Redactor((f"N{number}", value) for number, value in enumerate(secrets))
    text = line.decode(errors="surrogateescape")
    if not any(value.strip() in text for value in secrets) and "\\" not in text:
        assert redactor.line(line) == line


@given(st.lists(values, min_size=1, max_size=4), st.text(letters))
def test_what_may_begin_a_value_is_the_longest_that_does(secrets: list[str], text: str) -> None:
    redactor = Redactor((f"N{number}", value) for number, value in enumerate(secrets))
    stripped = [value.strip() for value in secrets]
    spellings = {
        *stripped,
        *(json.dumps(value)[1:-1] for value in stripped),
        *(json.dumps(value, ensure_ascii=False)[1:-1] for value in stripped),
    }
    begins = [
        at
        for at in range(len(text))
        if any(s.startswith(text[at:]) and s != text[at:] for s in spellings)
    ]
    assert redactor.begins_at(text) == min(begins, default=len(text))


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-abcdefgh",
        "sk_live_abcdefgh1234",
        "ghp_" + "a1" * 18,
        "github_pat_" + "a1" * 12,
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdef",
        "glpat-" + "x" * 20,
        "AIza" + "x" * 35,
        TOKEN,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_key_is_masked(key: str) -> None:
    assert without_keys(f"(key: {key})") == f"(key: {MASK})"
    assert without_keys(f"Authorization: Bearer {'x' * 20}") == f"Authorization: Bearer {MASK}"


@pytest.mark.parametrize("text", ["task-1234567890", "a sketch", "ask-somebody-else", "Basic idea"])
def test_a_word_is_no_key(text: str) -> None:
    assert without_keys(text) == text
