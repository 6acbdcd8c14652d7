"""The mock agent's own words: steps, one JSON object a line, told apart by `type`."""

from __future__ import annotations

import msgspec

from dragoman.schema.events import SessionUpdated
from dragoman.steps import (
    AskPermission,
    AskQuestion,
    BeginTurn,
    Bind,
    CompleteItem,
    Delta,
    EndSession,
    EndTurn,
    Report,
    StartItem,
    Update,
    Withdraw,
)
from dragoman.wire import counts
from dragoman.wire import decode as wire

Line = (
    Delta
    | StartItem
    | CompleteItem
    | BeginTurn
    | EndTurn
    | AskPermission
    | AskQuestion
    | Withdraw
    | Report
    | Update
    | EndSession
    | Bind
)
"""What it may say. What is sent to it, or told about people, is not its to say."""

_line: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def decode(line: bytes) -> Line:
    """Decode one line. Raise only msgspec errors."""
    step = wire.decode(line, _line)
    if getattr(step, "source", "agent") != "agent":
        raise msgspec.ValidationError("no agent speaks for the daemon")
    if isinstance(step, Update):
        _check(step.body)
    return step


def _check(body: SessionUpdated) -> None:
    if body != SessionUpdated(model=body.model, context=body.context):
        raise msgspec.ValidationError("it may tell its model and its context, and nothing else")
    sizes = (body.context.used, body.context.window) if body.context else ()
    if any(counts.tokens(size) is None for size in sizes):
        raise msgspec.ValidationError("no context is of such a size")
