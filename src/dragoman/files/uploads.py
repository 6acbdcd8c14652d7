"""Uploads that are under way: a daemon that stops ends them, and leaves nothing of them behind."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from dragoman.errors import Unavailable


class Closable(Protocol):
    """Something that is being received."""

    def close(self) -> None:
        """Leave nothing behind but what was put in its place."""
        ...


U = TypeVar("U", bound=Closable)
P = ParamSpec("P")
T = TypeVar("T")


class Upload(Generic[U]):
    """An upload, to which threads do one thing at a time, and nothing after its end."""

    def __init__(self, upload: U, ended: Callable[[Upload[U]], object]) -> None:
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
        self._open: dict[Upload[Any], None] = {}

    def begin(self, make: Callable[[], U]) -> Upload[U]:
        """Hold a new upload. Raise Unavailable once there are to be none."""
        upload = Upload(make(), self._open.pop)
        self._open[upload] = None
        if self.is_stopped:
            # Whoever stopped it may not have seen this one.
            upload.close()
            raise stopping()
        return upload

    def stop(self) -> tuple[Callable[[], None], ...]:
        """Begin none any more; what is left to be done, which may have to wait for the disk."""
        self.is_stopped = True
        return tuple(upload.close for upload in tuple(self._open))


def stopping() -> Unavailable:
    """What is said to those who come too late."""
    return Unavailable("the daemon is stopping; try again when it is back")
