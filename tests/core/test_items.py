"""Items and tools: what the normalizer repairs, one sentence each."""

from __future__ import annotations

import hashlib

import pytest

from dragoman.core.blobs import StoreFile
from dragoman.core.items import MAX_PREVIEW, MAX_TEXT
from dragoman.schema.events import (
    ItemDelta,
    ItemStarted,
)
from dragoman.schema.items import (
    Image,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import Blob, CompleteItem, Delta, EndTurn, StartItem, whole

from .dialect import Write
from .stage import Stage
from .steps import CALL, MESSAGE, RESULT, completed, last


def test_deltas_that_are_missing_are_made_up_from_the_completed_text(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "Hel")).say(CompleteItem(key="a", content=(Text(text="Hello"),)))
    deltas = [body for body in stage.tape.of("item.delta") if isinstance(body, ItemDelta)]
    assert [delta.delta for delta in deltas[1:]] == ["Hel", "lo"]
    assert stage.tape.drafts[-2].source == "daemon"
    assert stage.tape.drafts[-2].raw is not None


def test_streamed_text_that_is_taken_back_fails_and_is_said_anew(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "Helo")).say(CompleteItem(key="a", content=(Text(text="Hello"),)))
    first, second = completed(stage)[-2:]
    assert (first.status, first.reason, first.content) == (
        "failed",
        "retracted",
        (Text(text="Helo"),),
    )
    assert (second.status, second.content) == ("completed", (Text(text="Hello"),))
    assert stage.tape.violations() == []


def test_a_failed_item_keeps_what_was_streamed(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "Helo")).say(
        CompleteItem(key="a", content=(Text(text="x"),), status="failed")
    )
    assert (last(stage).status, last(stage).content) == ("failed", (Text(text="Helo"),))


@pytest.mark.parametrize(
    ("content_type", "kind", "role"),
    [
        ("text", "message", "assistant"),
        ("reasoning", "message", "assistant"),
        ("arguments", "tool_call", "assistant"),
        ("output", "tool_result", "tool"),
    ],
)
def test_a_delta_without_a_start_gets_an_item(
    stage: Stage, content_type: str, kind: str, role: str
) -> None:
    stage.say(Delta("z", "x", content_type))  # type: ignore[arg-type]
    started = [body for body in stage.tape.bodies if isinstance(body, ItemStarted)][-1]
    assert (started.item.kind, started.item.role) == (kind, role)
    assert stage.tape.violations() == []


def test_a_completion_without_a_start_gets_an_item(stage: Stage) -> None:
    stage.say(CompleteItem(key="z", content=(Text(text="whole"),)))
    assert last(stage).content == (Text(text="whole"),)
    assert stage.tape.violations() == []


def test_a_second_start_of_an_open_key_is_kept_and_changes_nothing(stage: Stage) -> None:
    stage.say(MESSAGE).say(MESSAGE).say(Delta("a", "x")).say(CompleteItem(key="a"))
    assert last(stage).content == (Text(text="x"),)
    assert completed(stage)[-2].content[0] == Status(label="late", detail="start")


def test_a_key_may_be_used_again_once_its_item_is_complete(stage: Stage) -> None:
    for text in ("one", "two"):
        stage.say(MESSAGE, Delta("a", text), CompleteItem(key="a"))
    assert [item.content for item in completed(stage)[-2:]] == [
        (Text(text="one"),),
        (Text(text="two"),),
    ]


def test_reasoning_streams_in_an_item_of_its_own(stage: Stage) -> None:
    thought = StartItem(
        key="r",
        kind="message",
        role="assistant",
        parent="a",
        content=(Reasoning(text="", visibility="private"),),
    )
    stage.say(MESSAGE).say(thought).say(Delta("r", "hm", "reasoning")).say(CompleteItem(key="r"))
    assert last(stage).content == (Reasoning(text="hm", visibility="private"),)
    assert last(stage).parent_id is not None


def test_what_is_open_when_a_turn_ends_fails_with_what_was_streamed(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "I do not")).say(EndTurn(outcome="interrupted"))
    assert (last(stage).status, last(stage).reason) == ("failed", "interrupted")
    assert last(stage).content == (Text(text="I do not"),)


def test_an_image_is_stored_before_the_event_that_names_it(stage: Stage) -> None:
    stage.say(MESSAGE).say(
        CompleteItem(key="a", content=(Text(text=""), Blob(data=b"png", mime="image/png")))
    )
    (file,) = (output for output in stage.tape.others if isinstance(output, StoreFile))
    assert file == StoreFile(f"/files/{hashlib.sha256(b'png').hexdigest()}.png", b"png")
    assert last(stage).content[1] == Image(path=file.path, mime="image/png")


# --- Tools ---


def test_a_result_without_its_call_gets_one(stage: Stage) -> None:
    stage.say(RESULT).say(CompleteItem(key="t:result", content=None))
    assert [item.kind for item in completed(stage)[-2:]] == ["tool_call", "tool_result"]
    assert stage.tape.violations() == []


def test_a_result_completes_a_call_that_is_still_open(stage: Stage) -> None:
    stage.say(CALL, Delta("t", "{}", "arguments")).say(RESULT)
    assert last(stage).content == (ToolCall(name="bash", arguments="{}", call_id="t"),)
    assert stage.tape.violations() == []


def test_a_call_without_a_result_gets_a_failed_one(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(EndTurn(outcome="completed"))
    result = last(stage)
    assert (result.kind, result.status, result.reason) == ("tool_result", "failed", "turn_end")
    assert stage.tape.violations() == []


def test_a_second_result_is_kept_and_answers_nothing(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(*whole(RESULT)).say(*whole(RESULT))
    results = [item for item in completed(stage) if item.kind == "tool_result"]
    assert len(results) == 1
    assert stage.tape.violations() == []


def test_what_follows_a_second_result_makes_up_no_call(stage: Stage) -> None:
    again = StartItem(key="z", kind="tool_result", content=(ToolResult(call_id="t", output=""),))
    stage.say(*whole(CALL)).say(*whole(RESULT)).say(again).say(Delta("z", "x", "output"))
    assert len([item for item in completed(stage) if item.kind == "tool_call"]) == 1


def test_a_call_id_may_be_used_again_once_it_has_its_result(stage: Stage) -> None:
    """A process that starts again counts its calls from one again."""
    stage.say(*whole(CALL)).say(*whole(RESULT)).say(EndTurn(outcome="completed"))
    stage.play(Write(echoed=False)).say(*whole(CALL)).say(*whole(RESULT))
    results = [item for item in completed(stage) if item.kind == "tool_result"]
    assert [result.status for result in results] == ["completed", "completed"]
    assert stage.tape.violations() == []


def test_two_open_calls_never_share_an_id(stage: Stage) -> None:
    other = StartItem(key="u", kind="tool_call", content=CALL.content)
    stage.say(CALL).say(other).say(EndTurn(outcome="completed"))
    calls = [item.content[0] for item in completed(stage) if item.kind == "tool_call"]
    assert len({call.call_id for call in calls if isinstance(call, ToolCall)}) == 2
    assert stage.tape.violations() == []


def test_a_call_whose_result_is_still_open_keeps_its_id_to_itself(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(RESULT).say(CALL).say(EndTurn(outcome="completed"))
    calls = [item.content[0] for item in completed(stage) if item.kind == "tool_call"]
    assert len({call.call_id for call in calls if isinstance(call, ToolCall)}) == 2
    assert stage.tape.violations() == []


def test_a_result_ends_with_the_turn_of_its_call_whoever_gives_it(stage: Stage) -> None:
    other = StartItem(
        key="r", kind="tool_result", content=RESULT.content, subagent="s1", detached=True
    )
    stage.say(*whole(CALL)).say(other).say(EndTurn(outcome="completed"))
    assert (last(stage).kind, last(stage).status) == ("tool_result", "failed")
    assert stage.tape.types()[-1] == "turn.ended"
    assert stage.tape.violations() == []


def test_arguments_stay_the_sum_of_their_deltas_and_the_input_stands_beside(stage: Stage) -> None:
    stage.say(CALL, Delta("t", '{"a":1}', "arguments"))
    parsed = ToolCall(name="bash", arguments='{"a":2}', call_id="t")
    stage.say(CompleteItem(key="t", content=(parsed,)))
    assert last(stage).content == (
        ToolCall(name="bash", arguments='{"a":1}', call_id="t", input={"a": 2}),
    )


def test_the_completed_output_is_the_truth_and_its_deltas_a_preview(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(RESULT, Delta("t:result", "10%\r20%", "output"))
    done = CompleteItem(key="t:result", content=(ToolResult(call_id="t", output="done"),))
    assert last(stage.say(done)).content == (ToolResult(call_id="t", output="done"),)


# --- Without bound ---


def test_a_message_without_bound_goes_on_in_a_next_item(stage: Stage) -> None:
    piece = "x" * (MAX_TEXT // 4)
    stage.say(MESSAGE)
    for _ in range(6):
        stage.say(Delta("a", piece))
    done = CompleteItem(key="a", content=(Text(text=piece * 6),), fields={"stop_reason": "end"})
    first, second = completed(stage.say(done))[-2:]
    assert (first.status, first.reason) == ("completed", "continued")
    assert first.content == (Text(text=piece * 4),)
    assert second.content == (Text(text=piece * 2),)
    assert second.stop_reason == "end"
    assert stage.tape.violations() == []


def test_a_message_that_is_whole_at_once_is_one_item_however_long(stage: Stage) -> None:
    text = "x" * (MAX_TEXT + 1)
    stage.say(MESSAGE).say(CompleteItem(key="a", content=(Text(text=text),)))
    assert last(stage).content == (Text(text=text),)
    assert stage.tape.violations() == []


def test_a_continued_message_that_is_cut_short_keeps_both_halves(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "x" * MAX_TEXT), Delta("a", "y")).say(
        EndTurn(outcome="interrupted")
    )
    assert [item.status for item in completed(stage)[-2:]] == ["completed", "failed"]
    assert last(stage).content == (Text(text="y"),)
    assert stage.tape.violations() == []


def test_reasoning_without_bound_goes_on_too(stage: Stage) -> None:
    stage.say(Delta("r", "x" * MAX_TEXT, "reasoning"), Delta("r", "y", "reasoning"))
    stage.say(CompleteItem(key="r"))
    assert last(stage).content == (Reasoning(text="y"),)
    assert stage.tape.violations() == []


def test_of_a_streamed_output_only_the_beginning_is_remembered(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(RESULT)
    for _ in range(4):
        stage.say(Delta("t:result", "x" * MAX_PREVIEW, "output"))
    stage.say(EndTurn(outcome="interrupted"))
    (part,) = last(stage).content
    assert isinstance(part, ToolResult)
    assert len(part.output) == MAX_PREVIEW


def test_what_a_subagent_says_many_turns_later_still_names_the_call_that_started_it(
    stage: Stage,
) -> None:
    running = StartItem(
        key="s", kind="status", parent="t", subagent="sub", detached=True,
        content=(Status(label="subagent"),),
    )  # fmt: skip
    word = StartItem(
        key="w", kind="message", role="assistant", parent="t", subagent="sub", detached=True,
        content=(Text(text="found"),),
    )  # fmt: skip
    stage.play(Write(False)).say(*whole(CALL), running, *whole(RESULT))
    call = next(item for item in completed(stage) if item.kind == "tool_call")
    for _ in range(3):
        stage.say(EndTurn(outcome="completed")).play(Write(False))
    stage.say(*whole(word))
    assert last(stage).parent_id == call.item_id
    assert stage.tape.violations() == []
