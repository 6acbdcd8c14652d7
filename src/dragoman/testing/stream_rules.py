"""Rules for whole streams: sessions, turns, requests, order.

Here those of the envelope, sessions, turns and requests; `item_rules.py` has those of items.

A rule reads the ledger as it stood before the event, and yields one sentence for each breach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.schema.events import (
    AgentUnparsed,
    Body,
    Event,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    QueueUpdated,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from dragoman.testing.stream_state import (
    Ledger,
    Requested,
    Resolved,
    asked_by_subagent,
    of_subagent,
    request_id,
)

# Any: an event for the rules of the envelope, for the others a body of the types they name.
Judge = Callable[[Ledger, Any], Iterator[str]]

RULES: dict[str, str] = {}
"""Every rule's name, and what it demands."""
OF_ENVELOPES: list[tuple[str, Judge]] = []
OF_BODIES: dict[type[Body], list[tuple[str, Judge]]] = {}


def rule(*bodies: type[Body]) -> Callable[[Judge], Judge]:
    """Register a rule about these bodies, or about every envelope."""

    def register(judge: Judge) -> Judge:
        name = judge.__name__
        RULES[name] = str(judge.__doc__)
        if not bodies:
            OF_ENVELOPES.append((name, judge))
        for body in bodies:
            OF_BODIES.setdefault(body, []).append((name, judge))
        return judge

    return register


# --- Envelope and session ---


@rule()
def sequence_without_holes(ledger: Ledger, event: Event) -> Iterator[str]:
    """Sequences are 1, 2, 3 … n."""
    if event.sequence != ledger.sequence + 1:
        yield f"{event.sequence} follows {ledger.sequence}"


@rule()
def event_id_once(ledger: Ledger, event: Event) -> Iterator[str]:
    """No two events have the same id."""
    if event.event_id in ledger.event_ids:
        yield f"{event.event_id} was there before"


@rule()
def one_session(ledger: Ledger, event: Event) -> Iterator[str]:
    """All events name the same session."""
    if ledger.session_id not in (None, event.session_id):
        yield f"{event.session_id} in the stream of {ledger.session_id}"


@rule()
def synthetic_is_daemon(ledger: Ledger, event: Event) -> Iterator[str]:
    """An event is synthetic exactly when its source is the daemon."""
    if event.synthetic != (event.source == "daemon"):
        yield f"synthetic is {event.synthetic}, source is {event.source}"


@rule()
def session_starts_first(ledger: Ledger, event: Event) -> Iterator[str]:
    """The first event is session.started."""
    if not ledger.event_ids and event.type != SessionStarted.type:
        yield f"the first event is {event.type}"


@rule(SessionStarted)
def session_starts_once(ledger: Ledger, body: SessionStarted) -> Iterator[str]:
    """There is one session.started."""
    if ledger.started:
        yield "the session had started before"


@rule()
def nothing_after_the_end(ledger: Ledger, event: Event) -> Iterator[str]:
    """Nothing follows session.ended."""
    if ledger.ended:
        yield f"{event.type} after session.ended"


@rule(SessionEnded)
def session_end_closes_all(ledger: Ledger, body: SessionEnded) -> Iterator[str]:
    """When the session ends, no turn, item or request is open."""
    if ledger.turn is not None:
        yield f"turn {ledger.turn.turn_id} is open"
    for name in (*ledger.items, *ledger.requests):
        yield f"{name} is open"


@rule(SessionEnded)
def only_an_error_has_details(ledger: Ledger, body: SessionEnded) -> Iterator[str]:
    """An end has a message, an exit code and stderr only where its reason is an error."""
    if body.reason != "error":
        for name in ("message", "exit_code", "stderr"):
            if getattr(body, name) is not UNSET:
                yield f"it is {body.reason}, and has {name}"


# --- Turns ---


@rule(TurnStarted, TurnEnded)
def turns_alternate(ledger: Ledger, body: TurnStarted | TurnEnded) -> Iterator[str]:
    """A turn starts when none is open, and ends when one is."""
    if (ledger.turn is not None) is (body.phase == "started"):
        yield f"turn {body.turn_id} {body.phase}, out of turn"


@rule(TurnStarted)
def turn_id_once(ledger: Ledger, body: TurnStarted) -> Iterator[str]:
    """Every turn has an id of its own."""
    if body.turn_id is UNSET or body.turn_id in ledger.turn_ids:
        yield f"{body.turn_id} is missing or was there before"


@rule(TurnEnded)
def turn_id_same(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """A turn ends under the id under which it started."""
    if ledger.turn is not None and ledger.turn.turn_id != body.turn_id:
        yield f"{ledger.turn.turn_id} ended as {body.turn_id}"


@rule(TurnEnded)
def turn_has_outcome(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """A turn ends with an outcome."""
    if body.outcome is UNSET:
        yield f"{body.turn_id} has none"


@rule(TurnEnded)
def failed_turn_says_why(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """A failed turn holds an error."""
    if ledger.turn is not None and body.outcome == "failed" and not ledger.turn.failed:
        yield f"{body.turn_id} holds none"


@rule(TurnEnded)
def turn_end_closes_items(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """When a turn ends, none of its items is open but those of subagents."""
    for name, opened in ledger.items.items():
        if opened.turn is ledger.turn is not None and not of_subagent(opened.item):
            yield f"{name} is open"


@rule(TurnEnded)
def turn_end_closes_requests(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """When a turn ends, none of its requests is open but those of subagents."""
    for name, request in ledger.requests.items():
        if request.turn is ledger.turn is not None and not asked_by_subagent(request.body):
            yield f"{name} is open"


@rule(TurnEnded)
def usage_not_negative(ledger: Ledger, body: TurnEnded) -> Iterator[str]:
    """No number of a turn's usage is below zero."""
    if body.usage is UNSET:
        return
    models = {} if body.usage.models is UNSET else body.usage.models
    for name, usage in {"": body.usage, **models}.items():
        for field, number in msgspec.structs.asdict(usage).items():
            if isinstance(number, int | float) and number < 0:
                yield f"{name} {field} is {number}".strip()


# --- Requests to people ---


@rule(PermissionRequested, QuestionRequested)
def request_asked_once(ledger: Ledger, body: Requested) -> Iterator[str]:
    """A permission or question is requested once."""
    if request_id(body) in ledger.request_ids:
        yield f"{request_id(body)} was there before"


@rule(PermissionResolved, QuestionResolved)
def request_resolved_once(ledger: Ledger, body: Resolved) -> Iterator[str]:
    """What is resolved was requested, and is resolved once."""
    if request_id(body) not in ledger.requests:
        yield f"{request_id(body)} is not open"


@rule(PermissionResolved, QuestionResolved)
def request_keeps_identity(ledger: Ledger, body: Resolved) -> Iterator[str]:
    """A request is resolved as what it was requested: its action, its prompt and options."""
    if opened := ledger.requests.get(request_id(body)):
        for field in ("action", "prompt", "options"):
            if getattr(opened.body, field, None) != getattr(body, field, None):
                yield f"{field} of {request_id(body)} has changed"


@rule(PermissionRequested, QuestionRequested, PermissionResolved, QuestionResolved)
def request_status_fits(ledger: Ledger, body: Requested | Resolved) -> Iterator[str]:
    """The status is requested when a request is made, and not when it is resolved."""
    if (body.status == "requested") is isinstance(body, PermissionResolved | QuestionResolved):
        yield f"{body.type} {request_id(body)} is {body.status}"


# --- The rest ---


@rule(QueueUpdated)
def queued_once(ledger: Ledger, body: QueueUpdated) -> Iterator[str]:
    """A message waits once."""
    ids = [message.message_id for message in body.messages]
    if len(set(ids)) < len(ids):
        yield "a message waits twice"


@rule(SessionEnded)
def session_end_empties_the_queue(ledger: Ledger, body: SessionEnded) -> Iterator[str]:
    """What people saw waiting is told as gone before the session ends."""
    for message_id in ledger.queue:
        yield f"{message_id} still waits"


@rule(AgentUnparsed)
def everything_parsed(ledger: Ledger, body: AgentUnparsed) -> Iterator[str]:
    """Nothing was unparsed; only `strict` reports it."""
    if ledger.strict:
        yield f"{body.location}: {body.error}"
