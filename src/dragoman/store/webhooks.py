"""The table of webhooks: where events are sent, and how far each is."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

import msgspec

from dragoman.store.protocol import WebhookRow
from dragoman.store.reader import Readers
from dragoman.store.writer import Writer

_ALL = f"SELECT {', '.join(WebhookRow.__struct_fields__)} FROM webhooks ORDER BY n"
_INSERT = (
    "INSERT INTO webhooks (url, types, enabled, position, last_delivery_at, failing_since, "
    "attempts, last_error, webhook_id, secret, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)
_UPDATE = (
    "UPDATE webhooks SET url = ?, types = ?, enabled = ?, position = ?, last_delivery_at = ?, "
    "failing_since = ?, attempts = ?, last_error = ? WHERE webhook_id = ?"
)


class SqliteWebhooks:
    """Webhooks in the database; see `protocol.WebhookTable`."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def all(self) -> list[WebhookRow]:
        """Every webhook, the oldest first."""
        return await self._readers.run(_rows)

    async def add(self, row: WebhookRow) -> None:
        """Keep a new one."""
        values = (*_changing(row), row.webhook_id, row.secret, row.created_at)
        await self._writer.run(partial(_execute, statement=_INSERT, values=values))

    async def save(self, row: WebhookRow) -> None:
        """Keep one as it is now; nothing, where it was removed. Raise StorageFull."""
        values = (*_changing(row), row.webhook_id)
        await self._writer.run(partial(_execute, statement=_UPDATE, values=values))

    async def remove(self, webhook_id: str) -> None:
        """Forget one."""
        statement = "DELETE FROM webhooks WHERE webhook_id = ?"
        work = partial(_execute, statement=statement, values=(webhook_id,))
        await self._writer.run(work, urgent=True)


def _execute(db: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> None:
    db.execute(statement, values)


def _changing(row: WebhookRow) -> tuple[Any, ...]:
    """What may change of a webhook, in the order of the statements."""
    return (
        row.url,
        ",".join(row.types),
        row.enabled,
        row.position,
        row.last_delivery_at,
        row.failing_since,
        row.attempts,
        row.last_error,
    )


def _rows(db: sqlite3.Connection) -> list[WebhookRow]:
    return [_row(found) for found in db.execute(_ALL)]


def _row(found: tuple[Any, ...]) -> WebhookRow:
    values = dict(zip(WebhookRow.__struct_fields__, found, strict=True))
    values["types"] = values["types"].split(",") if values["types"] else ()
    values["enabled"] = bool(values["enabled"])
    return msgspec.convert(values, WebhookRow)
