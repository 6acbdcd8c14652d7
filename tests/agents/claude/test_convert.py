"""What a vendor may change tomorrow: kept, shown where it can be, never fatal."""

from __future__ import annotations

import pytest

from dragoman.schema.events import Draft
from tests.agents.claude.lines import Heard, assistant, streamed


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_an_unknown_type_is_kept_as_unparsed(heard: Heard) -> None:
    [(type, data)] = heard.hear({"type": "hologram", "shape": "cube"})
    assert type == "agent.unparsed"
    assert "hologram" in data["error"]
    assert data["raw_hash"]


def test_unknown_keys_change_nothing(heard: Heard) -> None:
    events = heard.hear(assistant({"type": "text", "text": "Hello", "mood": 7}, tempo="allegro"))
    assert ("item.delta", "Hello") in [(type, data.get("delta")) for type, data in events]


def test_an_unknown_block_keeps_its_siblings(heard: Heard) -> None:
    events = heard.hear(assistant({"type": "hologram", "x": 1}, {"type": "text", "text": "Hello"}))
    kinds = [data["item"]["kind"] for type, data in events if type == "item.started"]
    assert kinds == ["unknown", "message"]
    assert "Hello" in [data.get("delta") for _, data in events]


def test_an_unknown_piece_of_a_stream_is_an_unknown_item(heard: Heard) -> None:
    heard.hear(streamed(type="message_start", message={"id": "msg_a"}))
    events = heard.hear(streamed(type="aura", colour="red"))
    assert [data["item"]["kind"] for _, data in events] == ["unknown", "unknown"]
    [part] = events[-1][1]["item"]["content"]
    assert part == {"type": "json", "json": {"type": "aura", "colour": "red"}}


def test_an_unknown_delta_costs_only_itself(heard: Heard) -> None:
    heard.hear(
        streamed(type="message_start", message={"id": "msg_a"}),
        streamed(type="content_block_start", index=0, content_block={"type": "text", "text": ""}),
    )
    scent = {"type": "scent_delta", "scent": "pine"}
    heard.hear(streamed(type="content_block_delta", index=0, delta=scent))
    [(_, started), (type, data)] = heard.hear(
        streamed(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"})
    )
    assert started["item"]["native_item_id"] == "msg_a"
    assert (type, data["delta"]) == ("item.delta", "Hi")


def test_an_unknown_subtype_is_an_unknown_item(heard: Heard) -> None:
    events = heard.hear({"type": "system", "subtype": "weather", "sky": "blue"})
    assert events[-1][1]["item"]["kind"] == "unknown"
    assert events[-1][1]["item"]["content"][0]["json"]["sky"] == "blue"


def test_a_field_of_another_type_costs_one_message(heard: Heard) -> None:
    [(type, _)] = heard.hear({"type": "result", "is_error": "perhaps"})
    assert type == "agent.unparsed"
    events = heard.hear({"type": "result", "is_error": False})
    assert events[-1][0] == "turn.ended"


def test_rate_limits_are_told(heard: Heard) -> None:
    about = {"status": "allowed_warning", "utilization": 0.9}
    [(type, data)] = heard.hear({"type": "rate_limit_event", "rate_limit_info": about})
    assert (type, data["rate_limits"]) == ("session.updated", about)


def test_a_request_that_we_do_not_know_is_refused_and_kept(heard: Heard) -> None:
    wanted = {"subtype": "request_hologram", "size": 3}
    line = {"type": "control_request", "request_id": "r1", "request": wanted}
    events = heard.hear(line)
    assert events[-1][1]["item"]["kind"] == "unknown"


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b'{"type":"assistant"}', b'{"type":7}']
)
def test_nonsense_is_kept(line: bytes) -> None:
    heard = Heard()
    heard.interpreter.receive(line)
    [draft] = [out for out in heard.interpreter.take() if isinstance(out, Draft)]
    assert draft.body.type == "agent.unparsed"
    assert draft.raw == line
