"""Structs of the items that a Codex thread is made of, and how they are decoded."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import decode as decode_json


class Item(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """Base of all items."""

    id: str


class UserMessage(Item, frozen=True, kw_only=True, tag="userMessage"):
    """Input to the model; `client_id` is the id that we gave a person's message."""

    client_id: str | None = None
    content: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """All its text."""
        texts = (part.get("text") for part in self.content if isinstance(part, dict))
        return "\n".join(text for text in texts if isinstance(text, str))


class AgentMessage(Item, frozen=True, kw_only=True, tag="agentMessage"):
    """A message of the model; nobody waits for answers to `questions` that come with it."""

    text: str = ""
    phase: str | None = None
    questions: Any = None


class Plan(Item, frozen=True, kw_only=True, tag="plan"):
    """The plan that the model proposes."""

    text: str = ""


class Reasoning(Item, frozen=True, kw_only=True, tag="reasoning"):
    """The model's reasoning: its summary, and its raw text."""

    summary: tuple[str, ...] = ()
    content: tuple[str, ...] = ()


class Tool(Item, frozen=True, kw_only=True):
    """Base of items that are tool calls."""


class CommandExecution(Tool, frozen=True, kw_only=True, tag="commandExecution"):
    """A command."""

    command: str = ""
    cwd: str | None = None
    status: str = "inProgress"
    source: str | None = None
    process_id: str | None = None
    exit_code: int | None = None
    aggregated_output: str | None = None
    duration_ms: int | None = None
    command_actions: Any = None


class ChangeKind(Struct, frozen=True, kw_only=True):
    """What happens to a file: add, delete, update."""

    type: str = "update"
    move_path: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """One file of a patch; `diff` is the whole content where it is added or deleted."""

    path: str
    kind: ChangeKind = ChangeKind()
    diff: str = ""


class FileChange(Tool, frozen=True, kw_only=True, tag="fileChange"):
    """A patch."""

    changes: tuple[Change, ...] = ()
    status: str = "inProgress"


class McpResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of an MCP server's tool."""

    content: tuple[Any, ...] = ()
    structured_content: Any = None


class ErrorMessage(Struct, frozen=True, kw_only=True):
    """An error's message."""

    message: str = ""


class McpToolCall(Tool, frozen=True, kw_only=True, tag="mcpToolCall"):
    """A call of an MCP server's tool."""

    server: str = ""
    tool: str = ""
    arguments: Any = None
    status: str = "inProgress"
    result: McpResult | None = None
    error: ErrorMessage | None = None
    duration_ms: int | None = None


class DynamicToolCall(Tool, frozen=True, kw_only=True, tag="dynamicToolCall"):
    """A call of a tool that a client or a part of Codex offers."""

    tool: str = ""
    namespace: str | None = None
    arguments: Any = None
    status: str = "inProgress"
    content_items: tuple[Any, ...] | None = None
    success: bool | None = None
    duration_ms: int | None = None


class CollabAgentToolCall(Tool, frozen=True, kw_only=True, tag="collabAgentToolCall"):
    """A call that starts, messages, waits for or closes subagents."""

    tool: str = ""
    status: str = "inProgress"
    prompt: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    receiver_thread_ids: tuple[str, ...] = ()
    agents_states: dict[str, Any] = {}


class SubAgentActivity(Item, frozen=True, kw_only=True, tag="subAgentActivity"):
    """A subagent changed its state."""

    kind: str = ""
    agent_thread_id: str = ""
    agent_path: str = ""
    model: str | None = None


class WebSearch(Tool, frozen=True, kw_only=True, tag="webSearch"):
    """A web search, or a page that the model reads."""

    query: str = ""
    action: Any = None
    results: Any = None


class ImageView(Tool, frozen=True, kw_only=True, tag="imageView"):
    """The model looks at an image."""

    path: str = ""


class ImageGeneration(Tool, frozen=True, kw_only=True, tag="imageGeneration"):
    """The model makes an image; `result` is its bytes in base64."""

    status: str = ""
    revised_prompt: str | None = None
    result: str | None = None
    saved_path: str | None = None
    failure: Any = None


class Sleep(Item, frozen=True, kw_only=True, tag="sleep"):
    """The model waits."""

    duration_ms: float = 0


class EnteredReviewMode(Item, frozen=True, kw_only=True, tag="enteredReviewMode"):
    """A review begins; `review` says of what."""

    review: str = ""


class ExitedReviewMode(Item, frozen=True, kw_only=True, tag="exitedReviewMode"):
    """A review is over; `review` is what it found."""

    review: str = ""


class ContextCompaction(Item, frozen=True, kw_only=True, tag="contextCompaction"):
    """The conversation is compacted."""


class HookPrompt(Item, frozen=True, kw_only=True, tag="hookPrompt"):
    """Input to the model from hooks."""

    fragments: tuple[Any, ...] = ()


class FunctionCallOutput(Item, frozen=True, kw_only=True, tag="functionCallOutput"):
    """The output of a tool that has no item of its own."""

    name: str = ""
    output: Any = None


class UnknownItem(Struct, frozen=True, kw_only=True):
    """An item of a type that has no struct here, as it is."""

    id: str
    json: Any


KnownItem = (
    UserMessage
    | AgentMessage
    | Plan
    | Reasoning
    | CommandExecution
    | FileChange
    | McpToolCall
    | DynamicToolCall
    | CollabAgentToolCall
    | SubAgentActivity
    | WebSearch
    | ImageView
    | ImageGeneration
    | Sleep
    | EnteredReviewMode
    | ExitedReviewMode
    | ContextCompaction
    | HookPrompt
    | FunctionCallOutput
)
AnyItem = KnownItem | UnknownItem


class _ItemId(Struct):
    id: str


_any = msgspec.json.Decoder()
_item = msgspec.json.Decoder(KnownItem)
_item_id = msgspec.json.Decoder(_ItemId)


def decode(raw: Raw) -> AnyItem:
    """An item; an unknown type costs only itself. Raise msgspec errors without an id."""
    data = bytes(raw)
    try:
        item: KnownItem = decode_json(data, _item)
    except msgspec.ValidationError:
        return UnknownItem(id=decode_json(data, _item_id).id, json=decode_json(data, _any))
    return item
