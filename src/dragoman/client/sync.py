"""The client for programs that wait."""

from __future__ import annotations

import os
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx2
import msgspec

from dragoman.client import calls
from dragoman.client.calls import Answer, ApiCall, EventPage
from dragoman.client.events import decode_event
from dragoman.client.failures import BadAnswer, Unreachable, failure
from dragoman.client.files import Files
from dragoman.client.locate import is_loopback, locate
from dragoman.client.resume import ORIGIN, Position, Retry
from dragoman.client.sse import Blocks, Frame
from dragoman.errors import TooManyRequests, Unavailable
from dragoman.schema.access import CreatedToken, CreateToken, Scope, Ticket, TokenList
from dragoman.schema.callbacks import Callbacks
from dragoman.schema.commands import Attachment, PermissionReply
from dragoman.schema.event_filter import FeedQuery
from dragoman.schema.events import Event, QueueUpdated
from dragoman.schema.http import (
    AddAgent,
    AgentInfo,
    AgentList,
    Created,
    CreateSession,
    Delivery,
    EventQuery,
    Health,
    InstallAgent,
    ListingQuery,
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
    SessionStatus,
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

EVENT_STREAM = "text/event-stream"
SESSION_END = frozenset({"session.ended"})
TURN_END = frozenset({"turn.ended", "session.ended"})

# The daemon breaks silence with a heartbeat; a stream quieter than this is dead.
SILENCE_S = 60.0
RECENT = 1000
"""So many events are looked through for what became of a message."""


class Client:
    """Speaks to one daemon. Finds address and token by itself where none is given."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: str | None = None,
        data_dir: Path | None = None,
        timeout_s: float = 30.0,
        retry: Retry | None = None,
    ) -> None:
        address = locate(os.environ, url=url, token=token, token_file=token_file, data_dir=data_dir)
        self.url = address.url
        self.is_local = is_loopback(address.url)
        """The daemon is on this machine."""
        self.has_token = address.token is not None
        """There is a token to show; whether it is the right one, the daemon knows."""
        self.token_given = address.token_given
        """This daemon was given its token as a flag or a variable: no file holds it."""
        self._retry = retry or Retry()
        self._timeout_s = timeout_s
        self._stream_timeout = httpx2.Timeout(timeout_s, read=SILENCE_S)
        self._http = httpx2.Client(
            base_url=address.url,
            headers={"Authorization": f"Bearer {address.token}"} if address.token else {},
            timeout=timeout_s,
            # A proxy must not see what stays on this machine, nor its token.
            trust_env=not self.is_local,
            # Reading the certificates takes longer than a call; plain HTTP needs none.
            verify=ssl.create_default_context() if self.url.startswith("https:") else False,
        )
        self.files = Files(self._do, self._http)

    def __enter__(self) -> Client:
        """Keep the connections open until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self) -> Health:
        """Ask whether the daemon lives."""
        return self._do(calls.health())

    def version(self) -> str:
        """The daemon's version."""
        return self._do(calls.version())

    def agents(self) -> AgentList:
        """List the agents, as the daemon's machine has them."""
        return self._do(calls.agents())

    def add_agent(
        self,
        agent: str,
        command: str | Sequence[str],
        *,
        name: str | None = None,
        env: dict[str, str] | None = None,
        fs: bool = False,
        terminal: bool = False,
    ) -> AgentInfo:
        """Add an agent that speaks ACP; needs the scope `admin`, for it runs what it is told."""
        words = command if isinstance(command, str) else tuple(command)
        wanted = AddAgent(id=agent, command=words, name=name, env=env, fs=fs, terminal=terminal)
        return self._do(calls.add_agent(wanted))

    def remove_agent(self, agent: str) -> None:
        """Remove an agent that was added; its sessions stay, and go on when it is added again."""
        self._do(calls.remove_agent(agent))

    def install(self, agent: str, reinstall: bool = False) -> None:
        """Install an agent on the daemon's machine; returns when it is done."""
        self._do(calls.install(agent, InstallAgent(reinstall=reinstall)))

    def models(self, agent: str, *, refresh: bool = False) -> ModelList:
        """List an agent's models; `refresh` asks the agent again."""
        return self._do(calls.models(agent, ListingQuery(refresh=refresh)))

    def modes(self, agent: str, *, refresh: bool = False) -> ModeList:
        """List an agent's modes; `refresh` asks the agent again, where people make their own."""
        return self._do(calls.modes(agent, ListingQuery(refresh=refresh)))

    def tokens(self) -> TokenList:
        """List the tokens, without their secrets."""
        return self._do(calls.tokens())

    def create_token(
        self, name: str, scopes: Sequence[Scope], expires_in_s: int | None = None
    ) -> CreatedToken:
        """Make a token; this answer alone shows it."""
        wanted = CreateToken(name=name, scopes=tuple(scopes), expires_in_s=expires_in_s)
        return self._do(calls.create_token(wanted))

    def revoke_token(self, name: str) -> None:
        """Make a token good for nothing, at once."""
        self._do(calls.revoke_token(name))

    def webhooks(self) -> WebhookList:
        """List the webhooks, without their secrets, and how each does."""
        return self._do(calls.webhooks())

    def add_webhook(
        self, url: str, types: Sequence[str] = (), *, secret: str | None = None
    ) -> AddedWebhook:
        """Send events to a URL from now on; this answer alone shows the secret."""
        wanted = AddWebhook(url=url, types=tuple(types) or None, secret=secret)
        return self._do(calls.add_webhook(wanted))

    def webhook(self, webhook_id: str) -> WebhookInfo:
        """Read one webhook, and how it does."""
        return self._do(calls.webhook(webhook_id))

    def change_webhook(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        types: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> WebhookInfo:
        """Change one webhook; what is None stays."""
        kinds = None if types is None else tuple(types)
        change = PatchWebhook(url=url, types=kinds, enabled=enabled)
        return self._do(calls.change_webhook(webhook_id, change))

    def remove_webhook(self, webhook_id: str) -> None:
        """Send nothing more to a receiver."""
        self._do(calls.remove_webhook(webhook_id))

    def test_webhook(self, webhook_id: str) -> WebhookTest:
        """Send a request that is no event, and tell what the receiver answered."""
        return self._do(calls.test_webhook(webhook_id))

    def ticket(self) -> Ticket:
        """Make a ticket that lets a browser in, once."""
        return self._do(calls.ticket())

    def processes(self) -> ProcessList:
        """List the processes that run now, and for whom."""
        return self._do(calls.processes())

    def status(self) -> DaemonStatus:
        """Ask how the daemon does."""
        return self._do(calls.status())

    def sessions(
        self,
        *,
        agent: str | None = None,
        status: SessionStatus | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionList:
        """List sessions, newest first; `q` is a part of the id or title."""
        query = SessionQuery(agent=agent, status=status, q=q, limit=limit, cursor=cursor)
        return self._do(calls.sessions(query))

    def create(
        self,
        wish: CreateSession,
        session_id: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Created:
        """Create a session; without an id the daemon chooses one, the same for the same key."""
        return self._do(calls.create(wish, session_id, idempotency_key))

    def get(self, session: str) -> SessionInfo:
        """Read one session."""
        return self._do(calls.get(session))

    def patch(self, session: str, change: PatchSession) -> SessionInfo:
        """Change one session; what is None stays."""
        return self._do(calls.patch(session, change))

    def delete(self, session: str, *, quiet_since: int | None = None) -> None:
        """Remove a session; with a time in ms, only if nothing happened since (else Conflict)."""
        self._do(calls.delete(session, quiet_since))

    def terminate(self, session: str) -> None:
        """End a session; its events stay."""
        self._do(calls.terminate(session))

    def interrupt(self, session: str) -> None:
        """Stop the running turn, not the session."""
        self._do(calls.interrupt(session))

    def send(
        self,
        session: str,
        message: str,
        *,
        idempotency_key: str | None = None,
        attachments: Sequence[Attachment] = (),
        delivery: Delivery = "queue",
    ) -> str:
        """Send a message and return its id; the same key never sends twice."""
        body = calls.message(message, attachments)
        return self._do(calls.send(session, body, idempotency_key, delivery))

    def stream_turn(
        self,
        session: str,
        message: str,
        *,
        idempotency_key: str | None = None,
        attachments: Sequence[Attachment] = (),
        delivery: Delivery = "queue",
        include_raw: bool = False,
        accepted: Callable[[str], None] | None = None,
    ) -> Iterator[Event]:
        """Send a message, when iterated, and follow its turn; a cut is resumed, nothing resent.

        `accepted` hears the id of the message, perhaps long before its turn begins. A message
        that is taken back has no turn: then nothing comes but the `queue.updated` that says so.
        """
        body = calls.message(message, attachments)
        query = TurnStreamQuery(include_raw=include_raw, delivery=delivery)
        # With a key the message can be sent again where the cut came before its first event.
        key = idempotency_key or uuid.uuid4().hex
        position = Position(self.url, self._retry)
        position.accepted = accepted
        while not position.finished:
            if position.sequence:
                call = calls.follow(session, position, include_raw)
            elif position.message_id and (gone := self._taken_back(session, position.message_id)):
                yield gone
                return
            else:
                call = calls.stream_turn(session, body, key, query)
            yield from self._read(call, position, TURN_END)

    def _taken_back(self, session: str, message_id: str) -> Event | None:
        """The event that says that a message was taken back, if it was."""
        try:
            after = max(0, self.get(session).event_count - RECENT)
            recent = self.events(session, offset=after, limit=RECENT).events
        except (Unreachable, Unavailable, TooManyRequests):
            return None  # the next attempt to read the stream tells
        for event in recent:
            if isinstance(event.data, QueueUpdated) and event.data.cancelled == message_id:
                return event
        return None

    def events(
        self,
        session: str,
        *,
        offset: int = 0,
        limit: int = 1000,
        include_raw: bool = False,
        compact: bool = False,
        after_chain: str | None = None,
    ) -> EventPage:
        """Read the events with `sequence > offset`, at most `limit`.

        `compact` leaves out the deltas of items that are completed among them; they still count.
        With the `chain` of the page before this one as `after_chain`, HistoryDiverged is raised
        where the log is not the one in which that was read.
        """
        query = EventQuery(
            offset=offset,
            limit=limit,
            include_raw=include_raw,
            compact=compact,
            after_chain=after_chain,
        )
        return self._do(calls.events(session, query))

    def follow(
        self,
        session: str,
        after: int = 0,
        *,
        include_raw: bool = False,
        after_chain: str | None = None,
        on_link: Callable[[int, str], None] | None = None,
    ) -> Iterator[Event]:
        """Every event after this sequence, once, until `session.ended`; a cut is resumed.

        Raise HistoryDiverged where the log is not the one that was read so far: an older copy of
        it was put back. `on_link` hears each event's sequence and link, before the event is given:
        with both, as `after` and `after_chain`, a later call goes on there, and notices it too.
        """
        position = Position(
            self.url, self._retry, after, after_chain or (None if after else ORIGIN)
        )
        position.on_link = on_link
        while not position.finished:
            call = calls.follow(session, position, include_raw)
            yield from self._read(call, position, SESSION_END)

    def follow_all(
        self,
        cursor: int | None = None,
        *,
        agent: str | None = None,
        session_ids: Sequence[str] = (),
        types: Sequence[str] = (),
        include_raw: bool = False,
    ) -> Iterator[tuple[int, Event]]:
        """Every session's events, each once, with the cursor to go on from; a cut is resumed.

        Begins with the next event, unless there is a cursor; 0: with the first one there is.
        """
        query = FeedQuery(
            cursor=cursor,
            agent=agent,
            session_id=",".join(session_ids) or None,
            type=",".join(types) or None,
            include_raw=include_raw,
        )
        position = Position(self.url, self._retry, cursor or 0)
        while True:
            cut: Exception | None = None
            try:
                for block in self._blocks(calls.follow_all(query), position):
                    position.reach(int(block.id or 0))
                    if block.data:
                        yield position.sequence, decode_event(block.data)
            except (httpx2.TransportError, Unavailable, TooManyRequests) as error:
                cut = error
            if position.sequence:
                query = msgspec.structs.replace(query, cursor=position.sequence)
            time.sleep(position.cut(cut))

    def listen(
        self, callbacks: Callbacks, session: str | None = None, *, after: int | None = None
    ) -> None:
        """Call functions with the events of a session, until it has ended, or of all, for ever.

        `after` is a sequence of that session, by default 0, or a cursor among all of them, by
        default now. What a function raises ends this and reaches the caller.
        """
        if session is not None:
            events = self.follow(session, after or 0)
        else:
            events = (event for _, event in self.follow_all(after, types=sorted(callbacks.types)))
        for event in events:
            for callback in callbacks.select(event):
                callback(event)

    def pending(self, session: str) -> Pending:
        """List what waits: messages for the agent, requests for people."""
        return self._do(calls.pending(session))

    def cancel_pending(self, session: str, message_id: str) -> None:
        """Take back a message that was not delivered yet."""
        self._do(calls.cancel_pending(session, message_id))

    def reply_permission(
        self,
        session: str,
        permission_id: str,
        reply: PermissionReply,
        *,
        message: str | None = None,
        updated_input: dict[str, Any] | None = None,
    ) -> None:
        """Give or refuse a permission; `message` is told to the agent with a refusal."""
        body = ReplyPermission(reply=reply, message=message, updated_input=updated_input)
        self._do(calls.reply_permission(session, permission_id, body))

    def reply_question(
        self, session: str, question_id: str, answers: Sequence[Sequence[str]]
    ) -> None:
        """Answer a question, one list for each of its parts."""
        body = ReplyQuestion(answers=tuple(tuple(answer) for answer in answers))
        self._do(calls.reply_question(session, question_id, body))

    def reject_question(self, session: str, question_id: str) -> None:
        """Refuse to answer a question."""
        self._do(calls.reject_question(session, question_id))

    def _do(self, call: ApiCall[Result]) -> Result:
        try:
            options = {} if call.timeout_s is None else {"timeout": self._patience(call.timeout_s)}
            response = self._http.send(self._request(call, **options))
        except httpx2.RequestError as error:
            raise Unreachable(self.url, str(error) or type(error).__name__) from None
        return call.result(Answer(response.status_code, response.headers, response.content))

    def _patience(self, read_s: float) -> httpx2.Timeout:
        return httpx2.Timeout(self._timeout_s, read=max(read_s, self._timeout_s))

    def _request(self, call: ApiCall[Any], **options: Any) -> httpx2.Request:
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.params),
            headers=dict(call.headers),
            content=call.content,
            **options,
        )

    def _read(
        self, call: ApiCall[None], position: Position, last: frozenset[str]
    ) -> Iterator[Event]:
        """Read one connection until it is cut, or the reading is finished."""
        cut: Exception | None = None
        try:
            for block in self._blocks(call, position):
                if block.chain is not None:
                    position.take_link(*block.chain)
                if block.data and (event := position.take(block.data, last)):
                    yield event
                if position.finished:
                    return
        except (httpx2.TransportError, Unavailable, TooManyRequests) as error:
            cut = error
        if not position.finished:
            time.sleep(position.cut(cut))

    def _blocks(self, call: ApiCall[None], position: Position) -> Iterator[Frame]:
        request = self._request(call, timeout=self._stream_timeout)
        request.headers["Accept"] = EVENT_STREAM
        response = self._http.send(request, stream=True)
        try:
            if response.status_code == 204:
                position.finished = True
                return
            if response.status_code != 200:
                raise failure(response.status_code, response.read())
            position.connected = True
            position.hear(response.headers.get(calls.MESSAGE_ID))
            kind = response.headers.get("content-type", "")
            if kind.partition(";")[0].strip().lower() != EVENT_STREAM:
                raise BadAnswer(f"{call.path} is no event stream, but {kind or 'of no type'!r}")
            blocks = Blocks()
            for chunk in response.iter_bytes():
                yield from blocks.feed(chunk)
        finally:
            response.close()
