"""JSON-RPC recordings are played as one session of the process would have heard them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.adapter import EVERYONE, Adapter
from dragoman.schema.commands import AnswerPermission, Command, Interrupt, Prompt
from dragoman.schema.events import Approver, ItemCompleted, TurnEnded
from dragoman.schema.items import Text
from dragoman.testing.conformance import check
from dragoman.testing.recordings.play import PlayResult, play, unaccounted
from dragoman.testing.recordings.transcript import Ending, Line, Meta, Run, Transcript, load
from dragoman.testing.unaccounted import said_in, unaccounted_in
from tests.shared_agent import DEDICATED, SHARED, SHARED_COMMAND, SharedAgentDaemon
from tests.testing.story import Event, Talk

PERSON = Approver(token="default", scope="admin")


def command_of(line: bytes) -> Command | None:
    match json.loads(line):
        case {"method": "turn/start", "params": {"input": str(text)}}:
            return Prompt(message_id="", text=text)
        case {"method": "turn/interrupt"}:
            return Interrupt()
        case {"id": key, "result": {"decision": reply}}:
            return AnswerPermission(key=json.dumps(key), reply=reply, approver=PERSON)
        case _:
            return None


def into(**message: Any) -> Line:
    return Line(t=0, dir="in", data=json.dumps(message).encode())


def out(**message: Any) -> Line:
    return Line(t=0, dir="out", data=json.dumps(message).encode())


def tell(method: str, thread: str | None, **params: Any) -> Line:
    about = {} if thread is None else {"threadId": thread}
    return out(method=method, params={**about, **params})


GREETING = (
    into(id=0, method="initialize", params={"client": "another"}),
    out(id=0, result={"name": "shared"}),
    into(method="initialized"),
)


def begins(number: int, thread: str) -> tuple[Line, ...]:
    return (
        into(id=number, method="thread/start", params={"more": "than ours"}),
        out(id=number, result={"threadId": thread}),
    )


def turn(number: int, thread: str, text: str) -> tuple[Line, ...]:
    return (
        into(id=number, method="turn/start", params={"threadId": thread, "input": text}),
        out(id=number, result={"turnId": "t"}),
        tell("turn/started", thread),
        tell("item/started", thread, itemId=f"{thread}-{number}"),
        tell("item/delta", thread, itemId=f"{thread}-{number}", text=text),
        tell("item/completed", thread, itemId=f"{thread}-{number}"),
        tell("turn/completed", thread),
    )


def played(*entries: Line, adapter: Adapter = SHARED, code: int | None = None) -> PlayResult:
    ending = None if code is None else Ending(t=1, code=code, signal=None)
    return conforming(adapter, (Run(meta=Meta(cwd="/"), entries=entries, ending=ending),))


def conforming(adapter: Adapter, transcript: Transcript) -> PlayResult:
    found = play(adapter, transcript, command_of)
    violations = check(found.events, strict=True)
    assert [each for each in violations if each.rule != "everything_parsed"] == []
    return found


def said(found: PlayResult, role: str = "assistant") -> list[str]:
    completed = [e.data.item for e in found.events if isinstance(e.data, ItemCompleted)]
    parts = [part for item in completed if item.role == role for part in item.content]
    return [part.text for part in parts if isinstance(part, Text)]


def outcomes(found: PlayResult) -> list[str]:
    return [str(e.data.outcome) for e in found.events if isinstance(e.data, TurnEnded)]


def methods(lines: tuple[bytes, ...]) -> list[str]:
    return [json.loads(line).get("method") for line in lines]


def test_a_recorded_reply_is_the_reply_to_our_request() -> None:
    found = played(*GREETING, *begins(1, "a"), *turn(2, "a", "say hello"))
    assert said(found, "user") == ["say hello"]
    assert said(found) == ["say hello"]
    assert outcomes(found) == ["completed"]
    assert {event.native_session_id for event in found.events[3:]} == {"a"}
    assert (found.strays, found.unanswered) == ((), ())
    assert unaccounted(SHARED, found) == []


def test_the_answer_to_the_greeting_is_the_processs_own() -> None:
    found = played(*GREETING, tell("config/warning", None), *begins(1, "a"))
    assert [json.loads(line).get("result") for line in found.aside] == [{"name": "shared"}, None]
    assert [json.loads(line)["result"] for line in found.native_lines] == [{"threadId": "a"}]


def test_the_agents_ids_and_ours_are_never_confused() -> None:
    ask = out(id=2, method="approval/ask", params={"threadId": "a"})
    first, rest = turn(2, "a", "ask")[:3], turn(2, "a", "ask")[3:]
    found = played(
        *GREETING, *begins(1, "a"), *first, ask, into(id=2, result={"decision": "once"}), *rest
    )
    types = [event.type for event in found.events]
    assert types.count("permission.requested") == types.count("permission.resolved") == 1
    assert outcomes(found) == ["completed"]
    assert found.unanswered == ()


def test_only_the_first_thread_is_ours() -> None:
    one, other = turn(3, "a", "say mine"), turn(4, "b", "say theirs")
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    found = played(*GREETING, *begins(1, "a"), *begins(2, "b"), *mixed)
    assert said(found) == ["say mine"]
    assert said(found, "user") == ["say mine"]
    assert unaccounted(SHARED, found) == []
    assert any(b"theirs" in line for line in found.aside)
    assert not any(b"theirs" in line for line in found.native_lines)


def test_what_is_said_before_the_thread_is_claimed_is_held_for_it() -> None:
    early = tell("thread/greeted", "a", itemId="g", text="early")
    start, reply = begins(1, "a")
    found = played(*GREETING, start, early, reply)
    assert "item.completed" in [event.type for event in found.events]
    assert unaccounted(SHARED, found) == []


def test_what_is_for_everyone_is_heard_by_a_session_that_is_there() -> None:
    def route(message: bytes) -> tuple[str, ...]:
        return SHARED.route(message) if SHARED.route and b"hall" not in message else (EVERYONE,)

    adapter: Adapter = msgspec.structs.replace(SHARED, route=route)
    early, later = tell("hall/open", None), tell("hall/cold", None)
    found = played(*GREETING, early, *begins(1, "a"), later, adapter=adapter)
    assert methods(found.aside)[1:] == ["hall/open"]
    assert [event.type for event in found.events][-1] == "agent.unparsed"
    run = Run(meta=Meta(), entries=(*GREETING, early, *begins(1, "a"), later))
    assert [b"hall" in line for line in said_in(adapter, run)] == [False, True]


def test_what_nobody_claims_has_vanished() -> None:
    found = played(*GREETING, *begins(1, "a"), *turn(2, "a", "x"), tell("item/delta", "child"))
    assert methods(tuple(unaccounted(SHARED, found))) == ["item/delta"]


def test_requests_that_ours_would_not_make_are_strays_and_their_replies_aside() -> None:
    found = played(
        *GREETING,
        *begins(1, "a"),
        into(id=7, method="thread/list", params={}),
        out(id=7, result={"data": []}),
        *turn(8, "a", "say hello"),
    )
    assert methods(found.strays) == ["thread/list"]
    assert outcomes(found) == ["completed"]
    assert unaccounted(SHARED, found) == []


def test_a_request_that_the_recording_lacks_stays_unanswered() -> None:
    found = played(*GREETING, tell("config/warning", None))
    assert methods(found.unanswered) == ["thread/start"]


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_no_json_is_nobodys_on_a_shared_process_only(shared: bool) -> None:
    garbage = Line(t=0, dir="out", data=b"this is no JSON")
    adapter = SHARED if shared else DEDICATED
    found = played(*GREETING, *begins(1, "a"), garbage, adapter=adapter)
    unparsed = [event for event in found.events if event.type == "agent.unparsed"]
    assert (len(unparsed), found.aside.count(garbage.data)) == ((0, 1) if shared else (1, 0))


def test_one_on_a_process_of_its_own_greets_and_hears_everything() -> None:
    found = played(*GREETING, *begins(1, "a"), *turn(2, "b", "say hello"), adapter=DEDICATED)
    assert said(found) == ["say hello"]
    assert found.aside == ()
    assert found.unanswered == ()


def test_a_lost_process_fails_the_turn_and_the_next_one_resumes() -> None:
    resumes = (
        into(id=1, method="thread/resume", params={"threadId": "a"}),
        out(id=1, result={"threadId": "a"}),
    )
    broken = Run(
        meta=Meta(cwd="/"),
        entries=(*GREETING, *begins(1, "a"), *turn(2, "a", "crash")[:4]),
        ending=Ending(t=1, code=3, signal=None),
    )
    mended = Run(meta=Meta(cwd="/"), entries=(*GREETING, *resumes, *turn(2, "a", "say again")))
    found = conforming(SHARED, (broken, mended))
    assert outcomes(found) == ["failed", "completed"]
    assert found.unanswered == ()


# --- As a daemon records it, and as it is played back to one ---


def conversation(folder: Path, command: list[str]) -> tuple[list[Event], list[Event]]:
    """The events of two sessions with a shared that is started so."""
    folder.mkdir()
    words = shlex.join([sys.executable, "-m", "dragoman.cli.main", *command])
    env = {"SHARED_AGENT_HOME": str(folder), "DRAGOMAN_SHARED_COMMAND": words}
    daemon = SharedAgentDaemon(folder / "data", env=env)
    daemon.start()
    try:
        one, other = Talk(daemon, agent="shared"), Talk(daemon, agent="shared")
        one.turn("say hello")
        other.turn("stranger")
        one.send("ask_for more")
        one.reply(one.until("permission.requested"), "once")
        one.until("turn.ended")
        return one.events(raw=True), other.events(raw=True)
    finally:
        daemon.stop()


def test_what_a_daemon_recorded_is_played_as_its_first_session(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    one, other = conversation(
        tmp_path / "real", ["record", "--out", str(tape), "--", *SHARED_COMMAND]
    )
    (run,) = load(tape.read_bytes())
    found = conforming(SHARED, (run,))
    types, expected = [event.type for event in found.events], [event["type"] for event in one]
    assert [each for each in types if each in expected][: len(expected)] == expected
    assert said(found) == ["hello", "more once"]
    # What is said to nobody.
    assert methods(tuple(unaccounted(SHARED, found))) == ["item/delta", "client/odd"]
    lost = unaccounted_in(SHARED, [*one, *other], said_in(SHARED, run))
    assert methods(tuple(lost)) == ["item/delta", "client/odd"]
    again, _ = conversation(tmp_path / "replayed", ["replay", str(tape)])
    assert [event["type"] for event in again] == expected
