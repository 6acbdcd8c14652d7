"""What a turn has used that no result has counted."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.facts import Exit
from dragoman.schema.commands import Interrupt
from dragoman.schema.events import Draft, Stderr, TurnEnded
from tests.agents.claude.lines import Heard, assistant, streamed
from tests.agents.counts import NO_COSTS, NO_COUNTS

GONE = Exit(code=None, signal=9, expected=False,
            stderr=Stderr(head="", truncated=False, total_lines=0))  # fmt: skip
ABANDONED = {**streamed(type="message_stop"), "abandoned_blocks": {"from_block_index": 1}}


def answer(message_id: str, read: int) -> dict[str, Any]:
    """An answer begins, and says what it read."""
    usage = {"input_tokens": read, "output_tokens": 1}
    return streamed(type="message_start", message={"id": message_id, "model": "m", "usage": usage})


def over(reason: str) -> dict[str, Any]:
    """A result that has counted a thousand tokens."""
    counted = {"m": {"inputTokens": 1000, "outputTokens": 10, "costUSD": 0.1}}
    return {"type": "result", "subtype": "error_during_execution", "is_error": True,
            "terminal_reason": reason, "modelUsage": counted}  # fmt: skip


def interrupted(heard: Heard, *lines: dict[str, Any]) -> Any:
    """What a turn used that an interrupt ends, after which these lines come."""
    list(heard.interpreter.command(Interrupt()))
    (end,) = [data for type, data in heard.hear(*lines) if type == "turn.ended"]
    return end["usage"]


def test_an_answer_that_an_interrupt_cuts_is_added() -> None:
    heard = Heard()
    heard.hear(answer("msg_a", 200))
    usage = interrupted(heard, ABANDONED, over("aborted_streaming"))
    assert (usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]) == (1200, 11, 0.1)


def test_an_answer_that_an_error_has_cut_is_counted_already() -> None:
    heard = Heard()
    heard.hear(answer("msg_a", 200), ABANDONED)
    assert interrupted(heard, over("aborted_streaming"))["input_tokens"] == 1000


def test_an_answer_that_ends_before_the_interrupt_is_heard_is_counted_already() -> None:
    heard = Heard()
    heard.hear(answer("msg_a", 200))
    done = streamed(type="message_delta", delta={"stop_reason": "tool_use"}, usage={})
    usage = interrupted(heard, done, streamed(type="message_stop"), over("aborted_tools"))
    assert usage["input_tokens"] == 1000


def test_without_a_result_all_answers_count_once_also_those_of_subagents() -> None:
    heard = Heard()
    done = streamed(type="message_delta", delta={"stop_reason": "x"}, usage={"output_tokens": 10})
    said = assistant({"type": "text", "text": "Looking."}, parent_tool_use_id="toolu_1")
    said["message"].update(id="msg_s", model="n", usage={"input_tokens": 30, "output_tokens": 1})
    heard.hear(answer("msg_a", 1000), done, streamed(type="message_stop"), said, said)
    heard.interpreter.on_close(GONE, resumable=True)
    bodies = [draft.body for draft in heard.interpreter.take() if isinstance(draft, Draft)]
    (end,) = [body for body in bodies if isinstance(body, TurnEnded)]
    assert end.usage
    assert (end.usage.input_tokens, end.usage.output_tokens) == (1030, 11)
    assert set(end.usage.models or {}) == {"m", "n"}


# --- Counts that cannot be ---

COUNTS = {"inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 5,
          "cacheCreationInputTokens": 6, "thinkingTokens": 7, "costUSD": 0.5}  # fmt: skip
OURS = {"inputTokens": "input_tokens", "outputTokens": "output_tokens",
        "cacheReadInputTokens": "cached_input_tokens", "costUSD": "cost_usd",
        "cacheCreationInputTokens": "cache_write_tokens",
        "thinkingTokens": "reasoning_tokens"}  # fmt: skip


def used(heard: Heard, **counted: Any) -> Any:
    """What a turn used that ends with these counts."""
    events = heard.hear({"type": "result", "modelUsage": {"m": counted, "n": COUNTS}})
    (end,) = [data for type, data in events if type == "turn.ended"]
    return end["usage"]


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", [name for name in COUNTS if name != "costUSD"])
def test_case_16_a_count_that_cannot_be_is_not_added_up(name: str, count: Any) -> None:
    """Before, a negative count was taken off what others used, and a word cost the whole turn."""
    usage = used(Heard(), **{**COUNTS, name: count})
    assert usage[OURS[name]] == COUNTS[name]
    assert usage["models"]["m"].get(OURS[name], 0) == 0
    assert usage["models"]["n"][OURS[name]] == COUNTS[name]


@pytest.mark.parametrize("cost", NO_COSTS, ids=repr)
def test_case_16_a_cost_that_cannot_be_is_not_added_up(cost: Any) -> None:
    """Before, a negative cost was passed on."""
    usage = used(Heard(), **{**COUNTS, "costUSD": cost})
    assert (usage["cost_usd"], usage["models"]["m"]["cost_usd"]) == (0.5, 0)


def test_case_16_a_total_that_fell_is_counted_from_zero() -> None:
    """Before, only where the output fell; any other count went below zero."""
    heard = Heard()
    used(heard, **COUNTS)
    heard.hear({"type": "system", "subtype": "init", "model": "m"})
    usage = used(heard, **{**COUNTS, "inputTokens": 40, "outputTokens": 11, "costUSD": 0.25})
    own = usage["models"]["m"]
    assert (own["input_tokens"], own["output_tokens"], own["cost_usd"]) == (40, 1, 0.25)


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_context_that_cannot_be_is_not_told(count: Any) -> None:
    """Before, a context of -81 tokens was."""
    window = {"m": {"inputTokens": 10, "contextWindow": 1000}}
    for usage, models in (
        ({"input_tokens": count}, window),
        ({"input_tokens": 10}, {"m": {"contextWindow": count}}),
    ):
        heard = Heard()
        begun = {"id": "msg_a", "model": "m", "usage": usage}
        heard.hear(streamed(type="message_start", message=begun))
        events = heard.hear({"type": "result", "modelUsage": models})
        assert [type for type, _ in events if type == "session.updated"] == []


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_compacted_conversation_of_no_size_leaves_the_context(count: Any) -> None:
    """Before, a negative one was told, and `true` was one token."""
    heard = Heard()
    heard.hear(answer("msg_a", 200))
    about = {"compact_metadata": {"post_tokens": count}}
    heard.hear({"type": "system", "subtype": "compact_boundary", **about})
    events = heard.hear({"type": "result", "modelUsage": {"m": {"contextWindow": 1000}}})
    assert [data["context"]["used"] for type, data in events if type == "session.updated"] == [201]
