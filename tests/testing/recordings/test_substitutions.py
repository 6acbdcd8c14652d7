"""What differs between a recording and today is learned, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.testing.recordings.substitutions import Mismatch, Substitutions, difference


def line(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def learned(recorded: bytes, came: bytes) -> Substitutions:
    names = Substitutions()
    names.learn(recorded, came)
    return names


def test_words_that_differ_are_replaced_wherever_they_stand() -> None:
    names = learned(
        line(type="user", text="hello there", uuid="aaaaaa-1"),
        line(type="user", text="good evening", uuid="bbbbbb-2"),
    )
    said = line(type="echo", of=["aaaaaa-1"], text="you said: hello there!")
    assert names.apply(said) == line(type="echo", of=["bbbbbb-2"], text="you said: good evening!")


def test_short_words_are_replaced_only_where_ids_stand() -> None:
    names = learned(line(type="ask", request_id="r1"), line(type="ask", request_id="init"))
    said = line(request_id="r1", text="r1", inner={"id": "r1", "ids": ["r1"]})
    assert names.apply(said) == line(
        request_id="init", text="r1", inner={"id": "init", "ids": ["r1"]}
    )


def test_numbers_are_ids_too() -> None:
    names = learned(line(method="start", id=1), line(method="start", id=7))
    assert names.apply(line(id=1, count=1)) == line(id=7, count=1)


def test_ids_alone_may_be_learned() -> None:
    names = Substitutions()
    names.learn_ids(
        {"messageId": "recorded-1", "mode": "recorded-mode", "inner": [{"id": 3}]},
        {"messageId": "ours-1", "mode": "another-mode", "inner": [{"id": 4}]},
    )
    said = line(of="recorded-1", mode="recorded-mode", id=3)
    assert names.apply(said) == line(of="ours-1", mode="recorded-mode", id=4)


def test_short_words_that_are_no_ids_are_not_learned() -> None:
    names = learned(line(type="set", mode="plan"), line(type="set", mode="build"))
    assert names.apply(line(mode="plan")) == line(mode="plan")


def test_a_line_without_such_words_keeps_its_bytes() -> None:
    names = learned(line(type="x", id="aaaaaa"), line(type="x", id="bbbbbb"))
    assert names.apply(b'{ "type" : "y", "n": 1.0 }') == b'{ "type" : "y", "n": 1.0 }'


def test_what_is_no_json_is_replaced_as_text() -> None:
    names = learned(line(type="x", path="/recorded"), line(type="x", path="/today"))
    assert names.apply(b"cannot open /recorded/a\xff") == b"cannot open /today/a\xff"


def test_replacements_do_not_chain() -> None:
    names = learned(
        line(type="x", a="one-one", b="two-two"), line(type="x", a="two-two", b="three-3")
    )
    assert names.apply(line(a="one-one", b="two-two")) == line(a="two-two", b="three-3")


def test_the_last_lesson_counts() -> None:
    names = learned(line(type="x", a="recorded"), line(type="x", a="first today"))
    names.learn(line(type="x", a="recorded"), line(type="x", a="recorded"))
    assert names.apply(line(a="recorded")) == line(a="recorded")


def test_flags_of_the_same_name_are_compared() -> None:
    names = Substitutions()
    names.learn_argv(
        ["agent", "--session-id", "recorded-id", "--verbose", "--model=recorded-model"],
        ["--model=model-of-today", "--session-id=id-of-today", "--verbose", "--new", "x"],
    )
    assert names.apply(line(a="recorded-id", b="recorded-model")) == line(
        a="id-of-today", b="model-of-today"
    )


@pytest.mark.parametrize(
    "came",
    [
        line(type="interrupt"),
        line(type="control", request={"subtype": "interrupt"}),
        line(type="control", request={"subtype": "start"}, more=1),
        b"no json",
    ],
)
def test_another_kind_of_line_is_refused_and_both_are_shown(came: bytes) -> None:
    recorded = line(type="control", request={"subtype": "start"})
    with pytest.raises(Mismatch) as caught:
        Substitutions().learn(recorded, came)
    assert recorded.decode() in str(caught.value)
    assert came.decode() in str(caught.value)


def test_only_the_beginning_of_a_long_line_is_shown() -> None:
    with pytest.raises(Mismatch) as caught:
        Substitutions().learn(line(type="a", text="x" * 1000), line(type="b", text="y" * 1000))
    assert len(str(caught.value)) < 800


def test_what_is_null_may_be_left_out() -> None:
    learned(line(type="a", message=None), line(type="a"))


def test_another_decision_is_another_message() -> None:
    allow = b'{"type":"control_response","response":{"response":{"behavior":"allow"}}}'
    deny = b'{"type":"control_response","response":{"response":{"behavior":"deny"}}}'
    assert difference(allow, allow) is None
    assert "behavior" in (difference(allow, deny) or "")
