"""Token counts that cannot be, and totals that fall."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.schema.commands import Prompt
from tests.agents.codex.session import TURN, CodexSession
from tests.agents.counts import NO_COUNTS

COUNTS = {"inputTokens": 100, "cachedInputTokens": 5, "cacheWriteInputTokens": 6,
          "outputTokens": 10, "reasoningOutputTokens": 7, "totalTokens": 110}  # fmt: skip


OURS = {"cachedInputTokens": "cached_input_tokens", "cacheWriteInputTokens": "cache_write_tokens",
        "outputTokens": "output_tokens", "reasoningOutputTokens": "reasoning_tokens",
        "inputTokens": "input_tokens"}  # fmt: skip


def used(session: CodexSession, *totals: dict[str, Any]) -> Any:
    """What a turn used in which Codex tells these totals."""
    for total in totals:
        session.tell("thread/tokenUsage/updated", tokenUsage={"total": total, "last": total})
    told = session.tell("turn/completed", turn={"id": TURN, "status": "completed"})
    return next(data["usage"] for type, data in told if type == "turn.ended")


def begin(session: CodexSession) -> None:
    """Another turn."""
    session.say(Prompt(message_id="msg_2", text="Go on"))
    session.on_reply("start:msg_2", {"turn": {"id": "turn-2"}})
    session.tell("turn/started", turn={"id": "turn-2"}, turnId="turn-2")


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", OURS)
def test_case_16_a_count_that_cannot_be_is_not_added_up(name: str, count: Any) -> None:
    """Before, a negative count made the next turn's too large, and a word cost all the counts."""
    session = CodexSession()
    usage = used(session, {**COUNTS, name: count})
    assert usage[OURS[name]] == 0
    assert all(number >= 0 for number in usage.values())
    begin(session)
    total = {name: 2 * count for name, count in COUNTS.items()}
    session.tell("thread/tokenUsage/updated", turnId="turn-2",
               tokenUsage={"total": total, "last": COUNTS})  # fmt: skip
    told = session.tell("turn/completed", turn={"id": "turn-2", "status": "completed"})
    usage = next(data["usage"] for type, data in told if type == "turn.ended")
    assert all(0 <= number <= 2 * 100 for number in usage.values())


def test_case_16_a_total_that_fell_is_counted_from_zero() -> None:
    """Before, a turn after which a total was smaller than before it had used nothing."""
    session = CodexSession()
    used(session, COUNTS)
    begin(session)
    fallen = {**COUNTS, "inputTokens": 60, "outputTokens": 4}
    session.tell("thread/tokenUsage/updated", turnId="turn-2",
               tokenUsage={"total": fallen, "last": fallen})  # fmt: skip
    told = session.tell("turn/completed", turn={"id": "turn-2", "status": "completed"})
    usage = next(data["usage"] for type, data in told if type == "turn.ended")
    assert (usage["input_tokens"], usage["output_tokens"]) == (60, 4)


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_context_that_cannot_be_is_not_told(count: Any) -> None:
    """Before, a window of -258401 tokens was."""
    for last, window in (({"totalTokens": count}, 1000), ({"totalTokens": 10}, count)):
        usage = {"total": COUNTS, "last": last, "modelContextWindow": window}
        assert CodexSession().tell("thread/tokenUsage/updated", tokenUsage=usage) == []
