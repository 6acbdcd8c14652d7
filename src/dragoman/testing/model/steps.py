"""The vocabulary of a script: one step for each request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Deltas = str | tuple[str, ...]
"""A text that is cut into pieces for you, or exactly the pieces to send."""
Seconds = Annotated[float, Meta(ge=0)]
Tokens = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]
End = Literal["hang", "hang_in_block", "cut", "cut_in_block", "error", "error_in_block"]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a script: an unknown key is a mistake."""


class Block(Part, frozen=True, kw_only=True, tag_field="kind"):
    """Base of what a model says; the first key of a block tells its kind."""


class Thinking(Block, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning, before an answer or between tools."""

    thinking: Deltas
    """What is thought, or its summary."""
    raw: Deltas | None = None
    """Responses only: the reasoning itself, behind its summary."""


class Text(Block, frozen=True, kw_only=True, tag="text"):
    """Words for the user."""

    text: Deltas
    """What is said."""
    phase: Name | None = None
    """Responses only: `commentary` or `final_answer`."""


class Tool(Block, frozen=True, kw_only=True, tag="tool"):
    """A tool call; several in one step are parallel calls."""

    tool: Name
    """The tool's name, as the agent offers it."""
    input: dict[str, Any] = {}
    """The arguments."""
    raw: Deltas | None = None
    """The arguments verbatim, maybe broken, instead of `input`."""
    id: Name | None = None
    """The call's id; one is made if none is given."""
    namespace: Name | None = None
    """Responses: where the tool is from. Elsewhere the tool is called `<namespace>__<tool>`."""


class CustomTool(Block, frozen=True, kw_only=True, tag="custom_tool"):
    """A tool call with free text. Where the API has none, a call with `{"input": text}`."""

    custom_tool: Name
    """The tool's name, as the agent offers it."""
    input: Deltas = ""
    """The text."""
    id: Name | None = None
    """The call's id; one is made if none is given."""
    namespace: Name | None = None
    """Responses: where the tool is from. Elsewhere the tool is called `<namespace>__<tool>`."""


class Item(Block, frozen=True, kw_only=True, tag="item"):
    """Anything else in an API's own words, e.g. a web search. Where it has no items, nothing."""

    item: dict[str, Any]
    """Responses only: an item of the output, as it is when it is done; an id is made for it."""


class Gate(Block, frozen=True, kw_only=True, tag="gate"):
    """A pause between two blocks, until the gate is opened."""

    gate: Name
    """The gate's name."""


Said = Thinking | Text | Tool | CustomTool
AnyBlock = Said | Item | Gate


class Usage(Part, frozen=True, kw_only=True):
    """The tokens that a request cost."""

    input: Tokens = 100
    """Read, without those that the cache knew."""
    output: Tokens = 20
    """Written, with those of the reasoning."""
    cache_read: Tokens = 0
    """Read from the cache."""
    cache_write: Tokens = 0
    """Written into the cache."""
    reasoning: Tokens = 0
    """Those of `output` that were reasoning; OpenAI's APIs only."""


class HttpError(Part, frozen=True, kw_only=True):
    """An HTTP error instead of an answer; `error: 429` is short for `error: {status: 429}`."""

    status: Annotated[int, Meta(ge=400, le=599)]
    """The status."""
    type: str | None = None
    """The error's type; by default what the API uses for this status."""
    message: str = "a scripted error"
    """What went wrong."""
    code: str | None = None
    """The error's code; OpenAI's APIs only."""
    headers: dict[str, str] = {}
    """Further headers, e.g. `retry-after`."""


class StreamError(Part, frozen=True, kw_only=True):
    """An error in the middle of a stream."""

    type: str | None = None
    """The error's type; by default the API's word for an overloaded server."""
    message: str = "a scripted error"
    """What went wrong."""


class When(Part, frozen=True, kw_only=True):
    """Which requests a step is for; all that is given must hold."""

    contains: str | None = None
    """The last message of the user, tool results aside, has this in it."""
    subagent: bool | None = None
    """Whether the request is a subagent's, by its headers."""
    header: dict[str, str] = {}
    """Each of these headers is there and has this in it; `""` is in any."""
    model: str | None = None
    """The name of the model that is asked for has this in it."""


class Step(Part, frozen=True, kw_only=True):
    """The answer to one request."""

    text: Deltas | None = None
    """Short for a single block of text."""
    blocks: tuple[AnyBlock, ...] = ()
    """What the model says, in this order."""
    stop_reason: str | None = None
    """Why it stops: `end_turn`, `tool_use`, `max_tokens`, `refusal`; by default what fits."""
    usage: Usage = Usage()
    """The tokens."""
    delay_s: Seconds = 0.0
    """Seconds between two deltas."""
    before_s: Seconds = 0.0
    """Seconds before the first byte."""
    gate: Name | None = None
    """Pause before the last delta until this gate is opened."""
    gate_before: Name | None = None
    """Pause before the first byte until this gate is opened."""
    error: HttpError | None = None
    """An HTTP error instead of an answer."""
    end: End | None = None
    """What comes instead of a proper end, after the blocks or before the last one is closed."""
    stream_error: StreamError | None = None
    """The error of `end: error`."""
    times: Annotated[int, Meta(ge=1)] = 1
    """Serve the step so many times."""
    when: When = When()
    """Which requests it is for."""

    def content(self) -> tuple[AnyBlock, ...]:
        """What the model says, whichever way it was written."""
        return self.blocks if self.text is None else (Text(text=self.text),)

    def gates(self) -> set[str]:
        """The names of its gates."""
        inner = {block.gate for block in self.blocks if isinstance(block, Gate)}
        return inner | {name for name in (self.gate, self.gate_before) if name}

    def call_ids(self) -> list[str]:
        """The ids that its tool calls were given."""
        calls = [block for block in self.blocks if isinstance(block, Tool | CustomTool)]
        return [call.id for call in calls if call.id]
