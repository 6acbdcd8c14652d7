"""The format of a recording: what is written can be read, also what others wrote."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.recordings.transcript import (
    Ending,
    Eof,
    Line,
    Meta,
    PassedSignal,
    Run,
    Transcript,
    dump,
    encode,
    load,
)

seconds = st.integers(0, 10**8).map(lambda number: number / 10_000)
texts = st.text(st.characters(exclude_categories=["Cs"]))
metas = st.builds(Meta, agent=st.none() | texts, argv=st.tuples(texts), cwd=st.none() | texts)
lines = st.builds(
    Line,
    t=seconds,
    dir=st.sampled_from(["in", "out", "err"]),
    data=st.binary().map(lambda data: data.replace(b"\n", b"")) | texts.map(str.encode),
    open=st.booleans(),
    http=st.none() | st.just({"id": 1, "status": 200}),
)
entries = lines | st.builds(Eof, t=seconds) | st.builds(PassedSignal, t=seconds, number=st.just(15))
endings = st.builds(Ending, t=seconds, code=st.integers(0, 255), signal=st.none()) | st.builds(
    Ending, t=seconds, code=st.none(), signal=st.integers(1, 31)
)
runs = st.builds(Run, meta=metas, entries=st.lists(entries).map(tuple), ending=st.none() | endings)


@given(st.lists(runs).map(tuple))
def test_what_is_written_can_be_read(transcript: Transcript) -> None:
    assert load(dump(transcript)) == transcript


@given(runs, st.data())
def test_a_recording_that_was_cut_anywhere_costs_only_its_last_line(
    run: Run, data: st.DataObject
) -> None:
    text = dump((run,))
    cut = text[: data.draw(st.integers(0, len(text)))]
    found = load(cut)
    whole = cut.count(b"\n")
    read = sum(1 + len(each.entries) + (each.ending is not None) for each in found)
    assert read in (whole, whole + 1)


def test_a_line_is_the_exact_text() -> None:
    text = encode(Line(t=0.12344, dir="out", data='{"a": "é"}\r'.encode()))
    assert text == '{"t":0.1234,"dir":"out","line":"{\\"a\\": \\"é\\"}\\r"}\n'.encode()


def test_bytes_that_are_no_text_are_base64() -> None:
    assert encode(Line(t=0, dir="in", data=b"\xff", open=True)) == (
        b'{"t":0,"dir":"in","base64":"/w==","open":true}\n'
    )


def test_each_process_begins_with_its_own_meta() -> None:
    text = b"".join(
        encode(entry)
        for entry in (
            Meta(agent="a"),
            Eof(t=1.0),
            Meta(agent="b"),
            Ending(t=1, code=3, signal=None),
        )
    )
    first, second = load(text)
    assert (first.meta.agent, first.ending) == ("a", None)
    assert (second.meta.agent, second.ending) == ("b", Ending(t=1, code=3, signal=None))


# --- What others wrote ---


def foreign(*records: object) -> Transcript:
    return load("\n".join(json.dumps(record) for record in records).encode())


def test_a_payload_is_encoded_compactly() -> None:
    (run,) = foreign({"t": 0.5, "dir": "in", "payload": {"b": [1, 2], "a": "é"}})
    assert run.entries == (Line(t=0.5, dir="in", data='{"b":[1,2],"a":"é"}'.encode()),)


def test_a_payload_with_half_an_emoji_is_not_lost() -> None:
    (run,) = foreign({"t": 0, "dir": "out", "payload": {"text": "\ud83d!"}})
    assert run.lines("out")[0].data == '{"text":"\ufffd!"}'.encode()


def test_a_string_is_text_that_was_no_json() -> None:
    (run,) = foreign({"t": 0, "dir": "stderr", "payload": "Error: no"})
    assert run.entries == (Line(t=0, dir="err", data=b"Error: no"),)


@pytest.mark.parametrize(("rc", "code", "signal"), [(0, 0, None), (1, 1, None), (-9, None, 9)])
def test_an_exit_may_be_a_return_code(rc: int, code: int | None, signal: int | None) -> None:
    (run,) = foreign({"dir": "meta", "payload": {"argv": ["x"], "env": {}}},
                     {"t": 2, "dir": "exit", "payload": {"rc": rc}})  # fmt: skip
    assert run.meta.argv == ("x",)
    assert run.ending == Ending(t=2, code=code, signal=signal)


def test_notes_are_not_part_of_it() -> None:
    assert foreign({"dir": "note", "payload": "sending SIGINT"}) == ()


@pytest.mark.parametrize(
    "bad", ["no json", '{"dir":"sideways"}', '{"dir":"in"}', '{"dir":"in","base64":"!"}', "[]"]
)
def test_what_is_wrong_names_its_line(bad: str) -> None:
    with pytest.raises(msgspec.DecodeError, match="line 2"):
        load(f'{{"dir":"eof"}}\n{bad}\n{{"dir":"eof"}}\n'.encode())
