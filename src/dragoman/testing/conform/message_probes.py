"""Probes: what an agent says and thinks, what it costs, and how it fails."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.schema.commands import Attachment
from dragoman.schema.events import ErrorRaised, ItemStarted, TurnEnded, Usage
from dragoman.schema.items import FileRef, Image, Status
from dragoman.testing.conform import query
from dragoman.testing.conform.context import DONE, Stage
from dragoman.testing.conform.image import PNG
from dragoman.testing.conform.probe import expect

WORDS = "Hello there, friend."
PIECES = ("One ", "two ", "three ", "four.")
THOUGHT = "Let me see what this is about."


def text(stage: Stage) -> None:
    """Its words are a message, whole and unchanged."""
    turn = stage.open().turn(stage.say(WORDS))
    expect(query.said(turn) == WORDS, f"the message {WORDS!r}", repr(query.said(turn)))
    expect(query.outcome(turn) == "completed", "a completed turn", query.outcome(turn))


def streaming(stage: Stage) -> None:
    """A piece of a message is there before the message is complete."""
    talk = stage.open()
    talk.send(stage.stream(PIECES))
    talk.until(query.is_answer, "a delta while the message is written", last="turn.ended")
    stage.open_gate()
    talk.rest()
    pieces = [event.data for event in talk.events if query.is_answer(event)]
    expect(len(pieces) > 1, "several deltas", f"{len(pieces)}")
    whole = "".join(delta.delta for delta in query.deltas(talk.events) if delta in pieces)
    said = query.said(talk.events)
    expect(whole == said, f"deltas that add up to {said!r}", repr(whole))


def item_started(stage: Stage) -> None:
    """The agent itself says that a message begins."""
    turn = stage.open().turn(stage.say(WORDS))
    sources = [
        event.source
        for event in turn
        if isinstance(event.data, ItemStarted) and event.data.item.role == "assistant"
    ]
    expect("agent" in sources, "item.started from the agent", sources or "none")


def reasoning(stage: Stage) -> None:
    """A thought is an item, apart from the answer."""
    turn = stage.open().turn(stage.think(THOUGHT))
    thought = query.thought(turn)
    wanted = thought == THOUGHT if stage.model else bool(thought)
    expect(wanted, "a reasoning item with the thought", repr(thought))
    expect(query.said(turn), "an answer after it", "none")


def usage(stage: Stage) -> None:
    """A turn ends with what it used."""
    prompt = stage.say(WORDS)
    if stage.model is not None:
        counted = {"input": 1200, "output": 30, "cache_read": 1000}
        stage.model.script({"text": WORDS, "usage": counted})
    turn = stage.open().turn(prompt)
    used = next(event.data.usage for event in turn if isinstance(event.data, TurnEnded))
    if used is UNSET:
        used = Usage()
    counts = (used.input_tokens, used.cached_input_tokens, used.output_tokens)
    wanted = counts == (1200, 1000, 30) if stage.model else all(counts[::2])
    expect(wanted, "1200 tokens read, 1000 cached, 30 written" if stage.model else "tokens", counts)


def error(stage: Stage) -> None:
    """A failure is an error event and a failed turn, and the session goes on."""
    talk = stage.open()
    turn = talk.turn(stage.fail())
    errors = [event.data for event in turn if isinstance(event.data, ErrorRaised)]
    expect(errors, "an error event", f"a turn that {query.outcome(turn)}, without one")
    expect(errors[0].message and errors[0].code, "an error with message and code", errors[0])
    expect(query.outcome(turn) == "failed", "a failed turn", query.outcome(turn))
    turn = talk.turn(stage.say(DONE))
    expect(
        query.said(turn) == DONE,
        "an answer in the next turn",
        repr(query.said(turn)),
    )


def status(stage: Stage) -> None:
    """What goes on shows as a status: a model that is asked again, for one."""
    turn = stage.open().turn(stage.retry())
    labels = [part.label for part in query.parts(query.items(turn, "status"), Status)]
    expect(labels, "a status item", "none")
    expect(query.outcome(turn) == "completed", "a completed turn", query.outcome(turn))


def attachment(stage: Stage) -> None:
    """Files that go with a message are shown with it, and reach the agent."""
    picture, note = stage.workspace / "picture.png", stage.workspace / "note.txt"
    picture.write_bytes(PNG)
    note.write_text("A note.\n")
    files = (Attachment(path=str(picture), mime="image/png"), Attachment(path=str(note)))
    turn = stage.open().turn(stage.say(DONE), *files)
    own = query.items(turn, "message", "user")
    shown = [image.filename for image in query.parts(own, Image)]
    shown += [file.path for file in query.parts(own, FileRef)]
    expect(shown == [picture.name, str(note)], "both files with the message", shown or "none")
    asked = stage.asked()
    expect("note.txt" in asked or not stage.model, "the file's name told to the model", "none")
    expect('"image' in asked or not stage.model, "an image sent to the model", "none")
