"""All webhooks of the daemon: added, changed, removed, tested; each delivers in its own task."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter

import httpx2
import msgspec
from msgspec.structs import asdict, replace

from dragoman import logs
from dragoman.errors import Conflict, InvalidRequest, NotFound
from dragoman.runtime.webhooks.delivery import DeliveryTimes, WebhookDelivery
from dragoman.runtime.webhooks.sender import WebhookSender
from dragoman.schema.webhooks import (
    AddedWebhook,
    AddWebhook,
    PatchWebhook,
    WebhookInfo,
    WebhookList,
    WebhookTest,
    ensure_types,
)
from dragoman.settings import Settings
from dragoman.store import Store, WebhookRow
from dragoman.store.ids import new_id, now_ms, timestamp
from dragoman.wire.receiver_url import ensure_receiver
from dragoman.wire.webhook_signature import secret_of, signing_key

log = logging.getLogger(__name__)

MAX_WEBHOOKS = 50
SECRET_BYTES = 32


class Webhooks:
    """Who is sent events. Changes are made one after another."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._sender = WebhookSender(settings.webhook_timeout_s)
        self._times = DeliveryTimes(
            retry_s=settings.webhook_retry_s, max_retry_s=settings.webhook_max_retry_s
        )
        self.counters: Counter[str] = Counter()
        """Requests that were `delivered`, and that `failed`, since the start."""
        self._deliveries: dict[str, WebhookDelivery] = {}
        self._changing = asyncio.Lock()
        self._stopped = False

    async def start(self) -> None:
        """Go on where the last daemon stopped."""
        for row in await self._store.webhooks.all():
            logs.redact(row.secret)
            self._serve(row)

    async def stop(self) -> None:
        """Deliver nothing more; the next start goes on."""
        async with self._changing:
            self._stopped = True
            await asyncio.gather(*(each.stop() for each in self._deliveries.values()))
            await self._sender.close()

    def states(self) -> Counter[str]:
        """How many webhooks are `delivering`, `failing` and `disabled`."""
        return Counter(_state(each.row) for each in list(self._deliveries.values()))

    async def all(self) -> WebhookList:
        """All of them, the oldest first."""
        infos = await asyncio.gather(*map(self._info, self._deliveries.values()))
        return WebhookList(webhooks=tuple(infos))

    async def get(self, webhook_id: str) -> WebhookInfo:
        """One of them. Raise NotFound."""
        return await self._info(self._find(webhook_id))

    async def add(self, wanted: AddWebhook) -> AddedWebhook:
        """Add a receiver; it is sent what comes from now on. Raise InvalidRequest, Conflict."""
        secret = secret_of(secrets.token_bytes(SECRET_BYTES))
        if wanted.secret is not None:
            secret = wanted.secret
        _ensure(wanted.url, wanted.types, secret)
        async with self._changing:
            if len(self._deliveries) >= MAX_WEBHOOKS:
                raise Conflict(f"there are {MAX_WEBHOOKS} webhooks; remove one first")
            row = WebhookRow(
                webhook_id=new_id("hook"),
                url=wanted.url,
                types=tuple(dict.fromkeys(wanted.types or ())),
                secret=secret,
                created_at=now_ms(),
                position=self._store.global_log.position,
            )
            logs.redact(secret)
            await self._store.webhooks.add(row)
            info = await self._info(self._serve(row))
        return AddedWebhook(**asdict(info), secret=secret)

    async def change(self, webhook_id: str, change: PatchWebhook) -> WebhookInfo:
        """Change one; a request that is under way is given up, and sent again as it is then."""
        _ensure(change.url, change.types)
        async with self._changing:
            delivery = self._find(webhook_id)
            await delivery.stop()
            row = replace(delivery.row, position=delivery.position)
            changed = replace(
                row,
                url=row.url if change.url is None else change.url,
                types=row.types if change.types is None else tuple(dict.fromkeys(change.types)),
                enabled=row.enabled if change.enabled is None else change.enabled,
                failing_since=None,
                attempts=0,
                last_error=None,
            )
            try:
                await self._store.webhooks.save(changed)
                row = changed
            finally:
                delivery = self._serve(row)
            return await self._info(delivery)

    async def remove(self, webhook_id: str) -> None:
        """Remove one; nothing more is sent to it. Raise NotFound."""
        async with self._changing:
            delivery = self._find(webhook_id)
            await delivery.stop()
            try:
                await self._store.webhooks.remove(webhook_id)
                del self._deliveries[webhook_id]
            finally:
                if webhook_id in self._deliveries:  # it could not be removed, and goes on
                    self._serve(delivery.row)

    async def test(self, webhook_id: str) -> WebhookTest:
        """Send a request that is no event, right away, and tell what the receiver answered."""
        delivery = self._find(webhook_id)
        row, test_id, began_s = delivery.row, new_id("test"), time.monotonic()
        body = {"type": "webhook.test", "webhook_id": webhook_id, "time": timestamp(now_ms())}
        sent = await self._sender.send(row.url, row.secret, test_id, msgspec.json.encode(body))
        if sent.delivered:
            delivery.hurry()
        return WebhookTest(
            delivered=sent.delivered,
            status=sent.status,
            error=None if sent.delivered else sent.error,
            took_ms=int((time.monotonic() - began_s) * 1000),
        )

    def _serve(self, row: WebhookRow) -> WebhookDelivery:
        delivery = WebhookDelivery(row, self._store, self._sender, self._times, self.counters)
        self._deliveries[row.webhook_id] = delivery
        if not self._stopped:
            delivery.start()
        return delivery

    def _find(self, webhook_id: str) -> WebhookDelivery:
        delivery = self._deliveries.get(webhook_id)
        if delivery is None:
            raise NotFound(f"there is no webhook {webhook_id!r}; `dragoman hooks` lists them")
        return delivery

    async def _info(self, delivery: WebhookDelivery) -> WebhookInfo:
        row, position = delivery.row, delivery.position
        pending = await self._store.global_log.count_events(position, delivery.event_filter)
        return WebhookInfo(
            id=row.webhook_id,
            url=row.url,
            types=row.types,
            enabled=row.enabled,
            created_at=row.created_at,
            position=position,
            pending=pending.count,
            more_pending=pending.is_least,
            last_delivery_at=row.last_delivery_at,
            failing_since=row.failing_since,
            attempts=row.attempts,
            next_attempt_at=delivery.next_attempt_at,
            last_error=row.last_error,
        )


def _state(row: WebhookRow) -> str:
    if not row.enabled:
        return "disabled"
    return "failing" if row.attempts else "delivering"


def _ensure(url: str | None, types: tuple[str, ...] | None, secret: str | None = None) -> None:
    """Raise InvalidRequest for the first that is wrong, with what would be right."""
    try:
        field = "url"
        if url is not None:
            ensure_receiver(url)
            httpx2.URL(url)
        field = "types"
        ensure_types(types or ())
        field = "secret"
        if secret is not None:
            signing_key(secret)
    except (ValueError, httpx2.InvalidURL) as error:
        raise InvalidRequest(str(error), field=field) from None
