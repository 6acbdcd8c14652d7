"""A process that cannot go on where another one stopped."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.claude import ADAPTER
from dragoman.facts import Exit
from dragoman.schema.commands import Prompt
from dragoman.schema.events import Stderr
from dragoman.steps import Bind, Delivered, EndSession, EndTurn, Report, Step

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

    def resume(self) -> list[Step]:
        """The process dies; the next one does not know the conversation, and ends."""
        list(self._converter.on_close(KILLED))
        list(self._converter.command(Prompt(message_id="msg_2", text="Go on")))
        return [*self.hear(FAILED), *self._converter.on_close(REFUSED)]


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
