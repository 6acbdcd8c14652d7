"""What can go wrong on the way to the daemon, and its problem documents as our exceptions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dragoman.client.decode import decode
from dragoman.errors import DaemonError, DragomanError, RequestError
from dragoman.schema.http import Problem


class Unreachable(DragomanError):
    """No daemon answers at this address, or the way to it was cut for too long."""

    status = 503
    title = "Unreachable"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"no daemon answers at {url} ({why}); start one with `dragoman serve`, "
            "or name another with --url or DRAGOMAN_URL",
            url=url,
        )


class BadAnswer(DaemonError):
    """Something answered, but not as a daemon does."""

    status = 502
    title = "Bad Answer"


def failure(status: int, content: bytes) -> DragomanError:
    """The exception that a response with this status and body stands for."""
    try:
        problem = decode(content, Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _without_problem(status)
    kind = _kind(status, problem.title)
    known = kind.title == problem.title
    detail = problem.detail or problem.title
    # The subclasses build their own sentences; the daemon has already written this one.
    error = kind.__new__(kind)
    DragomanError.__init__(error, detail if known else f"{problem.title}: {detail}")
    error.details = dict(problem.details or {})
    error.agent = problem.agent
    error.session_id = problem.session_id
    return error


def _without_problem(status: int) -> DragomanError:
    message = f"the answer has status {status} and no problem document; is this a Dragoman daemon?"
    return RequestError(message) if 400 <= status < 500 else BadAnswer(message)


def _kind(status: int, title: str) -> type[DragomanError]:
    kinds = [kind for kind in _kinds(DragomanError) if kind.status == status]
    for kind in kinds:
        if kind.title == title:
            return kind
    family = RequestError if status < 500 else DaemonError
    # An unknown title is still its status: the nearest to the root says no more than that.
    return next((kind for kind in kinds if issubclass(kind, family)), family)


def _kinds(root: type[DragomanError]) -> Iterator[type[DragomanError]]:
    level = [root]
    while level:
        # The root and the two families are no answers, and what this room adds is never sent.
        yield from (
            kind
            for kind in level
            if kind not in (root, RequestError, DaemonError) and kind.__module__ == root.__module__
        )
        level = [below for kind in level for below in kind.__subclasses__()]
