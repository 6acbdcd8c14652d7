"""What every dialect has in common: an answer is a row of stream frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from dragoman.testing.model.progress import Ids
from dragoman.testing.model.steps import CustomTool, Deltas, HttpError, Step, StreamError, Tool

PIECE = 12
"""How many characters a delta has, if the script does not say it."""
Event = dict[str, Any]


class StreamFrame(NamedTuple):
    """One event of a stream, or the name of a gate. What is `tail` brings it to its end."""

    kind: Literal["say", "delta", "gate", "tail"]
    event: Event


@dataclass(frozen=True)
class Reply:
    """What a dialect needs to know to put a step into its words."""

    step: Step
    model: str
    ids: Ids
    created: int
    """The time, in seconds, for the APIs that tell it."""
    with_usage: bool = True
    """Whether a stream tells its usage, where an API leaves that to the client."""


@dataclass(frozen=True)
class Dialect:
    """One model API."""

    name: str
    stream: Callable[[Reply], Iterator[StreamFrame]]
    """The beats of an answer, with the tail that the step's end asks for."""
    whole: Callable[[Reply], Event]
    """The answer as one document."""
    frame: Callable[[Event, int], bytes]
    """An event, the n-th of its stream, as bytes."""
    error: Callable[[HttpError], Event]
    """The body of an HTTP error."""
    last_frame: bytes = b""
    """What follows after a proper end."""


def arranged(frames: Iterator[StreamFrame], step: Step) -> list[StreamFrame]:
    """The beats that are really sent, by the way the step ends."""
    row = list(frames)
    body = [frame for frame in row if frame.kind != "tail"]
    tail = [frame for frame in row if frame.kind == "tail"]
    end = step.end or ""
    if end.endswith("_in_block"):
        body = body[: last_delta(body) + 1]
    return body + tail if not end or end.startswith("error") else body


def last_delta(frames: list[StreamFrame]) -> int:
    """Where the last delta is; -1 if there is none."""
    return max((at for at, frame in enumerate(frames) if frame.kind == "delta"), default=-1)


def failure(step: Step) -> StreamError | None:
    """The error that a stream ends with."""
    if step.end is None or not step.end.startswith("error"):
        return None
    return step.stream_error or StreamError()


def pieces(deltas: Deltas) -> tuple[str, ...]:
    """A text in the pieces that it is sent in; at least one."""
    if not isinstance(deltas, str):
        return deltas or ("",)
    return tuple(deltas[at : at + PIECE] for at in range(0, len(deltas), PIECE)) or ("",)


def joined(deltas: Deltas) -> str:
    """The whole text."""
    return deltas if isinstance(deltas, str) else "".join(deltas)


def arguments(call: Tool) -> Deltas:
    """A call's arguments as JSON, or what the script has instead."""
    return call.raw if call.raw is not None else msgspec.json.encode(call.input).decode()


def as_tool(call: CustomTool) -> Tool:
    """The nearest thing to a custom tool, for an API that has none."""
    text = {"input": joined(call.input)}
    return Tool(tool=call.custom_tool, input=text, id=call.id, namespace=call.namespace)


def full_name(call: Tool) -> str:
    """The name of a tool where an API has no namespaces."""
    return f"{call.namespace}__{call.tool}" if call.namespace else call.tool


def sse(event: bytes, name: str | None = None) -> bytes:
    """A frame of server-sent events."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%bdata: %b\n\n" % (head, event)
