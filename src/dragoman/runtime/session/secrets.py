"""Which values must be redacted: the daemon's own and those a session was given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping

from dragoman.adapter import Adapter
from dragoman.schema.http import CreateSession
from dragoman.schema.mcp_skills import McpOAuth, McpServer
from dragoman.settings import Settings
from dragoman.wire.redactor import MIN_CHARACTERS, TOKEN_NAME, Redactor, Secret

_PLACE_NAMES = ("HOME", "DIR", "PATH", "FOLDER", "ROOT", "FILE")
"""How variables end that hold a path."""


class Secrets:
    """What is secret here; what agents read from files of their own, nobody here knows."""

    def __init__(
        self,
        settings: Settings,
        adapters: Iterable[Adapter],
        environ: Mapping[str, str],
        token: str | None = None,
    ) -> None:
        credentials = (name for adapter in adapters for name in adapter.credentials)
        names = dict.fromkeys((*credentials, *settings.redact_names))
        own = [(TOKEN_NAME, token), *((name, environ.get(name)) for name in names)]
        given = [(name, value) for name, value in own if value]
        self.daemon = Redactor(given) if settings.redact else None
        """Knows the daemon's own; None: the settings want nothing redacted."""
        self._environ = environ

    def daemon_secrets(self) -> list[Secret]:
        """The daemon's own, where they are long enough to be told from words."""
        secrets = self.daemon.secrets if self.daemon is not None else ()
        return [secret for secret in secrets if len(secret[1]) >= MIN_CHARACTERS]

    async def of_session(
        self, create: CreateSession, agent_env: Mapping[str, str]
    ) -> Redactor | None:
        """Knows the session's, its agent's and our own; None: nothing is to be redacted."""
        if self.daemon is None or not (create.env or create.mcp or agent_env):
            return self.daemon
        given = [*agent_env.items(), *self._session_secrets(create, agent_env)]
        secrets = await asyncio.to_thread(_without_places, given)
        return Redactor((*secrets, *self.daemon.secrets))

    def _session_secrets(
        self, create: CreateSession, agent_env: Mapping[str, str]
    ) -> Iterator[Secret]:
        env = create.env or {}
        yield from env.items()
        for server in (create.mcp or {}).values():
            yield from _of_server(server, {**self._environ, **agent_env, **env})


def _of_server(server: McpServer, environ: Mapping[str, str]) -> Iterator[Secret]:
    yield from {**(server.environment or {}), **(server.env or {})}.items()
    for header, value in (server.headers or {}).items():
        yield header, value
        yield header, value.partition(" ")[2]  # without the scheme, e.g. Bearer
    for name in (server.bearer_token_env_var, *(server.env_headers or {}).values()):
        if name is not None and name in environ:
            yield name, environ[name]
    if isinstance(server.oauth, McpOAuth) and server.oauth.client_secret:
        yield "clientSecret", server.oauth.client_secret
    login = (server.url or "").partition("://")[2].partition("/")[0].rpartition("@")[0]
    yield "url", login.partition(":")[2]


def _without_places(given: Iterable[Secret]) -> list[Secret]:
    """Leave out paths: they are no secrets, and events must name files as they are called."""
    places = {value for name, value in given if _is_place(name, value)}
    return [secret for secret in given if secret[1] not in places]


def _is_place(name: str, value: str) -> bool:
    # A key may begin with a slash, too; but not with a folder that is there.
    return value.startswith("/") and (
        name.endswith(_PLACE_NAMES) or os.path.isdir(f"/{value.split('/')[1]}")
    )
