"""What a turn has used that no result has counted."""

from __future__ import annotations

from typing import Any

from dragoman.adapter import Exit
from dragoman.schema.commands import Interrupt
from dragoman.schema.events import Draft, Stderr, TurnEnded
from tests.agents.claude.lines import Heard, assistant, streamed

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
    heard.interpreter.closed(GONE, resumable=True)
    bodies = [draft.body for draft in heard.interpreter.take() if isinstance(draft, Draft)]
    (end,) = [body for body in bodies if isinstance(body, TurnEnded)]
    assert end.usage
    assert (end.usage.input_tokens, end.usage.output_tokens) == (1030, 11)
    assert set(end.usage.models or {}) == {"m", "n"}
