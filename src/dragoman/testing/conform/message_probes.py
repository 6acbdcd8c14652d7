"""Probes: text, streaming, reasoning, errors, usage, attachments."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.schema.commands import Attachment
from dragoman.schema.events import ErrorRaised, ItemStarted, TurnEnded, Usage
from dragoman.schema.items import FileRef, Image, Status
from dragoman.testing.conform import query
from dragoman.testing.conform.context import DONE, ProbeContext
from dragoman.testing.conform.image import PNG
from dragoman.testing.conform.probe import expect

WORDS = "Hello there, friend."
PIECES = ("One ", "two ", "three ", "four.")
THOUGHT = "Let me see what this is about."


def text(context: ProbeContext) -> None:
    """Its words are a message, whole and unchanged."""
    turn = context.open().turn(context.say(WORDS))
    expect(query.text(turn) == WORDS, f"the message {WORDS!r}", repr(query.text(turn)))
    expect(query.outcome(turn) == "completed", "a completed turn", query.outcome(turn))


def streaming(context: ProbeContext) -> None:
    """A piece of a message is there before the message is complete."""
    talk = context.open()
    talk.send(context.stream(PIECES))
    talk.until(query.is_answer, "a delta while the message is written", last="turn.ended")
    context.open_gate()
    talk.rest()
    pieces = [event.data for event in talk.events if query.is_answer(event)]
    expect(len(pieces) > 1, "several deltas", f"{len(pieces)}")
    whole = "".join(delta.delta for delta in query.deltas(talk.events) if delta in pieces)
    said = query.text(talk.events)
    expect(whole == said, f"deltas that add up to {said!r}", repr(whole))


def item_started(context: ProbeContext) -> None:
    """The agent itself says that a message begins."""
    turn = context.open().turn(context.say(WORDS))
    sources = [
        event.source
        for event in turn
        if isinstance(event.data, ItemStarted) and event.data.item.role == "assistant"
    ]
    expect("agent" in sources, "item.started from the agent", sources or "none")


def reasoning(context: ProbeContext) -> None:
    """A thought is an item, apart from the answer."""
    turn = context.open().turn(context.think(THOUGHT))
    thought = query.reasoning(turn)
    wanted = thought == THOUGHT if context.model else bool(thought)
    expect(wanted, "a reasoning item with the thought", repr(thought))
    expect(query.text(turn), "an answer after it", "none")


def usage(context: ProbeContext) -> None:
    """A turn ends with what it used."""
    prompt = context.say(WORDS)
    if context.model is not None:
        counted = {"input": 1200, "output": 30, "cache_read": 1000}
        context.model.script({"text": WORDS, "usage": counted})
    turn = context.open().turn(prompt)
    used = next(event.data.usage for event in turn if isinstance(event.data, TurnEnded))
    if used is UNSET:
        used = Usage()
    counts = (used.input_tokens, used.cached_input_tokens, used.output_tokens)
    wanted = counts == (1200, 1000, 30) if context.model else all(counts[::2])
    expect(
        wanted, "1200 tokens read, 1000 cached, 30 written" if context.model else "tokens", counts
    )


def error(context: ProbeContext) -> None:
    """A failure is an error event and a failed turn, and the session goes on."""
    talk = context.open()
    turn = talk.turn(context.fail())
    errors = [event.data for event in turn if isinstance(event.data, ErrorRaised)]
    expect(errors, "an error event", f"a turn that {query.outcome(turn)}, without one")
    expect(errors[0].message and errors[0].code, "an error with message and code", errors[0])
    expect(query.outcome(turn) == "failed", "a failed turn", query.outcome(turn))
    turn = talk.turn(context.say(DONE))
    expect(
        query.text(turn) == DONE,
        "an answer in the next turn",
        repr(query.text(turn)),
    )


def status(context: ProbeContext) -> None:
    """What goes on shows as a status: a model that is asked again, for one."""
    turn = context.open().turn(context.retry())
    labels = [part.label for part in query.parts(query.items(turn, "status"), Status)]
    expect(labels, "a status item", "none")
    expect(query.outcome(turn) == "completed", "a completed turn", query.outcome(turn))


def attachment(context: ProbeContext) -> None:
    """Files that go with a message are shown with it, and reach the agent."""
    picture, note = context.workspace / "picture.png", context.workspace / "note.txt"
    picture.write_bytes(PNG)
    note.write_text("A note.\n")
    files = (Attachment(path=str(picture), mime="image/png"), Attachment(path=str(note)))
    turn = context.open().turn(context.say(DONE), *files)
    own = query.items(turn, "message", "user")
    shown = [image.filename for image in query.parts(own, Image)]
    shown += [file.path for file in query.parts(own, FileRef)]
    expect(shown == [picture.name, str(note)], "both files with the message", shown or "none")
    asked = context.last_request()
    expect("note.txt" in asked or not context.model, "the file's name told to the model", "none")
    expect('"image' in asked or not context.model, "an image sent to the model", "none")
