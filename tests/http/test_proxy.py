"""Behind nginx, with TLS and a path prefix: the API works, and a stream is not held up.

The server's settings are those of docs/behind-a-proxy.md.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.wire.sse import SseParser
from tests.cases.common import eventually
from tests.daemon import Daemon, running

DOCS = Path(__file__).parents[2] / "docs" / "behind-a-proxy.md"
PREFIX = "/dragoman"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
OPENSSL = shutil.which("openssl")

pytestmark = pytest.mark.skipif(
    NGINX is None or OPENSSL is None, reason="nginx or openssl is missing: run `make tools`"
)


class Proxied:
    """The daemon, as it is seen through the proxy."""

    def __init__(self, daemon: Daemon, port: int, certificate: Path) -> None:
        self.daemon = daemon
        self.port = port
        self.certificate = certificate

    def connect(self) -> http.client.HTTPSConnection:
        """A connection that trusts the proxy."""
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=context)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """One request."""
        connection = self.connect()
        headers = self.daemon.headers(
            **({} if body is None else {"Content-Type": "application/json"})
        )
        data = None if body is None else json.dumps(body)
        connection.request(method, f"{PREFIX}{path}", data, headers)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            connection.close()


def settings_of_the_guide() -> str:
    """What docs/behind-a-proxy.md says to write into nginx's configuration."""
    (found,) = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return str(found)


@contextmanager
def nginx(folder: Path, daemon: Daemon) -> Iterator[int]:
    """An nginx with the settings of the guide; its port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=dragoman.example", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    server = settings_of_the_guide()
    server = server.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
    server = server.replace("/etc/ssl/dragoman.pem", str(certificate))
    server = server.replace("/etc/ssl/dragoman.key", str(key))
    server = server.replace("127.0.0.1:2468", f"127.0.0.1:{daemon.port}")
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;"
        f"events {{}} http {{ access_log off; {temporary} {server} }}"
    )
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen([*command, "-e", str(folder / "error.log")]) as process:
        try:
            eventually(lambda: _listens(port), "nginx listens")
            yield port
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp("proxy")
    with running(folder / "data") as daemon, nginx(folder, daemon) as port:
        yield Proxied(daemon, port, folder / "certificate.pem")


def test_the_api_works_behind_a_prefix(proxied: Proxied) -> None:
    assert proxied.request("GET", "/v1/health") == (200, b'{"status":"ok"}')
    status, _ = proxied.request("POST", "/v1/sessions/behind", {"agent": "mock"})
    assert status == 200
    assert proxied.request("POST", "/v1/sessions/behind/messages", {"message": "hi"})[0] == 204
    proxied.daemon.wait_for("behind", "turn.ended")
    status, page = proxied.request("GET", "/v1/sessions/behind/events")
    assert status == 200
    assert json.loads(page)["events"] == proxied.daemon.events("behind")


def test_a_stream_is_not_held_up(proxied: Proxied) -> None:
    proxied.daemon.create("live")
    connection = proxied.connect()
    path = f"{PREFIX}/v1/sessions/live/events/sse"
    connection.request("GET", path, headers=proxied.daemon.headers())
    answer = connection.getresponse()
    assert answer.status == 200
    parser = SseParser()
    seen: list[str] = []

    def until(type: str) -> None:
        while type not in seen:
            for _, data in parser.feed(answer.read1(1 << 16)):
                seen.append(json.loads(data)["type"])

    until("session.started")
    # Each of these is heard while the stream is open, and nothing else follows to push it on.
    proxied.daemon.send("live", "permission")
    until("permission.requested")
    proxied.daemon.request("POST", "/sessions/live/interrupt", {})
    until("turn.ended")
    connection.close()


def test_the_command_line_takes_the_prefix_as_a_part_of_the_url(proxied: Proxied) -> None:
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(proxied.certificate.parent),
        "SSL_CERT_FILE": str(proxied.certificate),
        "DRAGOMAN_URL": f"https://127.0.0.1:{proxied.port}{PREFIX}",
        "DRAGOMAN_TOKEN": proxied.daemon.token,
    }
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "send", "cli", "--agent", "mock", "echo hello"],
        capture_output=True, text=True, env=environ, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "hello" in done.stdout) == (0, True), done.stderr


def test_without_a_token_nobody_comes_in(proxied: Proxied) -> None:
    connection = proxied.connect()
    connection.request("GET", f"{PREFIX}/v1/sessions")
    assert connection.getresponse().status == 401
    connection.close()
