"""History: sessions, events, messages and requests, kept so that no crash can take them back.

Nothing outside this room knows that it is SQLite. `open_store` gives a `Store`.
"""

from dragoman.store.protocol import (
    Append,
    Batch,
    EventCount,
    EventFilter,
    LogEnd,
    LogEvent,
    MessageRow,
    Page,
    ProcessRow,
    Receipt,
    RequestRow,
    SessionFilter,
    SessionRow,
    Store,
    StoreStats,
    WebhookRow,
    WebhookTable,
)
from dragoman.store.repair.check import check, is_waiting, kept_aside
from dragoman.store.sqlite import open_store

__all__ = [
    "Append",
    "Batch",
    "EventCount",
    "EventFilter",
    "LogEnd",
    "LogEvent",
    "MessageRow",
    "Page",
    "ProcessRow",
    "Receipt",
    "RequestRow",
    "SessionFilter",
    "SessionRow",
    "Store",
    "StoreStats",
    "WebhookRow",
    "WebhookTable",
    "check",
    "is_waiting",
    "kept_aside",
    "open_store",
]
