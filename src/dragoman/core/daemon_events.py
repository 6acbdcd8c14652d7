"""Events that the daemon makes by itself, outside of an agent's work: the only place for them."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.core.items import NewId
from dragoman.core.normalize import Normalizer
from dragoman.schema.events import Body, Draft, SessionStarted
from dragoman.steps import Step


def draft(body: Body, native_session_id: str | None = None) -> Draft:
    """An event of the daemon's own."""
    return Draft(body, "daemon", native_session_id)


def session_started(body: SessionStarted, steps: Iterable[Step], new_id: NewId) -> list[Draft]:
    """The first events of a session: that it started, and what is to be said at once."""
    normalizer = Normalizer(new_id)
    for step in steps:
        normalizer.apply(step, None)
    said = (output for output in normalizer.take() if isinstance(output, Draft))
    return [draft(body), *said]
