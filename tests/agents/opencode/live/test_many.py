"""Many sessions on one server: each stream is only its own, and a dead server loses nobody."""

from __future__ import annotations

from typing import Any

from tests.agents.live import Bench, Live, calls
from tests.agents.opencode.live.agent import servers
from tests.agents.watch import kill
from tests.testing.story import Event, items, of_type, outcome, said, text

SESSIONS, DIRECTORIES = 20, 10


def name(number: int) -> str:
    return f"zebra-{number:02}"


def steps(bench: Bench, number: int) -> list[dict[str, Any]]:
    """A command that is asked for, an answer, and an answer after the server died."""
    when = {"contains": name(number)}
    return [
        {**calls(bench.agent.shell(f"touch {name(number)}")), "when": when},
        {"text": f"{name(number)} is made.", "when": when},
        {"text": f"{name(number)} is back.", "when": when},
    ]


def only_its_own(number: int, events: list[Event]) -> None:
    """Nothing of another session is in these events."""
    others = {name(each) for each in range(SESSIONS)} - {name(number)}
    words = [text(item) for item in items(events, "message")]
    assert not [word for word in words if any(other in word for other in others)]


def test_twenty_sessions_in_ten_directories_on_one_server(opencode: Bench) -> None:
    first = opencode.session(*(step for n in range(SESSIONS) for step in steps(opencode, n)))
    folders = [first.folder / f"d{n}" for n in range(DIRECTORIES)]
    for folder in folders:
        folder.mkdir()
    sessions: list[Live] = [
        opencode.another(
            first.model, folder=first.folder, directory=str(folders[number % DIRECTORIES])
        )
        for number in range(SESSIONS)
    ]
    for number, live in enumerate(sessions):
        live.send(f"Make {name(number)}")
    for live in sessions:
        live.reply(live.until("permission.requested"), "once")
    for number, live in enumerate(sessions):
        live.until("turn.ended")
        assert (outcome(live.events()), said(live.events())) == (
            "completed",
            [f"{name(number)} is made."],
        )
        assert (folders[number % DIRECTORIES] / name(number)).exists()
    assert len(servers(first)) == 1
    kill(first)
    for number, live in enumerate(sessions):
        live.send(f"Where is {name(number)}?")
    for number, live in enumerate(sessions):
        live.until("turn.ended")
        events = live.conforms()
        assert said(events) == [f"{name(number)} is made.", f"{name(number)} is back."]
        assert of_type(events, "agent.unparsed") == []
        only_its_own(number, events)
    assert len(servers(first)) == 1
