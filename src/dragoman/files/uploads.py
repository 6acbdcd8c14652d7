"""Uploads that are under way: a daemon that stops ends them, and leaves nothing of them behind."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from dragoman.errors import Unavailable


class Upload(Protocol):
    """Something that is being received."""

    def close(self) -> None:
        """Leave nothing behind but what was put in its place."""
        ...


U = TypeVar("U", bound=Upload)
P = ParamSpec("P")
T = TypeVar("T")


class Held(Generic[U]):
    """An upload, to which threads do one thing at a time, and nothing after its end."""

    def __init__(self, upload: U, ended: Callable[[Held[U]], object]) -> None:
        self.upload = upload
        self._ended = ended
        self._lock = Lock()
        self._is_over = False

    def do(self, work: Callable[Concatenate[U, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something to it. Raise Unavailable where it was ended."""
        with self._lock:
            if self._is_over:
                raise stopping()
            return work(self.upload, *args, **kwargs)

    def close(self) -> None:
        """End it, once."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._ended(self)
                self.upload.close()


class Uploads:
    """All uploads of a daemon."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._held: dict[Held[Any], None] = {}

    def begin(self, make: Callable[[], U]) -> Held[U]:
        """Hold a new upload. Raise Unavailable once there are to be none."""
        held = Held(make(), self._held.pop)
        self._held[held] = None
        if self.is_stopped:
            # Whoever stopped it may not have seen this one.
            held.close()
            raise stopping()
        return held

    def stop(self) -> tuple[Callable[[], None], ...]:
        """Begin none any more; what is left to be done, which may have to wait for the disk."""
        self.is_stopped = True
        return tuple(held.close for held in tuple(self._held))


def stopping() -> Unavailable:
    """What is said to those who come too late."""
    return Unavailable("the daemon is stopping; try again when it is back")
