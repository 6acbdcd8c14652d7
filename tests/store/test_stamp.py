"""Stamping gives the contract's bytes, and a native message comes back as it was."""

from __future__ import annotations

import sqlite3

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema.events import Body, Draft, Event, ItemDelta, SessionStarted, encode
from dragoman.store.native_payload import MIN_BYTES, share, whole
from dragoman.store.stamp import stamp
from dragoman.wire.raw import as_json

texts = st.text(max_size=50) | st.text(min_size=1, max_size=5).map(lambda text: text * 2000)
bodies: st.SearchStrategy[Body] = st.builds(
    ItemDelta, item_id=st.text(), native_item_id=st.none() | st.text(), delta=texts
) | st.builds(SessionStarted, metadata=st.dictionaries(st.text(), st.integers()))
drafts = st.builds(
    Draft,
    bodies,
    st.sampled_from(["agent", "daemon"]),
    st.none() | st.text(),
    st.none() | st.binary(max_size=40) | texts.map(msgspec.json.encode),
)


@given(st.lists(drafts, max_size=6), st.integers(min_value=0, max_value=10**9))
def test_a_stamped_line_is_what_the_schema_encodes(given: list[Draft], after: int) -> None:
    for row, draft in zip(stamp("s", 7, after, 0, given), given, strict=True):
        _, sequence, _, _, line, *_ = row
        shown = msgspec.json.decode(line)
        event = Event(
            event_id=shown["event_id"],
            sequence=sequence,
            time=shown["time"],
            session_id="s",
            native_session_id=draft.native_session_id,
            synthetic=draft.source == "daemon",
            source=draft.source,
            type=draft.body.type,
            data=draft.body,
        )
        assert line == encode(event)


def test_sequences_follow_on_and_ids_differ() -> None:
    rows = stamp("s", 1, 41, 0, [Draft(SessionStarted())] * 3)
    assert [row[1] for row in rows] == [42, 43, 44]
    assert len({msgspec.json.decode(row[4])["event_id"] for row in rows}) == 3


def test_the_events_of_one_message_share_its_raw() -> None:
    raw, other = b'{"n":1}', b'{"n":2}'
    body = SessionStarted()
    rows = stamp("s", 1, 0, 0, [Draft(body, raw=raw), Draft(body, raw=raw), Draft(body, raw=other)])
    assert [(row[3], row[5]) for row in rows] == [(None, raw), (1, None), (None, other)]


def read_back(line: bytes, raw: bytes) -> bytes:
    """Store and read a message as the log does."""
    rest, shared = share(line, raw)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE e (line, raw, raw_cut, raw_from, raw_size)")
    db.execute("INSERT INTO e VALUES (?, ?, ?, ?, ?)", (line, rest, *shared))
    (found,) = db.execute(f"SELECT CAST({whole('e')} AS BLOB) FROM e").fetchone()
    db.close()
    return bytes(found)


@given(texts, st.booleans(), st.text(max_size=10))
def test_a_message_that_shares_text_with_its_event_comes_back_whole(
    text: str, ascii_only: bool, around: str
) -> None:
    import json

    body = ItemDelta(item_id="itm", native_item_id=around, delta=text)
    line = stamp("s", 1, 0, 0, [Draft(body)])[0][4]
    raw = json.dumps({"a": around, "text": text, "z": around}, ensure_ascii=ascii_only).encode()
    assert read_back(line, as_json(raw)) == as_json(raw)


def test_a_long_text_is_stored_once() -> None:
    text = "The quick brown fox. " * 1000
    line = stamp("s", 1, 0, 0, [Draft(ItemDelta(item_id="itm", delta=text))])[0][4]
    rest, (_, _, size) = share(line, msgspec.json.encode({"type": "delta", "text": text}))
    assert size == len(text)
    assert len(rest) < 100


def test_a_short_message_is_kept_as_it_is() -> None:
    raw = b'{"text":"' + b"x" * (MIN_BYTES - 20) + b'"}'
    assert share(b'{"delta":"' + b"x" * MIN_BYTES, raw) == (raw, (None, None, None))
