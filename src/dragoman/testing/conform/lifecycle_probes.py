"""Probes: sessions that end, resume, fork and change."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.schema.events import SessionEnded, SessionUpdated
from dragoman.schema.http import Resume
from dragoman.testing.conform.context import DONE, ProbeContext
from dragoman.testing.conform.probe import expect

MEMORY = "I shall remember the heron."


def lifecycle(context: ProbeContext) -> None:
    """A session starts, is known to the agent by an id, and ends: by its word, if it has one."""
    talk = context.open()
    talk.turn(context.say(DONE))
    first = talk.events[0].type
    expect(first == "session.started", "session.started first", first)
    expect(talk.native_id, "the agent's own id of the session", "none")
    is_native = "sessionLifecycle" in context.adapter.capabilities.native
    if is_native:
        talk.send(context.leave())
        talk.until(lambda event: isinstance(event.data, SessionEnded), "session.ended")
    else:
        talk.end()
    last, source = talk.events[-1], "agent" if is_native else "daemon"
    ended = isinstance(last.data, SessionEnded) and last.source == source
    expect(ended, f"session.ended by the {source}, last", f"{last.type} by the {last.source}")


def resume(context: ProbeContext) -> None:
    """A session goes on where another one ended."""
    old = context.open()
    old.turn(context.say(MEMORY))
    old.end()
    new = context.open(resume=Resume(session_id=old.id))
    new.turn(context.say(DONE))
    expect(new.native_id == old.native_id, f"the native id {old.native_id}", new.native_id)
    _remembers(context)


def fork(context: ProbeContext) -> None:
    """A session parts from another one, with its memory and an id of its own."""
    old = context.open()
    old.turn(context.say(MEMORY))
    new = context.open(resume=Resume(session_id=old.id, fork=True))
    new.turn(context.say(DONE))
    ids = (old.native_id, new.native_id)
    expect(None not in ids and ids[0] != ids[1], "a native id of its own", ids)
    _remembers(context)


def _remembers(context: ProbeContext) -> None:
    knows = MEMORY in context.last_request() or context.model is None
    expect(knows, f"the model to be told of {MEMORY!r}", "no word of it")


def variant(context: ProbeContext) -> None:
    """A model's variant is chosen for a session, and changed in it."""
    models = {model.id: model.variants or () for model in context.adapter.models}
    listed = models.get(context.adapter.default_model or "") or context.probe_recipes.variants
    expect(len(listed) > 1, "variants of the default model", listed or "none")
    first, second = listed[0], listed[-1]
    talk = context.open(variant=first)
    talk.turn(context.say(DONE))
    _asked_for(context, first)
    talk.patch(variant=second)
    talk.turn(context.say(DONE))
    updates = [
        event.data.variant
        for event in talk.events
        if isinstance(event.data, SessionUpdated) and event.data.variant is not UNSET
    ]
    expect(updates[-1:] == [second], f"session.updated with {second!r}", updates or "none")
    _asked_for(context, second)


def _asked_for(context: ProbeContext, variant: str) -> None:
    """Look for the variant in what the model was asked, where the recipes say it is."""
    if context.model is None or context.probe_recipes.variant is None:
        return
    found: Any = msgspec.json.decode(context.last_request())
    for step in context.probe_recipes.variant.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    expect(
        found == variant,
        f"{variant!r} at {context.probe_recipes.variant} in the request",
        repr(found),
    )


def shared_process(context: ProbeContext) -> None:
    """Two sessions are served by one process."""
    for _ in range(2):
        context.open().turn(context.say(DONE))
    count = len(context.runs())
    expect(count < 2, "one process for two sessions", f"{count} processes")
