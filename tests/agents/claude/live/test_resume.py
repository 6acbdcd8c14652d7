"""What Claude Code says of a conversation that it does not know."""

from __future__ import annotations

from tests.agents.live import Bench
from tests.testing.story import of_type


def test_an_unknown_conversation_is_told_with_the_end_of_the_process(claude: Bench) -> None:
    unknown = claude.agent.unknown_session
    live = claude.session("Never.", resume={"nativeSessionId": unknown})
    live.send("Go on")
    end = live.until("session.ended")["data"]
    assert end["exit_code"] == 1
    assert unknown in end["stderr"]["head"]
    (error,) = of_type(live.conforms(), "error")
    assert (error["details"]["exit_code"], error["details"]["signal"]) == (1, None)
    assert error["details"]["stderr"] == end["stderr"]
