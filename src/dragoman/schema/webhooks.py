"""Webhooks: where events are sent, which, and how that goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from dragoman.schema.camel import Http
from dragoman.schema.events import BODIES

DELTAS = "item.delta"
EVERYTHING = "*"
ALL_OF_A_KIND = ".*"

Types = Annotated[tuple[str, ...], Meta(max_length=100)]


class AddWebhook(Http, frozen=True, kw_only=True):
    """A receiver of events."""

    url: str
    """Where they are sent: http or https, without a user name or password."""
    types: Types | None = None
    """Which events: names of types, `turn.*` for all of a kind, `*` for all. Absent or empty:
    everything but `item.delta`."""
    secret: str | None = None
    """What requests are signed with: `whsec_` and the base64 of 24 to 64 bytes; made by the daemon
    unless given."""


class PatchWebhook(Http, frozen=True, kw_only=True):
    """What to change; what is absent, or null, stays."""

    url: str | None = None
    types: Types | None = None
    """Empty: everything but `item.delta`. Holds for what has not been looked at yet."""
    enabled: bool | None = None
    """One that is disabled keeps its position, and goes on from there when it is enabled."""


class WebhookInfo(Http, frozen=True, kw_only=True):
    """A webhook, without its secret."""

    id: str
    url: str
    types: tuple[str, ...]
    """As they were given; empty: everything but `item.delta`."""
    enabled: bool
    """Whether events are sent; a receiver that answers 410 disables its webhook."""
    created_at: int
    """Milliseconds since 1970."""
    position: int
    """How far it is in the log of all sessions: what is before was delivered, or is not for it. A
    cursor of `/v1/events/sse`."""
    pending: int
    """So many events wait for it, counted among the next 10,000 of the log."""
    more_pending: bool
    """The log goes on behind those, so there may be more."""
    last_delivery_at: int | None = None
    """When the receiver last took an event, in milliseconds since 1970."""
    failing_since: int | None = None
    """Since when the event that is next cannot be delivered, in milliseconds since 1970."""
    attempts: int
    """How often it was tried in vain."""
    next_attempt_at: int | None = None
    """When it is tried again, in milliseconds since 1970."""
    last_error: str | None = None
    """Why the last attempt failed, or why the webhook was disabled."""


class AddedWebhook(WebhookInfo, frozen=True, kw_only=True):
    """A webhook that was just added."""

    secret: str
    """What its requests are signed with. It is shown this once."""


class WebhookList(Http, frozen=True, kw_only=True):
    """All webhooks, the oldest first."""

    webhooks: tuple[WebhookInfo, ...]


class WebhookTest(Http, frozen=True, kw_only=True):
    """What became of a test request."""

    delivered: bool
    """The receiver answered 2xx."""
    status: int | None = None
    """What it answered, if it did."""
    error: str | None = None
    """Why it was not delivered."""
    took_ms: int


def matching_types(patterns: Sequence[str]) -> frozenset[str]:
    """The types of events that a webhook gets."""
    if not patterns:
        return frozenset(BODIES) - {DELTAS}
    return frozenset(name for name in BODIES if any(_matches(each, name) for each in patterns))


def ensure_types(patterns: Sequence[str]) -> None:
    """Raise ValueError for the first that matches no type of event."""
    for pattern in patterns:
        if not matching_types((pattern,)):
            raise ValueError(
                f"there are no events of type {pattern!r}; known: {', '.join(BODIES)}, turn.* and "
                "the like for all of a kind, * for all"
            )


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith(ALL_OF_A_KIND):
        return name.startswith(pattern.removesuffix("*"))
    return pattern in (EVERYTHING, name)
