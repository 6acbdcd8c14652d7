"""The converter: unknown messages, the state machines, a resume that fails."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.agents.claude import ADAPTER
from dragoman.agents.claude.convert import (
    CONVERSATION_TRANSITIONS,
    TURN_TRANSITIONS,
    ConversationState,
    Trigger,
    TurnState,
)
from dragoman.agents.claude.delivery import SentMessages
from dragoman.facts import Exit
from dragoman.schema.commands import Prompt
from dragoman.schema.events import Draft, Stderr
from dragoman.steps import BeginTurn, Bind, Delivered, EndSession, EndTurn, Report, Step
from tests.agents.claude.lines import Heard, assistant, streamed

# --- What a vendor may change tomorrow: kept, shown where it can be, never fatal ---


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


# --- A process that cannot resume the conversation of another ---


NATIVE = "0b42215d-cb92-4b8b-95e7-8b3b590c9bb5"
WHY = f"No conversation found with session ID: {NATIVE}"
KILLED = Exit(code=None, signal=9, expected=False,
              stderr=Stderr(head="", truncated=False, total_lines=0))  # fmt: skip
REFUSED = Exit(code=1, signal=None, expected=False,
               stderr=Stderr(head=WHY, truncated=False, total_lines=1))  # fmt: skip
INIT = {"type": "system", "subtype": "init", "session_id": NATIVE}
RESULT = {"type": "result", "subtype": "success", "session_id": NATIVE, "num_turns": 1}
FAILED = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": [WHY]}


class Session:
    """A converter that a person talks to."""

    def __init__(self, native: str | None = None) -> None:
        spec = Spec(session_id="s", agent="claude", agent_mode="build", directory="/w",
                    native_session_id=native)  # fmt: skip
        self._converter = ADAPTER.converter(spec)

    def hear(self, *lines: dict[str, Any]) -> list[Step]:
        return [
            step for line in lines for step in self._converter.receive(msgspec.json.encode(line))
        ]

    def say(self, message_id: str, text: str) -> None:
        list(self._converter.command(Prompt(message_id=message_id, text=text)))

    def exit(self, exit: Exit) -> list[Step]:
        return list(self._converter.on_close(exit))

    def resume(self) -> list[Step]:
        """The process dies; the next one does not know the conversation, and ends."""
        self.exit(KILLED)
        self.say("msg_2", "Go on")
        return [*self.hear(FAILED), *self.exit(REFUSED)]


def test_a_first_turn_that_was_never_written_down_begins_anew() -> None:
    session = Session()
    session.hear(INIT)
    first, *told = session.resume()
    assert first == Bind(None)
    assert not [step for step in told if isinstance(step, Report | EndTurn | EndSession)]
    assert session.hear(INIT)[0] == Bind(NATIVE)


def test_a_conversation_that_is_gone_ends_the_session_and_says_why() -> None:
    session = Session()
    session.hear(INIT, RESULT)
    *_, delivered, report, turn, end = session.resume()
    assert delivered == Delivered(message_id="msg_2")
    assert isinstance(report, Report)
    assert isinstance(turn, EndTurn)
    assert (report.message, turn.outcome) == (WHY, "failed")
    assert report.details == {"exit_code": 1, "signal": None, "stderr": REFUSED.stderr}
    assert end == EndSession(reason="error", message=WHY, exit=REFUSED)


def test_an_id_from_elsewhere_that_is_unknown_ends_the_session() -> None:
    end = Session(NATIVE).resume()[-1]
    assert end == EndSession(reason="error", message=WHY, exit=REFUSED)


# --- The state machines ---


@pytest.mark.parametrize("state", TurnState)
def test_a_process_that_is_gone_leaves_no_turn(state: TurnState) -> None:
    assert TURN_TRANSITIONS[state].get(Trigger.EXIT, state) is TurnState.STARTING


@pytest.mark.parametrize("state", ConversationState)
def test_a_conversation_outlives_its_process(state: ConversationState) -> None:
    assert Trigger.EXIT not in CONVERSATION_TRANSITIONS[state]


STARTED = {
    "type": "command_lifecycle",
    "state": "started",
    "command_uuid": SentMessages().add("msg_1", "Hi"),
}


ORDERS = list(itertools.permutations([STARTED, INIT, RESULT, FAILED]))


@pytest.mark.parametrize("lines", ORDERS, ids=map(str, range(len(ORDERS))))
def test_lines_in_any_order_leave_a_session_that_works(lines: tuple[dict[str, Any], ...]) -> None:
    session = Session()
    session.say("msg_1", "Hi")
    session.hear(*lines)
    session.exit(KILLED)
    assert BeginTurn(metadata={}) in session.hear(INIT)
    assert session.hear(RESULT)[-1] == EndTurn(outcome="completed", metadata={"num_turns": 1})
