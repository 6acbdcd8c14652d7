"""The API as values: what each call sends, and how its answer is read. No IO.

A client, whether it waits or awaits, only carries a `ApiCall` there and an `Answer` back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from dragoman.client.decode import decode
from dragoman.client.events import decode_event
from dragoman.client.failures import BadAnswer, failure
from dragoman.client.resume import Position
from dragoman.errors import InvalidRequest
from dragoman.schema.access import CreatedToken, CreateToken, Ticket, TokenList
from dragoman.schema.commands import Attachment
from dragoman.schema.event_filter import FeedQuery
from dragoman.schema.events import Event
from dragoman.schema.http import (
    AddAgent,
    AgentInfo,
    AgentList,
    Created,
    CreateSession,
    Delivery,
    EventQuery,
    Health,
    Http,
    InstallAgent,
    ListingQuery,
    Message,
    MessageQuery,
    ModeList,
    ModelList,
    PatchSession,
    Pending,
    ProcessList,
    ReplyPermission,
    ReplyQuestion,
    SessionInfo,
    SessionList,
    SessionQuery,
    StreamQuery,
    TurnStreamQuery,
)
from dragoman.schema.status import DaemonStatus
from dragoman.schema.webhooks import (
    AddedWebhook,
    AddWebhook,
    PatchWebhook,
    WebhookInfo,
    WebhookList,
    WebhookTest,
)

Result = TypeVar("Result")

MESSAGE_ID = "dragoman-message-id"
"""The header that names the message which was accepted."""

INSTALL_S = 900.0
"""Longer than an installation may take: the daemon's own word on it is worth more."""
ASK_S = 60.0
"""Longer than an agent may take to tell its models, or a receiver to answer."""


@dataclass(frozen=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class ApiCall(Generic[Result]):
    """A request, and how to read its answer."""

    method: str
    path: str
    read: Callable[[Answer], Result]
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | Iterable[bytes] | None = None
    timeout_s: float | None = None
    """How long the answer may take, where that is longer than usual."""

    def result(self, answer: Answer) -> Result:
        """Read the answer, or raise the error that it stands for."""
        if not 200 <= answer.status < 300:
            raise failure(answer.status, answer.content)
        try:
            return self.read(answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadAnswer(
                f"the answer to {self.method} {self.path} cannot be understood: {error}"
            ) from None


class EventPage(Struct, frozen=True, kw_only=True):
    """Some events of a session, in order, and whether there are more."""

    events: tuple[Event, ...]
    has_more: bool
    chain: str | None = None
    """The link of the last event in the hash chain of the log; see `Client.events`."""


class _RawPage(Http, frozen=True, kw_only=True):
    events: tuple[Raw, ...]
    has_more: bool
    chain: str | None = None


class _AnyCreated(Http, frozen=True, kw_only=True):
    """The answer to a create; where the caller chose the id it may be left out."""

    healthy: bool
    session_id: str | None = None
    error: str | None = None
    native_session_id: str | None = None


class _Described(Struct):
    class Info(Struct):
        version: str

    info: Info


def health() -> ApiCall[Health]:
    """Ask whether the daemon lives."""
    return ApiCall("GET", "/v1/health", _body(Health))


def version() -> ApiCall[str]:
    """Ask for the daemon's version, which its API description names."""
    described = _body(_Described)
    return ApiCall("GET", "/v1/openapi.json", lambda answer: described(answer).info.version)


def agents() -> ApiCall[AgentList]:
    """List the agents."""
    return ApiCall("GET", "/v1/agents", _body(AgentList))


def add_agent(wanted: AddAgent) -> ApiCall[AgentInfo]:
    """Add an agent."""
    return _post("/v1/agents", wanted, _body(AgentInfo))


def remove_agent(agent: str) -> ApiCall[None]:
    """Remove an agent that was added."""
    return ApiCall("DELETE", f"/v1/agents/{_segment(agent)}", _nothing)


def install(agent: str, wanted: InstallAgent) -> ApiCall[None]:
    """Install an agent."""
    path = f"/v1/agents/{_segment(agent)}/install"
    return replace(_post(path, wanted, _nothing), timeout_s=INSTALL_S)


def models(agent: str, query: ListingQuery) -> ApiCall[ModelList]:
    """List an agent's models."""
    path = f"/v1/agents/{_segment(agent)}/models"
    return ApiCall("GET", path, _body(ModelList), params=_params(query), timeout_s=ASK_S)


def modes(agent: str, query: ListingQuery) -> ApiCall[ModeList]:
    """List an agent's modes."""
    path = f"/v1/agents/{_segment(agent)}/modes"
    return ApiCall("GET", path, _body(ModeList), params=_params(query), timeout_s=ASK_S)


def processes() -> ApiCall[ProcessList]:
    """List what runs."""
    return ApiCall("GET", "/v1/processes", _body(ProcessList))


def status() -> ApiCall[DaemonStatus]:
    """Ask how the daemon does."""
    return ApiCall("GET", "/v1/status", _body(DaemonStatus))


def sessions(query: SessionQuery) -> ApiCall[SessionList]:
    """List sessions, newest first."""
    return ApiCall("GET", "/v1/sessions", _body(SessionList), params=_params(query))


def create(wish: CreateSession, session_id: str | None, key: str | None = None) -> ApiCall[Created]:
    """Create a session under this id, or one that the daemon chooses."""

    def read(answer: Answer) -> Created:
        made = decode(answer.content, _AnyCreated)
        if (chosen := made.session_id or session_id) is None:
            raise msgspec.ValidationError("it names no session")
        return Created(
            session_id=chosen,
            healthy=made.healthy,
            error=made.error,
            native_session_id=made.native_session_id,
        )

    path = "/v1/sessions" if session_id is None else _session(session_id)
    # The agent may have to be installed first.
    return replace(_post(path, wish, read, headers=_keyed(key)), timeout_s=INSTALL_S)


def get(session: str) -> ApiCall[SessionInfo]:
    """Read one session."""
    return ApiCall("GET", _session(session), _body(SessionInfo))


def patch(session: str, change: PatchSession) -> ApiCall[SessionInfo]:
    """Change one session."""
    return _post(_session(session), change, _body(SessionInfo), method="PATCH")


def delete(session: str, quiet_since: int | None) -> ApiCall[None]:
    """End a session and remove everything of it."""
    params = {} if quiet_since is None else {"quiet_since": str(quiet_since)}
    return ApiCall("DELETE", _session(session), _nothing, params)


def terminate(session: str) -> ApiCall[None]:
    """End a session; its events stay."""
    return ApiCall("POST", _session(session, "terminate"), _nothing)


def interrupt(session: str) -> ApiCall[None]:
    """Stop the running turn."""
    return ApiCall("POST", _session(session, "interrupt"), _nothing)


def message(text: str, attachments: Sequence[Attachment]) -> Message:
    """Make a message. Raise InvalidRequest for one that says nothing."""
    try:
        return Message(message=text, attachments=tuple(attachments) or None)
    except ValueError as error:
        raise InvalidRequest(str(error), field="message") from None


def send(session: str, message: Message, key: str | None, delivery: Delivery) -> ApiCall[str]:
    """Send a message; the answer is its id."""

    def read(answer: Answer) -> str:
        if message_id := answer.headers.get(MESSAGE_ID):
            return message_id
        raise msgspec.ValidationError("it names no message")

    params = _params(MessageQuery(delivery=delivery))
    return _post(_session(session, "messages"), message, read, headers=_keyed(key), params=params)


def stream_turn(session: str, message: Message, key: str, query: TurnStreamQuery) -> ApiCall[None]:
    """Send a message and open the stream of its turn."""
    params = _params(query)
    path = _session(session, "messages", "stream")
    return _post(path, message, _nothing, headers=_keyed(key), params=params)


def events(session: str, query: EventQuery) -> ApiCall[EventPage]:
    """Read a page of events."""

    def read(answer: Answer) -> EventPage:
        page = decode(answer.content, _RawPage)
        found = tuple(decode_event(bytes(event)) for event in page.events)
        return EventPage(events=found, has_more=page.has_more, chain=page.chain)

    return ApiCall("GET", _session(session, "events"), read, params=_params(query))


def follow(session: str, position: Position, include_raw: bool) -> ApiCall[None]:
    """Open the stream of events after a position."""
    after = position.sequence
    params = _params(StreamQuery(offset=after, include_raw=include_raw, after_chain=position.chain))
    # The header is what a reconnecting reader of an ended session is told 204 by.
    headers = {"Last-Event-ID": str(after)} if after else {}
    return ApiCall(
        "GET", _session(session, "events", "sse"), _nothing, params=params, headers=headers
    )


def follow_all(query: FeedQuery) -> ApiCall[None]:
    """Open the stream of all sessions' events."""
    return ApiCall("GET", "/v1/events/sse", _nothing, params=_params(query))


def pending(session: str) -> ApiCall[Pending]:
    """List what waits: messages, permissions, questions."""
    return ApiCall("GET", _session(session, "pending"), _body(Pending))


def cancel_pending(session: str, message_id: str) -> ApiCall[None]:
    """Take back a message that was not delivered yet."""
    return ApiCall("DELETE", _session(session, "pending", message_id), _nothing)


def reply_permission(session: str, permission_id: str, reply: ReplyPermission) -> ApiCall[None]:
    """Answer a permission request."""
    return _post(_session(session, "permissions", permission_id, "reply"), reply, _nothing)


def reply_question(session: str, question_id: str, reply: ReplyQuestion) -> ApiCall[None]:
    """Answer a question."""
    return _post(_session(session, "questions", question_id, "reply"), reply, _nothing)


def reject_question(session: str, question_id: str) -> ApiCall[None]:
    """Refuse to answer a question."""
    return ApiCall("POST", _session(session, "questions", question_id, "reject"), _nothing)


def tokens() -> ApiCall[TokenList]:
    """List the tokens."""
    return ApiCall("GET", "/v1/tokens", _body(TokenList))


def create_token(wanted: CreateToken) -> ApiCall[CreatedToken]:
    """Make a token."""
    return _post("/v1/tokens", wanted, _body(CreatedToken))


def revoke_token(name: str) -> ApiCall[None]:
    """Make a token good for nothing."""
    return ApiCall("DELETE", f"/v1/tokens/{_segment(name)}", _nothing)


def webhooks() -> ApiCall[WebhookList]:
    """List the webhooks."""
    return ApiCall("GET", "/v1/hooks", _body(WebhookList))


def add_webhook(wanted: AddWebhook) -> ApiCall[AddedWebhook]:
    """Send events to a URL."""
    return _post("/v1/hooks", wanted, _body(AddedWebhook))


def webhook(webhook_id: str) -> ApiCall[WebhookInfo]:
    """Read one webhook."""
    return ApiCall("GET", f"/v1/hooks/{_segment(webhook_id)}", _body(WebhookInfo))


def change_webhook(webhook_id: str, change: PatchWebhook) -> ApiCall[WebhookInfo]:
    """Change one webhook."""
    path = f"/v1/hooks/{_segment(webhook_id)}"
    return _post(path, change, _body(WebhookInfo), method="PATCH")


def remove_webhook(webhook_id: str) -> ApiCall[None]:
    """Send nothing more to a receiver."""
    return ApiCall("DELETE", f"/v1/hooks/{_segment(webhook_id)}", _nothing)


def test_webhook(webhook_id: str) -> ApiCall[WebhookTest]:
    """Send a request that is no event."""
    path = f"/v1/hooks/{_segment(webhook_id)}/test"
    return ApiCall("POST", path, _body(WebhookTest), timeout_s=ASK_S)


def ticket() -> ApiCall[Ticket]:
    """Make a ticket that lets a browser in."""
    return ApiCall("POST", "/v1/tickets", _body(Ticket))


def _post(
    path: str,
    body: Http,
    read: Callable[[Answer], Result],
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> ApiCall[Result]:
    return ApiCall(
        method,
        path,
        read,
        params=params or {},
        headers={"Content-Type": "application/json", **(headers or {})},
        content=msgspec.json.encode(body),
    )


def _body(kind: type[Result]) -> Callable[[Answer], Result]:
    return lambda answer: decode(answer.content, kind)


def _nothing(answer: Answer) -> None:
    return None


def _keyed(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}


def _params(query: Http) -> dict[str, str]:
    fields: dict[str, Any] = msgspec.to_builtins(query)
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in fields.items()
    }


def _session(session: str, *rest: str) -> str:
    return "/v1/sessions/" + "/".join(_segment(part) for part in (session, *rest))


def _segment(part: str) -> str:
    # An empty or dotted segment would be another path by the time it arrives.
    if part in ("", ".", ".."):
        raise InvalidRequest(f"{part!r} is no id")
    return quote(part, safe="")
