"""Sends one signed request to a receiver, and tells what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct

from dragoman import __version__
from dragoman.wire.receiver_url import is_local
from dragoman.wire.webhook_signature import signature, signing_key

MAX_ANSWER_BYTES = 4096
"""So much of an answer is read, and dropped: then its connection can be used again."""
ANSWER_S = 1.0
"""How long that may take."""
GONE = 410


class SendResult(Struct, frozen=True, kw_only=True):
    """What became of a request."""

    status: int | None = None
    """None: there was no answer."""
    error: str = ""
    """Why it was not delivered."""
    retry_after: str | None = None
    """When the receiver wants to be asked again, in its own words."""

    @property
    def delivered(self) -> bool:
        """The receiver has it."""
        return self.status is not None and 200 <= self.status < 300


class WebhookSender:
    """Signs, sends, and keeps connections open between requests. Follows no redirects.

    The proxies of the environment hold, but not for what is on this machine.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._clients: dict[tuple[str, bool], httpx2.AsyncClient] = {}

    async def send(self, url: str, secret: str, webhook_id: str, body: bytes) -> SendResult:
        """Send a body, and say whether it arrived. Whatever goes wrong is in the result."""
        try:
            async with asyncio.timeout(self._timeout_s):
                client = await self._client(url)
                headers = _headers(secret, webhook_id, body)
                request = client.build_request("POST", url, content=body, headers=headers)
                response = await client.send(request, stream=True)
            client.cookies.clear()  # a receiver is told nothing of what another one said
        except TimeoutError:
            return SendResult(error=f"the receiver did not answer within {self._timeout_s:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return SendResult(error=f"the receiver cannot be reached: {error or type(error)}")
        await _drop(response)
        status, phrase = response.status_code, response.reason_phrase
        return SendResult(
            status=status,
            error=f"the receiver answered {status} {phrase[:64]}".strip(),
            retry_after=response.headers.get("retry-after"),
        )

    async def close(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _client(self, url: str) -> httpx2.AsyncClient:
        kind = urlsplit(url).scheme, is_local(url)
        if kind not in self._clients:
            # The first one loads much, and certificates take longer to read than a request.
            client = await asyncio.to_thread(_make_client, *kind, self._timeout_s)
            self._clients.setdefault(kind, client)  # somebody may have been faster
        return self._clients[kind]


def _make_client(scheme: str, is_local: bool, timeout_s: float) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        verify=ssl.create_default_context() if scheme == "https" else False,
        trust_env=not is_local,
        timeout=timeout_s,
        follow_redirects=False,
    )


def _headers(secret: str, webhook_id: str, body: bytes) -> dict[str, str]:
    timestamp_s = int(time.time())
    return {
        "content-type": "application/json",
        "user-agent": f"Dragoman/{__version__}",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": signature(signing_key(secret), webhook_id, timestamp_s, body),
    }


async def _drop(response: httpx2.Response) -> None:
    """Read an answer that is short to its end; what is longer costs its connection."""
    size = 0
    # Its status has come, and that is all that counts.
    with contextlib.suppress(TimeoutError, httpx2.HTTPError, httpx2.StreamError):
        async with asyncio.timeout(ANSWER_S):
            async for chunk in response.aiter_raw():
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    break
    with contextlib.suppress(httpx2.HTTPError):
        await response.aclose()
