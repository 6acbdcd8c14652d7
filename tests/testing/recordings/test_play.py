"""A recording that is played without a process becomes what a daemon would have made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Adapter, Spec
from dragoman.facts import Capabilities, Exit, IgnoredMessage, Launch
from dragoman.schema.commands import AnswerPermission, Command, Prompt
from dragoman.schema.events import Approver, ItemCompleted, TurnEnded
from dragoman.schema.http import ModeInfo
from dragoman.schema.items import Text
from dragoman.steps import (
    AskPermission,
    Bind,
    Echo,
    EndTurn,
    Report,
    Resolve,
    Send,
    StartItem,
    Step,
    whole,
)
from dragoman.testing.conformance import check
from dragoman.testing.recordings.play import PlayResult, play, share, spec_of, unaccounted
from dragoman.testing.recordings.transcript import Ending, Eof, Line, Meta, Run
from dragoman.testing.unaccounted import Share, share_in, unaccounted_in


class Converter:
    """Greets, echoes prompts under ids of its own, and asks."""

    def __init__(self, spec: Spec) -> None:
        self._greetings = 0

    def steers(self) -> bool:
        return False

    def on_open(self, spec: Spec) -> Iterator[Step]:
        self._greetings += 1
        yield Send(encode(type="hi", id=f"our-greeting-{self._greetings}"))

    def command(self, command: Command) -> Iterator[Step]:
        match command:
            case Prompt(message_id=message_id, text=text):
                yield Send(encode(type="prompt", id=f"ours-{message_id}", text=text))
            case AnswerPermission(key=key):
                yield Send(encode(type="answer", id=key))
                yield Resolve(command=command)

    def receive(self, message: bytes) -> Iterator[Step]:
        said = msgspec.json.decode(message)
        match said["type"]:
            case "welcome":
                yield Bind(said["session"])
                if not said["to_id"].startswith("our-greeting"):
                    yield Report(message=f"{said['to_id']} was not our greeting")
            case "echo":
                ours = said["of"].removeprefix("ours-")
                yield Echo(message_id=ours, text=said["text"])
            case "say":
                text = (Text(text=said["text"]),)
                yield from whole(
                    StartItem(key=said["text"], kind="message", role="assistant", content=text)
                )
            case "ask":
                yield AskPermission(key=said["id"], action="run")
            case "done":
                yield EndTurn(outcome="completed")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        return iter(())


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    return Launch(argv=command, cwd=spec.directory)


ADAPTER = Adapter(
    id="parrot",
    name="Parrot",
    event_prefix="parrot",
    capabilities=Capabilities(native=frozenset(), shown=frozenset({"resume"})),
    command=("parrot",),
    modes=(ModeInfo(id="build", name="Build", description=""),),
    ignored=(IgnoredMessage(where={"type": "welcome"}, why="its id is on every event"),
           IgnoredMessage(where={"type": "tick", "n": 1}, why="the first tick says nothing")),
    launch=launch,
    converter=Converter,
    terms={},
)  # fmt: skip


def command_of(line: bytes) -> Command | None:
    said = msgspec.json.decode(line)
    match said["type"]:
        case "prompt":
            return Prompt(message_id="made up", text=said["text"])
        case "answer":
            approver = Approver(token="t", scope="s")
            return AnswerPermission(key=said["id"], reply="once", approver=approver)
        case _:
            return None


def encode(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def into(**fields: Any) -> Line:
    return Line(t=0, dir="in", data=encode(**fields))


def out(**fields: Any) -> Line:
    return Line(t=0, dir="out", data=encode(**fields))


GREETING = (
    into(type="hi", id="r1"),
    out(type="welcome", session="n1", to_id="r1"),
)
PROMPT = (
    into(type="prompt", id="recorded-id", text="good day"),
    out(type="echo", of="recorded-id", text="good day"),
    out(type="say", text="hello"),
)


def a_run(*entries: Line | Eof, code: int | None = 0) -> Run:
    ending = None if code is None else Ending(t=1, code=code, signal=None)
    return Run(meta=Meta(cwd="/workspace"), entries=entries, ending=ending)


def played(*runs: Run, spec: Spec | None = None) -> PlayResult:
    found = play(ADAPTER, runs, command_of, spec)
    violations = check(found.events, strict=True)
    assert [each for each in violations if each.rule != "everything_parsed"] == []
    return found


def types(found: PlayResult) -> list[str]:
    return [event.type for event in found.events]


def outcomes(found: PlayResult) -> list[str]:
    return [str(e.data.outcome) for e in found.events if isinstance(e.data, TurnEnded)]


def prompts(found: PlayResult) -> list[str]:
    completed = [e.data.item for e in found.events if isinstance(e.data, ItemCompleted)]
    return [str(item.message_id) for item in completed if item.role == "user"]


def test_what_the_agent_says_about_our_lines_names_what_we_sent() -> None:
    found = played(a_run(*GREETING, *PROMPT, out(type="done"), Eof(t=1)))
    assert "error" not in types(found)
    assert found.native_lines[0] == b'{"type":"welcome","session":"n1","to_id":"our-greeting-1"}'
    assert prompts(found) == ["msg_1"]
    assert (found.strays, found.unanswered) == ((), ())
    assert outcomes(found) == ["completed"]


def test_ids_and_times_are_the_same_in_every_run() -> None:
    run = a_run(*GREETING, *PROMPT)
    assert played(run) == played(run)
    assert {event.event_id for event in played(run).events} >= {"evt_1", "evt_2"}


def test_each_event_keeps_the_line_that_caused_it() -> None:
    found = played(a_run(*GREETING, *PROMPT))
    for event, cause in zip(found.events, found.causes, strict=True):
        raw = None if cause is None else msgspec.json.decode(found.native_lines[cause])
        assert event.raw == raw
    told = [event.raw and event.raw["type"] for event in found.events]
    assert told[:8] == [None, "echo", "echo", "echo", "echo", "say", "say", "say"]
    assert set(told[8:]) == {None}


def test_a_process_that_dies_in_a_turn_fails_it_and_the_next_goes_on() -> None:
    found = played(
        a_run(*GREETING, *PROMPT, Line(t=0, dir="err", data=b"oh"), code=3),
        a_run(into(type="hi", id="r1"), out(type="welcome", session="n1", to_id="r1"), *PROMPT,
              out(type="done")),
    )  # fmt: skip
    assert outcomes(found) == ["failed", "completed"]
    (error,) = [event.data for event in found.events if event.type == "error"]
    assert error.details["exit_code"] == 3  # type: ignore[attr-defined]
    assert error.details["stderr"].head == "oh"  # type: ignore[attr-defined]


SECOND = into(type="prompt", id="second-id", text="and then?")


def test_a_message_that_is_lost_with_its_process_is_the_same_when_it_is_sent_again() -> None:
    echo = out(type="echo", of="second-id", text="and then?")
    found = played(a_run(*GREETING, *PROMPT, SECOND, code=1), a_run(*GREETING, SECOND, echo))
    assert prompts(found) == ["msg_1", "msg_2"]
    assert outcomes(found) == ["failed", "failed"]


def test_a_message_that_the_agent_never_accepted_still_gets_its_turn() -> None:
    found = played(a_run(*GREETING, PROMPT[0], code=1))
    assert prompts(found) == ["msg_1"]
    assert outcomes(found) == ["failed"]


@pytest.mark.parametrize("code", [None, 0])
def test_what_is_open_when_the_input_is_closed_ends_as_when_the_daemon_stops(
    code: int | None,
) -> None:
    found = played(a_run(*GREETING, *PROMPT, Eof(t=1), code=code))
    assert outcomes(found) == ["interrupted"]
    assert "session.ended" not in types(found)


def test_an_answer_that_a_rule_gave_is_not_given_twice() -> None:
    run = a_run(*GREETING, *PROMPT, out(type="ask", id="q1"), into(type="answer", id="q1"))
    spec = msgspec.structs.replace(spec_of(ADAPTER, run.meta), permission_mode="bypass")
    for given, rule in ((None, None), (spec, "mode:bypass")):
        found = played(run, spec=given)
        (resolved,) = [event.data for event in found.events if event.type == "permission.resolved"]
        approver = resolved.approver  # type: ignore[attr-defined]
        assert (approver.rule or None) == rule
        assert (found.strays, found.unanswered) == ((), ())


def test_lines_that_others_sent_are_strays() -> None:
    stray = into(type="status", id="x")
    assert played(a_run(*GREETING, stray)).strays == (stray.data,)
    assert len(played(a_run(out(type="say", text="a"))).unanswered) == 1


# --- Nothing vanishes ---


def test_lines_without_an_event_are_unparsed_unless_they_are_noise() -> None:
    ticks = [out(type="tick", n=n) for n in (1, True, 2)]
    lost = out(type="tick")
    found = played(a_run(*GREETING, *PROMPT, out(type="say", text="hello"), *ticks, lost))
    expected = [ticks[1].data, ticks[2].data, lost.data]
    kept = [event for event in found.events if event.type == "agent.unparsed"]
    assert [event.raw for event in kept] == [json.loads(line) for line in expected]
    assert unaccounted(ADAPTER, found) == []
    assert share(ADAPTER, found) == Share(shown=6, ignored=2, unaccounted=0)
    served = json.loads(msgspec.json.encode(found.events))
    assert share_in(ADAPTER, served, found.native_lines) == share(ADAPTER, found)
    without = [event for event in served if event["type"] != "agent.unparsed"]
    assert unaccounted_in(ADAPTER, without, found.native_lines) == expected
    counted = share_in(ADAPTER, without, found.native_lines)
    assert str(counted) == "3 shown (38%), 2 noise, 3 vanished"


def test_the_same_line_twice_counts_twice() -> None:
    twice = out(type="echo", of="ours-msg_1", text="good day")
    found = played(a_run(*GREETING, *PROMPT, twice, twice))
    assert [event.type for event in found.events].count("agent.unparsed") == 2
    assert unaccounted(ADAPTER, found) == []


def test_a_line_that_is_no_json_is_shown_as_unparsed() -> None:
    found = played(a_run(*GREETING, Line(t=0, dir="out", data=b"\xff oh")))
    assert types(found)[-1] == "agent.unparsed"
    assert unaccounted(ADAPTER, found) == []
    as_served = json.loads(msgspec.json.encode(found.events))
    assert unaccounted_in(ADAPTER, as_served, found.native_lines) == []


def test_case_16_a_defect_of_a_converter_is_raised_where_a_recording_is_played() -> None:
    """Before, a recording with such a message was fine as long as it was expected as unparsed."""
    with pytest.raises(KeyError, match="session"):
        played(a_run(GREETING[0], out(type="welcome")))
