"""Probes: sessions that end, go on, part, and change."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.schema.events import SessionEnded, SessionUpdated
from dragoman.schema.http import Resume
from dragoman.testing.conform.context import DONE, Stage
from dragoman.testing.conform.probe import expect

MEMORY = "I shall remember the heron."


def lifecycle(stage: Stage) -> None:
    """A session starts, is known to the agent by an id, and ends: by its word, if it has one."""
    talk = stage.open()
    talk.turn(stage.say(DONE))
    first = talk.events[0].type
    expect(first == "session.started", "session.started first", first)
    expect(talk.native_id, "the agent's own id of the session", "none")
    is_native = "sessionLifecycle" in stage.adapter.capabilities.native
    if is_native:
        talk.send(stage.leave())
        talk.until(lambda event: isinstance(event.data, SessionEnded), "session.ended")
    else:
        talk.end()
    last, source = talk.events[-1], "agent" if is_native else "daemon"
    ended = isinstance(last.data, SessionEnded) and last.source == source
    expect(ended, f"session.ended by the {source}, last", f"{last.type} by the {last.source}")


def resume(stage: Stage) -> None:
    """A session goes on where another one ended."""
    old = stage.open()
    old.turn(stage.say(MEMORY))
    old.end()
    new = stage.open(resume=Resume(session_id=old.id))
    new.turn(stage.say(DONE))
    expect(new.native_id == old.native_id, f"the native id {old.native_id}", new.native_id)
    _remembers(stage)


def fork(stage: Stage) -> None:
    """A session parts from another one, with its memory and an id of its own."""
    old = stage.open()
    old.turn(stage.say(MEMORY))
    new = stage.open(resume=Resume(session_id=old.id, fork=True))
    new.turn(stage.say(DONE))
    ids = (old.native_id, new.native_id)
    expect(None not in ids and ids[0] != ids[1], "a native id of its own", ids)
    _remembers(stage)


def _remembers(stage: Stage) -> None:
    knows = MEMORY in stage.asked() or stage.model is None
    expect(knows, f"the model to be told of {MEMORY!r}", "no word of it")


def variant(stage: Stage) -> None:
    """A model's variant is chosen for a session, and changed in it."""
    models = {model.id: model.variants or () for model in stage.adapter.models}
    listed = models.get(stage.adapter.default_model or "", ())
    expect(len(listed) > 1, "variants of the default model", listed or "none")
    first, second = listed[0], listed[-1]
    talk = stage.open(variant=first)
    talk.turn(stage.say(DONE))
    _asked_for(stage, first)
    talk.patch(variant=second)
    talk.turn(stage.say(DONE))
    updates = [
        event.data.variant
        for event in talk.events
        if isinstance(event.data, SessionUpdated) and event.data.variant is not UNSET
    ]
    expect(updates[-1:] == [second], f"session.updated with {second!r}", updates or "none")
    _asked_for(stage, second)


def _asked_for(stage: Stage, variant: str) -> None:
    """Look for the variant in what the model was asked, where the drill says it is."""
    if stage.model is None or stage.drill.variant is None:
        return
    found: Any = msgspec.json.decode(stage.asked())
    for step in stage.drill.variant.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    expect(found == variant, f"{variant!r} at {stage.drill.variant} in the request", repr(found))


def shared_process(stage: Stage) -> None:
    """Two sessions are served by one process."""
    for _ in range(2):
        stage.open().turn(stage.say(DONE))
    count = len(stage.runs())
    expect(count < 2, "one process for two sessions", f"{count} processes")
