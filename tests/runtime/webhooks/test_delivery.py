"""One webhook's deliveries, where the store or the receiver does what is hard to bring about."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.runtime.webhooks.delivery import DeliveryTimes, WebhookDelivery
from dragoman.runtime.webhooks.sender import SendResult, WebhookSender
from dragoman.store import Append, WebhookRow
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import create, outside, said, using

ROW = WebhookRow(
    webhook_id="hook_1",
    url="http://127.0.0.1/",
    types=(),
    secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    created_at=1,
    position=0,
)


class ScriptedSender(WebhookSender):
    """Answers in the place of a receiver."""

    def __init__(self, *answers: SendResult) -> None:
        super().__init__(1.0)
        self.bodies: list[bytes] = []
        self._answers = list(answers)
        self._news = asyncio.Condition()

    async def send(self, url: str, secret: str, webhook_id: str, body: bytes) -> SendResult:
        async with self._news:
            self.bodies.append(body)
            self._news.notify_all()
        return self._answers.pop(0) if self._answers else SendResult(status=200)

    async def sent(self, count: int) -> None:
        """Wait for so many requests."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.bodies) >= count)


SOON = DeliveryTimes(retry_s=0.001, max_retry_s=0.002, save_again_s=0.001)


def serve(
    store: SqliteStore,
    sender: WebhookSender,
    row: WebhookRow = ROW,
    times: DeliveryTimes = SOON,
) -> WebhookDelivery:
    delivery = WebhookDelivery(row, store, sender, times, Counter())
    delivery.start()
    return delivery


async def saved(store: SqliteStore) -> WebhookRow:
    (row,) = await store.webhooks.all()
    return row


async def until(store: SqliteStore, condition: Callable[[], bool]) -> None:
    """Look again and again whether something is so."""
    while not condition():
        await saved(store)


async def until_saved(store: SqliteStore) -> None:
    """Look again and again whether all that there is was delivered, and that is stored."""
    while (await saved(store)).position < store.global_log.position:
        pass


def test_nothing_more_is_sent_until_a_position_is_saved(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a")]))
        await store.webhooks.add(ROW)
        with outside(data_dir) as db:
            db.execute(
                "CREATE TRIGGER refuse BEFORE UPDATE ON webhooks "
                "BEGIN SELECT RAISE(ABORT, 'no room'); END"
            )
        sender = ScriptedSender()
        delivery = serve(store, sender)
        await sender.sent(1)
        await store.append(Append("s", [said("b")]))  # others are not held up
        assert len(sender.bodies) == 1
        assert (await saved(store)).position == 0
        with outside(data_dir) as db:
            db.execute("DROP TRIGGER refuse")
        await sender.sent(3)
        await until_saved(store)
        await delivery.stop()
        assert len({*sender.bodies}) == len(sender.bodies) == 3

    using(data_dir, work)


def test_a_store_that_cannot_be_read_for_a_while_costs_nothing(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.webhooks.add(ROW)
        with outside(data_dir) as db:
            db.execute("ALTER TABLE events RENAME TO elsewhere")
        sender = ScriptedSender()
        delivery = serve(store, sender)
        await until(store, lambda: delivery.row.attempts > 1)
        assert "cannot be read" in (delivery.row.last_error or "")
        with outside(data_dir) as db:
            db.execute("ALTER TABLE elsewhere RENAME TO events")
        await sender.sent(1)
        await until(store, lambda: delivery.row.attempts == 0)
        await delivery.stop()

    using(data_dir, work)


def test_what_is_not_wanted_moves_the_position_without_a_write_for_each(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        row = replace(ROW, types=("turn.ended",))
        await store.webhooks.add(row)
        sender = ScriptedSender()
        delivery = serve(store, sender, row)
        for _ in range(20):
            await store.append(Append("s", [said("x")] * 10))
        await until(store, lambda: delivery.position == store.global_log.position)
        await delivery.stop()
        assert (await saved(store)).position == 0
        delivery = serve(store, sender, row, replace(SOON, save_s=0.0))
        await until_saved(store)
        await delivery.stop()
        assert sender.bodies == []

    using(data_dir, work)


def test_an_event_that_waits_is_gone_with_its_session(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for name in ("goes", "stays"):
            await create(store, name)
        await store.webhooks.add(ROW)
        sender = ScriptedSender(*[SendResult(status=500, error="no")] * 3)
        delivery = serve(store, sender, ROW, DeliveryTimes(retry_s=1000, max_retry_s=1000))
        await until(store, lambda: delivery.next_attempt_at is not None)
        await store.delete("goes")
        for count in (2, 3):
            delivery.hurry()
            await sender.sent(count)
            await until(store, lambda: delivery.next_attempt_at is not None)
        await delivery.stop()
        assert [b'"session_id":"goes"' in body for body in sender.bodies] == [True, False, False]

    using(data_dir, work)


def test_types_that_this_version_does_not_know_send_nothing(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        row = replace(ROW, types=("later.*", "later.still"))
        await store.webhooks.add(row)
        sender = ScriptedSender()
        delivery = serve(store, sender, row)
        await until(store, lambda: delivery.position == store.global_log.position)
        await delivery.stop()
        assert sender.bodies == []

    using(data_dir, work)


def test_a_defect_is_told_in_the_record(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        row = replace(ROW, secret="none")
        await store.webhooks.add(row)
        delivery = serve(store, WebhookSender(1.0), row)
        await until(store, lambda: delivery.row.last_error is not None)
        assert "stopped by a defect of the daemon" in (delivery.row.last_error or "")
        await delivery.stop()

    using(data_dir, work)
    assert "webhook hook_1 stopped" in caplog.text
