"""Turns and people's messages: what the normalizer repairs, one sentence each."""

from __future__ import annotations

import pytest

from dragoman.core.blobs import StoreFile
from dragoman.schema.commands import Attachment, Prompt
from dragoman.schema.events import (
    ErrorRaised,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
)
from dragoman.schema.items import (
    FileRef,
    Image,
    Status,
    Text,
)
from dragoman.steps import (
    AskPermission,
    BeginTurn,
    CompleteItem,
    Delivered,
    Delta,
    Echo,
    EndTurn,
    Report,
    StartItem,
    Step,
    Update,
    whole,
)

from .dialect import Die, Write
from .stage import Stage
from .steps import DIED, MESSAGE, completed, last


def test_a_delivered_message_opens_its_turn_and_comes_first(stage: Stage) -> None:
    assert stage.tape.types() == [
        "session.started",
        "turn.started",
        "item.started",
        "item.delta",
        "item.completed",
    ]
    assert last(stage).role == "user"
    assert last(stage).message_id == "m1"
    assert {draft.source for draft in stage.tape.drafts} == {"daemon"}
    assert {draft.raw for draft in stage.tape.drafts} == {None}


def test_the_native_start_of_an_open_turn_is_not_a_second_one(stage: Stage) -> None:
    stage.say(BeginTurn(metadata={"native_turn_id": "n1"}))
    assert len(stage.tape.of("turn.started")) == 1


def test_a_turn_that_the_agent_begins_has_its_native_id_in_metadata() -> None:
    stage = Stage().say(BeginTurn(metadata={"native_turn_id": "n1"}))
    (started,) = stage.tape.of("turn.started")
    assert isinstance(started, TurnStarted)
    assert started.metadata == {"native_turn_id": "n1"}
    assert stage.tape.drafts[-1].source == "agent"


def test_a_late_end_opens_no_turn_and_is_kept(stage: Stage) -> None:
    stage.say(EndTurn(outcome="completed")).say(EndTurn(outcome="completed"))
    assert len(stage.tape.of("turn.started")) == len(stage.tape.of("turn.ended")) == 1
    assert last(stage).content[0] == Status(label="late", detail="turn end")


def test_a_late_delta_of_an_ended_turn_opens_none_and_is_kept(stage: Stage) -> None:
    stage.say(MESSAGE).say(EndTurn(outcome="interrupted")).say(Delta("a", "too late"))
    assert len(stage.tape.of("turn.started")) == 1
    assert last(stage).kind == "status"


def test_an_item_that_may_not_open_a_turn_does_not() -> None:
    late = StartItem(key="a", kind="message", role="assistant", opens=False)
    stage = Stage().say(late).say(Delta("a", "x")).say(CompleteItem(key="a"))
    assert stage.tape.of("turn.started") == []
    assert {item.kind for item in completed(stage)} == {"status"}


def test_status_and_system_items_between_turns_open_none() -> None:
    for kind in ("status", "system"):
        item = StartItem(key="a", kind=kind, content=(Text(text=""),))
        stage = Stage().say(item).say(Delta("a", "x")).say(CompleteItem(key="a"))
        assert stage.tape.of("turn.started") == []
        assert stage.tape.violations() == []


def test_a_failed_turn_says_why_even_where_the_agent_does_not(stage: Stage) -> None:
    stage.say(EndTurn(outcome="failed"))
    assert stage.tape.types()[-2:] == ["error", "turn.ended"]
    assert stage.tape.drafts[-2].source == "daemon"


def test_a_failed_turn_that_said_why_says_it_once(stage: Stage) -> None:
    stage.say(Report(message="quota", code="rate_limit")).say(EndTurn(outcome="failed"))
    (error,) = stage.tape.of("error")
    assert error == ErrorRaised(message="quota", code="rate_limit")
    assert stage.tape.drafts[-2].source == "agent"


def test_an_error_of_the_turn_before_does_not_explain_this_one(stage: Stage) -> None:
    stage.say(Report(message="first")).say(EndTurn(outcome="completed"))
    stage.play(Write(echoed=False)).say(EndTurn(outcome="failed"))
    assert len(stage.tape.of("error")) == 2


def test_a_turn_ends_with_what_the_agent_tells_about_it(stage: Stage) -> None:
    usage = Usage(input_tokens=3, output_tokens=4)
    end = EndTurn(outcome="completed", usage=usage, stop_reason="end_turn", metadata={"n": 1})
    ended = stage.say(end).tape.bodies[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.usage, ended.stop_reason, ended.metadata) == (usage, "end_turn", {"n": 1})


def test_items_of_a_loose_subagent_survive_the_turn_and_end_with_the_process(
    stage: Stage,
) -> None:
    detached = StartItem(key="s", kind="message", role="assistant", subagent="s1", detached=True)
    stage.say(detached).say(EndTurn(outcome="completed"))
    assert stage.tape.types()[-1] == "turn.ended"
    stage.say(Delta("s", "still here"))
    assert stage.tape.types()[-1] == "item.delta"
    stage.play(Die(DIED, resumable=True))
    assert last(stage).status == "failed"
    assert last(stage).reason == "process_exit"
    assert stage.tape.of("error") == []
    assert stage.tape.violations() == []


def test_nothing_is_loose_that_is_not_a_subagents(stage: Stage) -> None:
    detached = StartItem(key="s", kind="message", role="assistant", detached=True)
    stage.say(detached).say(EndTurn(outcome="completed"))
    assert last(stage).reason == "turn_end"
    assert stage.tape.violations() == []


# --- People's messages ---


def test_an_echo_gives_a_message_its_place_its_native_id_and_its_source() -> None:
    stage = Stage().play(Write(echoed=True))
    assert stage.tape.types() == ["session.started", "turn.started"]
    status = StartItem(key="s", kind="status", content=(Status(label="init"),))
    stage.say(*whole(status)).say(Echo(message_id="m1", native_id="n7", text="other words"))
    assert last(stage).native_item_id == "n7"
    assert last(stage).content == (Text(text="words 1"),)
    assert stage.tape.drafts[-1].source == "agent"
    assert stage.tape.drafts[-1].raw is not None


def test_what_would_come_before_an_echo_makes_the_message_ours() -> None:
    stage = Stage().play(Write(echoed=True)).say(MESSAGE)
    assert last(stage).message_id == "m1"
    shown = stage.tape.drafts[-2]
    assert (shown.source, shown.raw) == ("daemon", None)
    stage.say(Echo(message_id="m1", native_id="n7"))
    assert len([item for item in completed(stage) if item.role == "user"]) == 1
    assert stage.tape.violations() == []


def test_a_message_that_is_never_echoed_is_shown_before_its_turn_ends() -> None:
    stage = Stage().play(Write(echoed=True)).say(EndTurn(outcome="completed"))
    assert last(stage).message_id == "m1"


def test_a_message_into_a_running_turn_comes_before_what_is_said_next() -> None:
    stage = Stage(steers=True).play(Write(echoed=False)).say(MESSAGE, Delta("a", "one"))
    stage.play(Write(echoed=True)).say(Delta("a", "two"))
    assert last(stage).message_id == "m2"
    assert stage.tape.types()[-1] == "item.delta"


def test_an_error_comes_after_the_message_it_answers() -> None:
    stage = Stage().play(Write(echoed=True)).say(Report(message="no"))
    assert stage.tape.types()[-2:] == ["item.completed", "error"]


def test_an_echo_before_the_acceptance_is_the_acceptance() -> None:
    stage = Stage()
    stage.interpreter.remember(Prompt(message_id="m1", text="words"))
    stage.say(Echo(message_id="m1", native_id="n1", text="words"))
    assert Delivered(message_id="m1") in stage.tape.others
    stage.say(Delivered(message_id="m1"))
    assert [item.message_id for item in completed(stage)] == ["m1"]
    assert stage.tape.violations() == []


@pytest.mark.parametrize(
    "answer",
    [MESSAGE, Delta("a", "one"), AskPermission(key="p", action="sing")],
    ids=lambda step: type(step).__name__,
)
def test_case_16_an_answer_without_a_word_about_the_message_comes_after_it(answer: Step) -> None:
    """Before, where the lines were lost in which an agent accepts a message, it came too late."""
    stage = Stage()
    stage.interpreter.remember(Prompt(message_id="m1", text="words"))
    stage.say(answer)
    assert Delivered(message_id="m1") in stage.tape.others
    assert stage.tape.types()[1:3] == ["turn.started", "item.started"]
    stage.say(Echo(message_id="m1", native_id="n1", text="words"), Delivered(message_id="m1"))
    assert [item.message_id for item in completed(stage) if item.role == "user"] == ["m1"]
    assert stage.tape.violations() == []


def test_case_16_a_turn_that_the_agent_begins_itself_takes_no_message() -> None:
    stage = Stage()
    stage.interpreter.remember(Prompt(message_id="m1", text="words"))
    stage.say(BeginTurn(), MESSAGE)
    assert stage.tape.others == []


def test_a_message_that_was_taken_back_is_not_shown() -> None:
    stage = Stage()
    stage.interpreter.remember(Prompt(message_id="m1", text="words"))
    stage.interpreter.forget("m1")
    stage.say(MESSAGE)
    assert stage.tape.others == []


def test_an_echo_of_what_nobody_wrote_is_a_system_item(stage: Stage) -> None:
    stage.say(Echo(message_id=None, text="reminder"))
    assert (last(stage).kind, last(stage).role) == ("system", "system")
    assert last(stage).content == (Text(text="reminder"),)


def test_a_persons_message_that_no_person_wrote_is_a_system_item(stage: Stage) -> None:
    words = StartItem(key="u", kind="message", role="user", content=(Text(text="/compact"),))
    stage.say(MESSAGE).say(*whole(words))
    assert (last(stage).kind, last(stage).role) == ("system", "system")
    assert last(stage).content == (Text(text="/compact"),)
    assert stage.tape.violations() == []


def test_attachments_are_parts_of_the_message() -> None:
    stage = Stage()
    files = tuple(
        Attachment(path=path, mime=mime)
        for path, mime in (("/a.txt", None), ("/b.png", "image/png"), ("/huge.png", "image/png"))
    )
    prompt = Prompt(message_id="m1", text="look", attachments=files, images={"/b.png": b"pixels"})
    stage.interpreter.remember(prompt)
    stage.interpreter.deliver("m1")
    given = stage.interpreter.take()
    stage.tape.record(given)
    (kept,) = (each for each in given if isinstance(each, StoreFile))
    assert kept.data == b"pixels"
    assert last(stage).content == (
        Text(text="look"),
        FileRef(path="/a.txt", action="read"),
        Image(path=kept.path, mime="image/png", filename="b.png"),
        FileRef(path="/huge.png", action="read"),
    )


def test_what_is_told_before_the_message_is_shown_comes_after_it() -> None:
    stage = Stage().play(Write(echoed=True))
    stage.say(Update(body=SessionUpdated(model="large")))
    assert stage.tape.types()[-1] == "turn.started"
    stage.say(Echo(message_id="m1"))
    assert stage.tape.types()[-2:] == ["item.completed", "session.updated"]


def test_what_was_told_before_is_not_told_again(stage: Stage) -> None:
    for _ in range(2):
        stage.say(Update(body=SessionUpdated(model="large")))
    assert len(stage.tape.of("session.updated")) == 1
