"""The files of the daemon's machine, for programs that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from dragoman.client.calls import Answer, ApiCall
from dragoman.client.decode import decode
from dragoman.client.failures import Unreachable, failure
from dragoman.schema.files import (
    FsDone,
    FsEntry,
    FsMove,
    FsMoved,
    FsStat,
    FsUnpacked,
    FsWritten,
)

Result = TypeVar("Result")

UPLOAD_S = 600.0
"""What is large may take long until it is safe on a disk."""


class Do(Protocol):
    """Carries a call to the daemon, and its answer back."""

    def __call__(self, call: ApiCall[Result]) -> Result:
        """Raise what the answer stands for."""


class Files:
    """Files beneath the daemon's roots, or in the directory of a session."""

    def __init__(self, do: Do, http: httpx2.Client) -> None:
        self._do = do
        self._http = http

    def entries(self, path: str = "", *, session: str | None = None) -> tuple[FsEntry, ...]:
        """List a folder, by name."""
        read = _body(tuple[FsEntry, ...])
        return self._do(ApiCall("GET", "/v1/fs/entries", read, params=_query(path, session)))

    def stat(self, path: str, *, session: str | None = None) -> FsStat:
        """Look at one entry."""
        return self._do(ApiCall("GET", "/v1/fs/stat", _body(FsStat), params=_query(path, session)))

    def read(self, path: str, *, session: str | None = None) -> Iterator[bytes]:
        """Fetch a file, piece by piece."""
        return self._fetch("/v1/fs/file", _query(path, session))

    def read_stored(self, session: str, name: str) -> Iterator[bytes]:
        """Fetch a file that an event of a session names, by the last part of its path."""
        return self._fetch(f"/v1/sessions/{quote(session, '')}/files/{quote(name, '')}", {})

    def write(
        self, path: str, content: bytes | Iterable[bytes], *, session: str | None = None
    ) -> FsWritten:
        """Write a file, and the folders above it."""
        return self._do(
            ApiCall(
                "PUT",
                "/v1/fs/file",
                _body(FsWritten),
                params=_query(path, session),
                headers={"Content-Type": "application/octet-stream"},
                content=content,
                timeout_s=UPLOAD_S,
            )
        )

    def unpack(
        self, archive: bytes | Iterable[bytes], path: str = "", *, session: str | None = None
    ) -> FsUnpacked:
        """Unpack a tar archive, which may be gzipped, into a folder."""
        return self._do(
            ApiCall(
                "POST",
                "/v1/fs/upload-batch",
                _body(FsUnpacked),
                params=_query(path, session),
                headers={"Content-Type": "application/x-tar"},
                content=archive,
                timeout_s=UPLOAD_S,
            )
        )

    def make_folder(self, path: str, *, session: str | None = None) -> str:
        """Make a folder, and those above it; its path."""
        call = ApiCall("POST", "/v1/fs/mkdir", _body(FsDone), params=_query(path, session))
        return self._do(call).path

    def remove(self, path: str, *, recursive: bool = False, session: str | None = None) -> None:
        """Remove an entry."""
        params = {**_query(path, session), "recursive": str(recursive).lower()}
        self._do(ApiCall("DELETE", "/v1/fs/entry", _body(FsDone), params=params))

    def move(
        self, source: str, target: str, *, overwrite: bool = False, session: str | None = None
    ) -> FsMoved:
        """Move an entry; `overwrite` replaces what is in its new place."""
        body = FsMove(from_=source, to=target, overwrite=overwrite)
        return self._do(
            ApiCall(
                "POST",
                "/v1/fs/move",
                _body(FsMoved),
                params={} if session is None else {"session_id": session},
                headers={"Content-Type": "application/json"},
                content=msgspec.json.encode(body),
            )
        )

    def _fetch(self, path: str, params: dict[str, str]) -> Iterator[bytes]:
        try:
            with self._http.stream("GET", path, params=params) as response:
                if response.status_code != 200:
                    raise failure(response.status_code, response.read())
                yield from response.iter_raw()
        except httpx2.RequestError as error:
            url = str(self._http.base_url)
            raise Unreachable(url, str(error) or type(error).__name__) from None


def _query(path: str, session: str | None) -> dict[str, str]:
    return {"path": path} if session is None else {"path": path, "session_id": session}


def _body(kind: type[Result]) -> Callable[[Answer], Result]:
    return lambda answer: decode(answer.content, kind)
