"""Secrets in drafts: wherever they stand, and in whatever pieces they come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core import content_shape
from dragoman.core.redaction import MAX_HELD, Redaction
from dragoman.schema.events import (
    AgentUnparsed,
    Body,
    Draft,
    ErrorRaised,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelUsage,
    PermissionRequested,
    Question,
    QuestionOption,
    QuestionRequested,
    QueuedMessage,
    QueueUpdated,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    Stderr,
    TurnEnded,
    Usage,
)
from dragoman.schema.items import DeltaType, FileRef, Item, Json, ToolCall
from dragoman.wire.raw import as_json, is_one_line
from dragoman.wire.redactor import Redactor

KEY = "sk-ant-0123456789"
LONGER = "sk-ant-0123456789-and-more"
SIGNS = 'p"a\\s/é😀 word'
SECRETS = (("KEY", KEY), ("LONGER", LONGER), ("SIGNS", SIGNS), ("KIND", "tool_call"))
REDACTOR = Redactor(SECRETS)


def item(text: str, kind: DeltaType = "text", **fields: Any) -> Item:
    """A completed item with this text in the part that streams."""
    role, _, parts = content_shape.stub("call-1", kind)
    content = content_shape.with_streamed(kind, parts, text)
    return Item(item_id="itm_1", kind=role, content=content, status="completed", **fields)


def redacted(body: Body, raw: bytes | None = None) -> Draft:
    (draft,) = Redaction(REDACTOR).take([Draft(body, "agent", "n", raw)], hold=True)
    return draft


def delta(text: str, item_id: str = "itm_1", *, raw: bytes | None = None) -> Draft:
    raw = json.dumps({"delta": text}).encode() if raw is None else raw
    return Draft(ItemDelta(item_id=item_id, delta=text), "agent", "n", raw)


def deltas(drafts: Sequence[Draft], item_id: str = "itm_1") -> list[str]:
    bodies = [draft.body for draft in drafts]
    return [
        body.delta for body in bodies if isinstance(body, ItemDelta) and body.item_id == item_id
    ]


@pytest.mark.parametrize(
    "body",
    [
        SessionStarted(metadata={"directory": f"/tmp/{KEY}"}),
        SessionEnded(
            reason="error", terminated_by="agent", stderr=Stderr(head=KEY, truncated=False)),
        SessionUpdated(title=f"about {KEY}", rate_limits={"for": KEY}),
        ErrorRaised(message=KEY, details={"stderr": Stderr(tail=KEY, truncated=True), KEY: [KEY]}),
        AgentUnparsed(error=f"cannot read {KEY}", location="mock"),
        PermissionRequested(permission_id="p", action="Bash", metadata={"input": {"cmd": [KEY]}}),
        QuestionRequested(question_id="q", prompt=KEY, options=(KEY, "no"), questions=(
            Question(prompt=KEY, options=(QuestionOption(label=KEY, description=KEY),)),)),
        QueueUpdated(messages=(QueuedMessage(message_id="m", message=KEY, created_at=1),)),
        ItemStarted(item=item("", title=KEY, command=f"echo {KEY}", cwd=KEY)),
        ItemCompleted(item=item(f"so {KEY}", command=f"echo {KEY}")),
        ItemCompleted(item=msgspec.structs.replace(item(""), content=(
            ToolCall(name=KEY, arguments=f'{{"a":"{KEY}"}}', call_id="c", input={"a": KEY}),
            Json(json={"a": [1, {KEY: None}]}),
            FileRef(path=f"/{KEY}", action="patch", diff=KEY)))),
        TurnEnded(usage=Usage(models={KEY: ModelUsage(input_tokens=1)})),
    ],
    ids=lambda body: body.type,
)  # fmt: skip
def test_every_body_is_told_without_them(body: Body) -> None:
    before = msgspec.json.encode(body)
    after = msgspec.json.encode(redacted(body).body)
    assert after == before.replace(KEY.encode(), b"[redacted:KEY]")
    msgspec.json.decode(after, type=type(body))


def test_words_of_our_own_and_ids_stay() -> None:
    """A value that is a word of the schema must not break the stream."""
    call = item("x", "arguments")
    assert call.kind == "tool_call"
    assert redacted(ItemStarted(item=call)).body == ItemStarted(item=call)
    update = SessionUpdated(model=KEY, title=KEY)
    assert redacted(update).body == SessionUpdated(model=KEY, title="[redacted:KEY]")


def test_numbers_of_ours_stay_numbers_and_those_of_agents_do_not_tell() -> None:
    redaction = Redaction(Redactor([("DIGITS", "20240131")]))
    ended = TurnEnded(usage=Usage(input_tokens=20240131), metadata={"n": 20240131, "m": True})
    (draft,) = redaction.take([Draft(ended)], hold=True)
    assert isinstance(draft.body, TurnEnded)
    assert draft.body.usage == ended.usage
    assert draft.body.metadata == {"n": "[redacted:DIGITS]", "m": True}


def test_json_that_is_a_value_when_it_is_written_is_found() -> None:
    redaction = Redaction(Redactor([("LOGIN", '{"user":"me"}')]))
    error = ErrorRaised(message="no", details={"sent": {"login": {"user": "me"}}})
    (draft,) = redaction.take([Draft(error)], hold=True)
    assert isinstance(draft.body, ErrorRaised)
    assert draft.body.details == {"sent": {"login": "[redacted:LOGIN]"}}


def test_a_native_line_is_kept_without_them_and_once() -> None:
    raw = json.dumps({"key": KEY}).encode()
    drafts = [Draft(ErrorRaised(message="a"), "agent", "n", raw), delta("x", raw=raw)]
    one, other = Redaction(REDACTOR).take(drafts, hold=True)
    assert one.raw == b'{"key": "[redacted:KEY]"}'
    assert one.raw is other.raw


def test_a_line_that_is_no_json_is_kept_without_them() -> None:
    kept = redacted(AgentUnparsed(error="?", location="m"), b"oops " + KEY.encode()).raw
    assert kept == b"oops [redacted:KEY]"
    assert b"base64" in as_json(kept)


# --- In pieces ---


def test_what_may_begin_one_waits_for_the_next_delta() -> None:
    redaction = Redaction(REDACTOR)
    assert redaction.take([delta("a "), delta("b sk-a")], hold=True) == [delta("a ")]
    assert redaction.take([delta("n")], hold=True) == []
    passed = redaction.take([delta("other")], hold=True)
    assert passed == [delta("b sk-a"), delta("n"), delta("other")]


def test_a_value_in_pieces_is_one_placeholder_in_pieces() -> None:
    redaction = Redaction(REDACTOR)
    passed = redaction.take([delta(f"so {KEY[:5]}"), delta(KEY[5:9])], hold=True)
    passed += redaction.take([delta(f"{KEY[9:]}!")], hold=True)
    assert deltas(passed) == ["so [red", "acted", ":KEY]!"]
    assert [json.loads(draft.raw or b"")["delta"] for draft in passed] == deltas(passed)


def test_a_longer_value_is_waited_for() -> None:
    redaction = Redaction(REDACTOR)
    assert redaction.take([delta(KEY)], hold=True) == []
    assert deltas(redaction.take([delta(LONGER[len(KEY) :])], hold=True)) == [
        "[redacte",
        "d:LONGER]",
    ]
    assert redaction.take([delta(KEY)], hold=True) == []
    assert deltas(redaction.take([delta(".")], hold=True)) == ["[redacted:KEY]", "."]


def test_who_must_go_on_shows_the_beginning_and_never_the_rest() -> None:
    redaction = Redaction(REDACTOR)
    asked = Draft(PermissionRequested(permission_id="p", action="Bash"))
    passed = redaction.take([delta("a sk-ant-"), asked], hold=True)
    assert passed == [delta("a sk-ant-"), asked]
    passed += redaction.take([delta(KEY[7:12])], hold=True)
    passed += redaction.take((), hold=False)
    passed += redaction.take([delta(f"{KEY[12:]} z")], hold=True)
    passed += redaction.take([Draft(ItemCompleted(item=item(f"a {KEY} z")))], hold=True)
    assert deltas(passed) == ["a sk-ant-", "01234", "[redacted:KEY] z"]
    last = passed[-1].body
    assert isinstance(last, ItemCompleted)
    assert content_shape.streamed(last.item.content) == "a sk-ant-01234[redacted:KEY] z"


def test_the_drafts_of_one_line_wait_together() -> None:
    raw = json.dumps({"text": "key: sk-ant-01"}).encode()
    started = Draft(ItemStarted(item=item("")), "agent", "n", raw)
    redaction = Redaction(REDACTOR)
    assert redaction.take([started, delta("key: sk-ant-01", raw=raw)], hold=True) == []
    one, other, rest = redaction.take([delta(f"{KEY[9:]}.")], hold=True)
    assert one.raw == other.raw == b'{"text": "key: [redact"}'
    assert deltas([other, rest]) == ["key: [redact", "ed:KEY]."]


def test_other_items_do_not_decide_and_the_order_stays() -> None:
    redaction = Redaction(REDACTOR)
    assert redaction.take([delta("sk-ant-"), delta("B", "itm_2")], hold=True) == []
    passed = redaction.take([delta("C", "itm_2"), delta(f"{KEY[7:]}.")], hold=True)
    assert [draft.body.item_id for draft in passed if isinstance(draft.body, ItemDelta)] == [
        "itm_1",
        "itm_2",
        "itm_2",
        "itm_1",
    ]
    assert "".join(deltas(passed)) == "[redacted:KEY]."


def test_not_more_than_so_many_wait() -> None:
    redaction = Redaction(REDACTOR)
    assert redaction.take([delta("sk-ant-")], hold=True) == []
    crowd = [delta("x", "itm_2") for _ in range(MAX_HELD)]
    assert len(redaction.take(crowd, hold=True)) == MAX_HELD + 1
    assert redaction.pending == []


def test_a_piece_that_its_line_tells_in_other_words_costs_the_line() -> None:
    redaction = Redaction(REDACTOR)
    odd = b'{"text":"sk","and":"-ant-0123456"}'
    redaction.take([delta("sk-ant-0123456", raw=odd)], hold=True)
    passed = redaction.take([delta("789.")], hold=True)
    assert passed[0].raw == b'{"redacted":"[redacted:KEY]"}'


def test_a_line_that_holds_all_of_the_text_is_kept() -> None:
    redaction = Redaction(REDACTOR)
    redaction.take([delta("sk-ant-0123456")], hold=True)
    whole = json.dumps({"text": KEY}).encode()
    drafts = [delta("789", raw=whole), Draft(ItemCompleted(item=item(KEY)), "agent", "n", whole)]
    *_, last = redaction.take(drafts, hold=True)
    assert last.raw == b'{"text": "[redacted:KEY]"}'


# --- Whatever is said, and however it is cut ---

fragments = st.sampled_from(
    [KEY, LONGER, SIGNS, KEY[:4], KEY[:-1], SIGNS[:5], "s", " words ", "-", '"', "\\", "é", "sk-"]
)
texts = st.lists(fragments, max_size=8).map("".join)
plain = st.text('xyz é"\\\n', max_size=40)
kinds: st.SearchStrategy[DeltaType] = st.sampled_from(["text", "reasoning", "arguments"])


def cut(text: str, places: Sequence[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


cuts = st.lists(st.integers(0, 200), max_size=30)


def line_of(piece: str, so_far: str, form: int) -> bytes:
    """A native line for a piece: as most agents say it, with all so far, or no JSON at all."""
    match form:
        case 0 | 1:
            return json.dumps({"type": "delta", "text": piece}, ensure_ascii=bool(form)).encode()
        case 2:
            return json.dumps({"so_far": so_far}).encode()
        case _:
            return b"data: " + piece.encode() + b"\xff"


def story(text: str, kind: DeltaType, places: Sequence[int], form: int) -> Iterator[Draft]:
    so_far = ""
    for piece in cut(text, places):
        so_far += piece
        body = ItemDelta(item_id="itm_1", delta=piece, content_type=kind)
        yield Draft(body, "agent", "n", line_of(piece, so_far, form))
    raw = json.dumps({"type": "end", "text": text}).encode()
    yield Draft(ItemCompleted(item=item(text, kind)), "agent", "n", raw)


def told(drafts: Sequence[Draft], pauses: Sequence[int], batch: int) -> list[Draft]:
    """What comes out where so many drafts come at once, and who waits loses patience here."""
    redaction = Redaction(REDACTOR)
    out: list[Draft] = []
    for start in range(0, len(drafts), batch):
        out += redaction.take(drafts[start : start + batch], hold=True)
        if start in pauses:
            out += redaction.take((), hold=False)
    assert redaction.pending == []
    return out


def strings(value: Any) -> list[str]:
    match value:
        case dict():
            return [each for one in value.values() for each in strings(one)]
        case str():
            return [value]
        case _:
            return []


def assert_nothing_tells(drafts: Sequence[Draft]) -> None:
    said = "".join(deltas(drafts))
    for value in (KEY, LONGER, SIGNS):
        assert value not in said
        for draft in drafts:
            assert draft.raw is not None
            assert value.encode() not in draft.raw
            spelled = json.dumps(value, ensure_ascii=False)[1:-1].encode()
            assert spelled not in draft.raw
            assert spelled not in msgspec.json.encode(draft.body)
            if is_one_line(draft.raw):
                assert not [each for each in strings(json.loads(draft.raw)) if value in each]


@settings(max_examples=400, deadline=None)
@given(
    texts,
    kinds,
    cuts,
    st.integers(0, 3),
    st.sets(st.integers(0, 30), max_size=3),
    st.integers(1, 9),
)
def test_however_it_is_cut_nothing_tells_and_deltas_add_up(
    text: str, kind: DeltaType, places: list[int], form: int, pauses: set[int], batch: int
) -> None:
    drafts = list(story(text, kind, places, form))
    out = told(drafts, tuple(pauses), batch)
    assert len(out) == len(drafts)
    assert_nothing_tells(out)
    last = out[-1].body
    assert isinstance(last, ItemCompleted)
    assert content_shape.streamed(last.item.content) == "".join(deltas(out))
    if not pauses:
        assert "".join(deltas(out)) == REDACTOR.text(text)


@settings(max_examples=400, deadline=None)
@given(texts, cuts, st.integers(0, 1))
def test_all_lines_together_do_not_tell_it_either(text: str, places: list[int], form: int) -> None:
    out = told(list(story(text, "text", places, form)), (), 1)
    pieces = [json.loads(draft.raw or b"{}").get("text") for draft in out[:-1]]
    assert "".join(pieces) == REDACTOR.text(text)


@settings(max_examples=200, deadline=None)
@given(plain, kinds, cuts, st.integers(0, 3), st.sets(st.integers(0, 30)), st.integers(1, 9))
def test_what_holds_none_passes_as_it_is(
    text: str, kind: DeltaType, places: list[int], form: int, pauses: set[int], batch: int
) -> None:
    drafts = list(story(text, kind, places, form))
    assert told(drafts, tuple(pauses), batch) == drafts


@settings(max_examples=200, deadline=None)
@given(texts, texts, cuts, cuts, st.integers(1, 5))
def test_items_that_stream_at_once_are_each_their_own(
    one: str, other: str, places: list[int], more: list[int], batch: int
) -> None:
    first = [delta(piece, "itm_1") for piece in cut(one, places)]
    second = [delta(piece, "itm_2") for piece in cut(other, more)]
    pairs = itertools.zip_longest(first, second)
    drafts = [draft for pair in pairs for draft in pair if draft is not None]
    redaction = Redaction(REDACTOR)
    out: list[Draft] = []
    for start in range(0, len(drafts), batch):
        out += redaction.take(drafts[start : start + batch], hold=True)
    out += redaction.take((), hold=False)
    assert "".join(deltas(out, "itm_1")) == REDACTOR.text(one)
    assert "".join(deltas(out, "itm_2")) == REDACTOR.text(other)


def test_an_output_is_a_preview_and_its_completion_is_told_without_them() -> None:
    redaction = Redaction(REDACTOR)
    body = ItemDelta(item_id="itm_1", delta=f"tail of {KEY}", content_type="output")
    drafts = [Draft(body), Draft(ItemCompleted(item=item(f"all, with {KEY}, of it", "output")))]
    one, other = redaction.take(drafts, hold=True)
    assert deltas([one]) == ["tail of [redacted:KEY]"]
    assert isinstance(other.body, ItemCompleted)
    assert content_shape.streamed(other.body.item.content) == "all, with [redacted:KEY], of it"
