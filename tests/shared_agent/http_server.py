"""A server that misbehaves when it is asked to: `python -m tests.shared_agent.http_server`."""

from __future__ import annotations

import base64
import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "FAKE_PASSWORD"
END = b""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.streams: list[queue.Queue[bytes]] = []
        self.go_on = threading.Event()

    def say(self, chunk: bytes) -> None:
        for stream in self.streams:
            stream.put(chunk)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _is_allowed(self) -> bool:
        words = base64.b64encode(f"user:{os.environ[PASSWORD]}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {words}"

    def do_GET(self) -> None:
        if not self._is_allowed():
            self._answer(401, {"message": "who are you?"})
        elif self.path == "/events":
            self._stream()
        elif self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "/text")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/fail":
            self._answer(500, {"name": "Broken", "data": {"message": "it is broken"}})
        elif self.path == "/text":
            self._send(200, b"no JSON\nat all")
        elif self.path == "/large":
            self._send(200, b'"' + b"x" * 200_000 + b'"')
        elif self.path in ("/late", "/hang"):
            self.server.go_on.wait()
            self._answer(200, {"late": True})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/die":
            os._exit(3)
        if self.path == "/go":
            self.server.go_on.set()
        if self.path == "/say":
            self.server.say(json.loads(body).encode())
        if self.path == "/break":
            self.server.say(END)
        self._send(200, body if self.path == "/echo" and body else b"true")

    def _stream(self) -> None:
        mine: queue.Queue[bytes] = queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b'data: {"hello":1}\n\n')
        self.server.streams.append(mine)
        while (chunk := mine.get()) != END:
            self.wfile.write(chunk)
        self.server.streams.remove(mine)
        self.close_connection = True

    def _answer(self, status: int, body: Any) -> None:
        self._send(status, json.dumps(body).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    if "--mute" in sys.argv:
        sys.exit("no port is free")
    server = Server()
    host = "192.0.2.1" if "--elsewhere" in sys.argv else "127.0.0.1"
    sys.stdout.write(f"a word before\nlistens at http://{host}:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
