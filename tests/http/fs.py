"""The file API of a daemon, in few words."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from tests.daemon import Daemon, Reply


class Fs:
    """Asks about files, beneath the daemon's root or in a session's directory."""

    def __init__(
        self,
        daemon: Daemon,
        session_id: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.daemon = daemon
        self._session_id = session_id
        self._headers = headers or {}

    def ask(
        self,
        method: str,
        route: str,
        *,
        body: bytes | Iterable[bytes] | None = None,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Reply:
        """One request; `query` as it would be written."""
        if self._session_id is not None:
            query["session_id"] = self._session_id
        connection = self.daemon.connect()
        try:
            target = f"/v1/fs/{route}?{urlencode(query)}"
            # Who is refused early may not get rid of all that there is to say.
            with contextlib.suppress(ConnectionError):
                sent = self.daemon.headers(**{**self._headers, **(headers or {})})
                connection.request(method, target, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def entries(self, path: str = "") -> Reply:
        return self.ask("GET", "entries", path=path)

    def names(self, path: str = "") -> list[str]:
        reply = self.entries(path)
        assert reply.status == 200, reply.body
        return [entry["name"] for entry in reply.json]

    def read(self, path: str, **headers: str) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("GET", "file", path=path, headers=sent)

    def write(self, path: str, content: bytes) -> Reply:
        return self.ask("PUT", "file", path=path, body=content)

    def stat(self, path: str) -> Reply:
        return self.ask("GET", "stat", path=path)

    def mkdir(self, path: str) -> Reply:
        return self.ask("POST", "mkdir", path=path)

    def remove(self, path: str, **query: Any) -> Reply:
        return self.ask("DELETE", "entry", path=path, **query)

    def move(self, source: str, target: str, **more: Any) -> Reply:
        query = "" if self._session_id is None else f"?sessionId={self._session_id}"
        body = {"from": source, "to": target, **more}
        return self.daemon.request("POST", f"/fs/move{query}", body)

    def unpack(
        self, archive: bytes | Iterable[bytes], path: str = "", type: str = "application/x-tar"
    ) -> Reply:
        headers = {"Content-Type": type}
        return self.ask("POST", "upload-batch", path=path, body=archive, headers=headers)


def member(name: str, content: bytes = b"", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    """One member of an archive; more is what a TarInfo has."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def tar(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    """An archive of these."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=format) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()
