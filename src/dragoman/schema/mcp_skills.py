"""MCP servers and skills of a session."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dragoman.schema.camel import Http


class McpOAuth(Http, frozen=True, kw_only=True):
    """OAuth towards a remote MCP server."""

    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None


class McpServer(Http, frozen=True, kw_only=True):
    """An MCP server: a local command, or a remote address."""

    type: Literal["local", "stdio", "remote", "http"]
    command: str | tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    environment: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    bearer_token_env_var: str | None = None
    env_headers: dict[str, str] | None = None
    oauth: McpOAuth | bool | None = None
    transport: Literal["http", "sse"] | None = None
    enabled: bool | None = None
    timeout_ms: Annotated[int, Meta(ge=0)] | None = None
    timeout: Annotated[int, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        """Refuse what could never be started."""
        needed = "command" if self.type in ("local", "stdio") else "url"
        if not getattr(self, needed):
            raise ValueError(f"an MCP server of type {self.type!r} needs {needed}")


MASK = "***"
_LOGIN = re.compile(r"(?<=://)[^/\s]+(?=@)")


def without_login(text: str) -> str:
    """A text without the logins of the addresses in it."""
    return _LOGIN.sub(MASK, text)


def masked_server(server: McpServer) -> McpServer:
    """A server as it may be shown: the names of secrets, not their values.

    Where there are two words for a thing, it has the one that every client knows.
    """
    env = {**(server.environment or {}), **(server.env or {})}
    oauth = server.oauth
    if isinstance(oauth, McpOAuth) and oauth.client_secret is not None:
        oauth = msgspec.structs.replace(oauth, client_secret=MASK)
    return msgspec.structs.replace(
        server,
        type="local" if server.type in ("local", "stdio") else "remote",
        env=dict.fromkeys(env, MASK) or None,
        environment=None,
        headers=server.headers and dict.fromkeys(server.headers, MASK),
        oauth=oauth,
        url=server.url and without_login(server.url),
        timeout_ms=server.timeout if server.timeout_ms is None else server.timeout_ms,
        timeout=None,
    )


class SkillSource(Http, frozen=True, kw_only=True):
    """Where skills come from."""

    type: Literal["github", "git", "local"]
    source: str
    skills: tuple[str, ...] | None = None
    ref: str | None = None
    subpath: str | None = None


class Skills(Http, frozen=True, kw_only=True):
    """The skills of a session."""

    sources: tuple[SkillSource, ...]


def masked_skills(skills: Skills) -> Skills:
    """Skills as they may be shown: addresses without their logins."""
    sources = (
        msgspec.structs.replace(source, source=without_login(source.source))
        for source in skills.sources
    )
    return Skills(sources=tuple(sources))
