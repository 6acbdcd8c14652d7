"""The receivers in the documentation: they take what the daemon sends, and nothing else."""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.wire.webhook_signature import secret_of, signature, signing_key
from tests.daemon import Daemon
from tests.generated import DOCS

SECRET, OTHER = secret_of(b"k" * 32), secret_of(b"l" * 32)
RUNNERS = {"python": [sys.executable, "receiver.py"], "js": ["node", "receiver.mjs"]}
languages = pytest.mark.parametrize(
    "language",
    [
        "python",
        pytest.param("js", marks=pytest.mark.skipif(not shutil.which("node"), reason="no Node")),
    ],
)


@contextmanager
def documented(language: str, folder: Path, secret: str) -> Iterator[tuple[int, Iterator[str]]]:
    """The receiver of the page, run as it is; its port, and what it prints."""
    (code,) = re.findall(
        rf"^```{language}\n(.*?)^```$", (DOCS / "webhooks.md").read_text(), re.DOTALL | re.M
    )
    runner, name = RUNNERS[language]
    (folder / name).write_text(code)
    with subprocess.Popen(
        [runner, str(folder / name), "0", secret], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(" ")[2])
            yield port, process.stdout
        finally:
            process.kill()


def post(port: int, webhook_id: str, timestamp: str, signed: str, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {
        "webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": signed,
    }  # fmt: skip
    try:
        connection.request("POST", "/", body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


@languages
def test_it_takes_each_event_of_a_daemon_once(
    daemon: Daemon, tmp_path: Path, language: str
) -> None:
    with documented(language, tmp_path, SECRET) as (port, printed):
        hook = {"url": f"http://127.0.0.1:{port}", "secret": SECRET}
        added = daemon.request("POST", "/hooks", hook).json
        daemon.create(language)
        daemon.turn(language, "demo")
        for event in daemon.events(language):
            if event["type"] != "item.delta":
                assert next(printed).split() == [event["type"], language, str(event["sequence"])]
        assert daemon.request("DELETE", f"/hooks/{added['id']}").status == 204


@languages
def test_it_refuses_another_secret(daemon: Daemon, tmp_path: Path, language: str) -> None:
    with documented(language, tmp_path, OTHER) as (port, _):
        hook = {"url": f"http://127.0.0.1:{port}", "secret": SECRET, "types": ["error"]}
        added = daemon.request("POST", "/hooks", hook).json
        sent = daemon.request("POST", f"/hooks/{added['id']}/test").json
        assert (sent["delivered"], sent["status"]) == (False, 401)
        assert daemon.request("DELETE", f"/hooks/{added['id']}").status == 204


@languages
def test_it_refuses_what_was_changed_and_what_is_old(tmp_path: Path, language: str) -> None:
    now, body = int(time.time()), b'{"type":"turn.ended","text":"\xc3\xbc"}'
    good = signature(signing_key(SECRET), "evt_1", now, body)
    old = signature(signing_key(SECRET), "evt_1", now - 3600, body)
    with documented(language, tmp_path, SECRET) as (port, printed):
        refused = [
            post(port, "evt_1", str(now), good, body.replace(b"ended", b"ENDED")),
            post(port, "evt_2", str(now), good, body),
            post(port, "evt_1", str(now + 1), good, body),
            post(port, "evt_1", str(now - 3600), old, body),
            post(port, "evt_1", str(now), good[:-4], body),
            post(port, "evt_1", str(now), good.removeprefix("v1,"), body),
            post(port, "evt_1", "soon", good, body),
            post(port, "", "", "", body),
        ]
        assert refused == [401] * len(refused)
        # During a change of secrets there may be more than one signature.
        for signed in (good, f"v1,AAAA {good}", good):
            assert post(port, "evt_1", str(now), signed, body) == 204
        assert next(printed).split() == ["turn.ended"]
