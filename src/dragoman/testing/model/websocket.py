"""The server's side of a WebSocket (RFC 6455), as far as loopback needs it: text, pings, an end."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Iterator
from typing import cast

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_FINAL, _MASKED = 0x80, 0x80
_TWO_BYTES, _EIGHT_BYTES = 126, 127


class WebSocket(asyncio.Protocol):
    """One connection, from its handshake on. The client's frames are masked, ours are not."""

    def __init__(self, key: bytes, subprotocol: bytes) -> None:
        self.on_text: Callable[[str], None] = lambda text: None
        self.on_close: Callable[[], None] = lambda: None
        self._key = key
        self._subprotocol = subprotocol
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._pieces: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept."""
        self._transport = cast(asyncio.Transport, transport)
        accept = base64.b64encode(hashlib.sha1(self._key + _GUID).digest())
        chosen = [b"Sec-WebSocket-Protocol: " + self._subprotocol] if self._subprotocol else []
        head = [
            b"HTTP/1.1 101 Switching Protocols",
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Accept: " + accept,
            *chosen,
        ]
        self._transport.write(b"\r\n".join([*head, b"", b""]))

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._transport = None
        self.on_close()

    def data_received(self, data: bytes) -> None:
        """Take the frames that are whole."""
        self._buffer += data
        for opcode, final, payload in self._frames():
            if opcode == _PING:
                self._send(_PONG, payload)
            elif opcode == _CLOSE:
                self._send(_CLOSE, payload)
                self.close()
            elif opcode != _PONG:
                self._pieces.append(payload)
                if final:
                    text, self._pieces = b"".join(self._pieces), []
                    self.on_text(text.decode())

    def send(self, text: str) -> None:
        """Say something, if anybody is there."""
        self._send(_TEXT, text.encode())

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < _TWO_BYTES:
            length = bytes([size])
        elif size < 1 << 16:
            length = bytes([_TWO_BYTES]) + size.to_bytes(2, "big")
        else:
            length = bytes([_EIGHT_BYTES]) + size.to_bytes(8, "big")
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(bytes([_FINAL | opcode]) + length + payload)

    def _frames(self) -> Iterator[tuple[int, bool, bytes]]:
        """Opcode, whether a message ends with it, and payload of each frame that is whole."""
        while len(self._buffer) >= 2:
            first, second = self._buffer[0], self._buffer[1]
            size, at = second & 0x7F, 2
            if size >= _TWO_BYTES:
                wide = 2 if size == _TWO_BYTES else 8
                size, at = int.from_bytes(self._buffer[2 : 2 + wide], "big"), 2 + wide
            start = at + 4 * bool(second & _MASKED)
            if len(self._buffer) < start + size or len(self._buffer) < start:
                return
            mask, payload = self._buffer[at:start], self._buffer[start : start + size]
            self._buffer = self._buffer[start + size :]
            yield first & 0x0F, bool(first & _FINAL), _unmasked(payload, mask)


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    if not mask or not payload:
        return payload
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    number = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return number.to_bytes(len(payload), "big")
