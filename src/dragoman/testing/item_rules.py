"""Rules for items: start, stream, complete; tool calls and results."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from dragoman.schema.events import ItemCompleted, ItemDelta, ItemStarted, SessionEnded, TurnEnded
from dragoman.schema.items import DeltaType, Item, Reasoning, Text, ToolCall, ToolResult
from dragoman.testing.stream_rules import rule
from dragoman.testing.stream_state import QUIET, Ledger, is_prompt, of_subagent, results_of, speaker


@rule(ItemStarted)
def item_starts_once(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """An item starts once."""
    if body.item.item_id in ledger.item_ids:
        yield f"{body.item.item_id} was there before"


@rule(ItemStarted)
def item_starts_in_progress(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """An item starts with the status in_progress."""
    if body.item.status != "in_progress":
        yield f"{body.item.item_id} starts as {body.item.status}"


@rule(ItemStarted)
def item_starts_empty(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """What streams is empty when a message, tool call or tool result starts."""
    if body.item.kind in ("message", "tool_call", "tool_result"):
        for part in body.item.content:
            match part:
                case Text(text=text) | Reasoning(text=text) if text:
                    yield f"{body.item.item_id} starts with text"
                case ToolCall(arguments=text) | ToolResult(output=text) if text:
                    yield f"{body.item.item_id} starts with arguments or output"


@rule(ItemStarted)
def item_in_a_turn(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """Between turns only status items, system items and those of subagents start."""
    if ledger.turn is None and body.item.kind not in QUIET and not of_subagent(body.item):
        yield f"{body.item.kind} {body.item.item_id} starts outside a turn"


@rule(ItemStarted)
def parent_seen_before(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """A parent is an item that was seen before."""
    if body.item.parent_id is not None and body.item.parent_id not in ledger.item_ids:
        yield f"{body.item.item_id} has the parent {body.item.parent_id}, which nobody has seen"


@rule(ItemStarted)
def prompt_comes_first(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """A person's message comes before any answer to it.

    A message that is steered into a turn rightly comes late, also into a turn that the agent
    began by itself. The first turn of a session cannot be such a one: the agent's process starts
    with the first message. In later turns only `strict` reports it.
    """
    turn = ledger.turn
    if turn is None or not (turn.first or ledger.strict):
        return
    if is_prompt(body.item) and turn.busy and not turn.prompted:
        yield f"{body.item.item_id} comes after an answer"


@rule(ItemStarted, ItemCompleted)
def message_id_once(ledger: Ledger, body: ItemStarted | ItemCompleted) -> Iterator[str]:
    """A person's message is one item."""
    item = body.item
    if item.message_id is not UNSET:
        owner = ledger.message_ids.get(item.message_id, item.item_id)
        if owner != item.item_id:
            yield f"{item.message_id} stands on {owner} and on {item.item_id}"


@rule(ItemStarted, ItemCompleted)
def reasoning_stands_alone(ledger: Ledger, body: ItemStarted | ItemCompleted) -> Iterator[str]:
    """An item with a reasoning part is a message and holds nothing else."""
    item = body.item
    alone = item.kind == "message" and len(item.content) == 1
    if not alone and any(isinstance(part, Reasoning) for part in item.content):
        yield f"{item.kind} {item.item_id} holds {len(item.content)} parts"


@rule(ItemDelta)
def thought_comes_before_its_answer(ledger: Ledger, body: ItemDelta) -> Iterator[str]:
    """A message starts with its first words: no thought starts between the two."""
    opened = ledger.items.get(body.item_id)
    if opened is None or opened.item.kind != "message" or body.content_type != "text":
        return
    if opened.overtaken and not opened.streamed:
        yield f"a thought stands between the start of {body.item_id} and its first words"


@rule(ItemDelta)
def delta_has_open_item(ledger: Ledger, body: ItemDelta) -> Iterator[str]:
    """A delta belongs to an open item."""
    if body.item_id not in ledger.items:
        yield f"{body.item_id} is not open"


@rule(ItemCompleted)
def completion_has_open_item(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """What completes has started, and completes once."""
    if body.item.item_id not in ledger.items:
        yield f"{body.item.item_id} is not open"


@rule(ItemCompleted)
def completion_is_final(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """An item completes as completed or failed."""
    if body.item.status == "in_progress":
        yield f"{body.item.item_id} completes as in_progress"


@rule(ItemDelta, ItemCompleted)
def item_keeps_identity(ledger: Ledger, body: ItemDelta | ItemCompleted) -> Iterator[str]:
    """The kind, role, parent and native id of an item do not change."""
    now = body.item if isinstance(body, ItemCompleted) else body
    if opened := ledger.items.get(now.item_id):
        for field in ("kind", "role", "parent_id", "native_item_id"):
            before = getattr(opened.item, field)
            if getattr(now, field, before) != before:
                yield f"{field} of {now.item_id} was {before} and is {getattr(now, field)}"


@rule(ItemCompleted)
def deltas_add_up(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """Deltas of text, reasoning and arguments add up to what the completed item holds."""
    if opened := ledger.items.get(body.item.item_id):
        for content_type, whole in _texts(body.item).items():
            pieces = opened.streamed.get(content_type)
            # Without any delta it is `message_was_streamed` that speaks.
            if pieces is None and body.item.kind != "tool_call":
                continue
            if "".join(pieces or ()) != whole:
                yield f"{content_type} of {body.item.item_id} is not the sum of its deltas"


@rule(ItemCompleted)
def message_was_streamed(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """A message with text, or reasoning, had a delta."""
    opened = ledger.items.get(body.item.item_id)
    if opened is not None and body.item.kind == "message":
        for content_type, whole in _texts(body.item).items():
            if whole and content_type not in opened.streamed:
                yield f"{body.item.item_id} had no delta of {content_type}"


def _texts(item: Item) -> dict[DeltaType, str]:
    spoken: dict[DeltaType, str] = {"text": "", "reasoning": "", "arguments": ""}
    for part in item.content:
        match part:
            case Text(text=text):
                spoken["text"] += text
            case Reasoning(text=text):
                spoken["reasoning"] += text
            case ToolCall(arguments=text):
                spoken["arguments"] += text
            case _:
                pass
    return spoken


# --- Tools ---


@rule(ItemStarted)
def call_has_parent(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """A tool call has a parent: the message that made it, or the one that its turn answers."""
    item = body.item
    if item.kind == "tool_call" and item.parent_id is None and speaker(item) in ledger.speakers:
        yield f"{item.item_id} has none"


@rule(ItemStarted)
def result_shares_parent(ledger: Ledger, body: ItemStarted) -> Iterator[str]:
    """A tool result has the parent of its call."""
    for call_id in results_of(body.item):
        call = ledger.calls.get(call_id)
        if call is not None and call.parent_id != body.item.parent_id:
            yield f"{body.item.item_id} has {body.item.parent_id}, its call {call.parent_id}"


@rule(ItemCompleted)
def result_names_a_call(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """A tool result names a call that was completed before it."""
    if body.item.kind == "tool_result":
        named = list(results_of(body.item))
        if not named or not ledger.call_ids.issuperset(named):
            yield f"{body.item.item_id} names {', '.join(named) or 'none'}"


@rule(ItemCompleted)
def result_comes_once(ledger: Ledger, body: ItemCompleted) -> Iterator[str]:
    """A call has one result."""
    for call_id in results_of(body.item):
        if call_id in ledger.answered and call_id in ledger.call_ids:
            yield f"{call_id} has two"


@rule(TurnEnded, SessionEnded)
def call_has_result(ledger: Ledger, body: TurnEnded | SessionEnded) -> Iterator[str]:
    """A call has its result when the turn ends, a subagent's when the session ends."""
    for call_id, item in ledger.calls.items():
        if isinstance(body, SessionEnded) or not of_subagent(item):
            yield f"{call_id} has none"
