"""MCP servers that are given with a session, and their tools."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.agents.claude.live import mcp_server
from tests.agents.claude.live.heard import told
from tests.agents.claude.live.scripts import tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import called, output, results, statuses
from tests.testing.story import items, of_type, parts, said


def tiny(**more: Any) -> dict[str, Any]:
    """A server that comes up."""
    return {"type": "stdio", "command": [sys.executable, mcp_server.__file__], **more}


def session(claude: Bench, name: str, **given: Any) -> Live:
    """A session with the server, whose model calls one of its tools."""
    return claude.session(
        calls(tool(f"mcp__tiny__{name}", **given)), "Done.", mcp={"tiny": tiny()},
        permissionMode="bypass",
    )  # fmt: skip


@contextmanager
def remote() -> Iterator[tuple[str, set[str]]]:
    """A server at an address; the address, and the authorizations that it was shown."""
    shown: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            shown.add(f"{self.path} {self.headers['Authorization']} {self.headers['X-Tiny']}")
            told = {"jsonrpc": "2.0", "id": body.get("id"), "result": mcp_server.answer(body)}
            data = json.dumps(told).encode() if "id" in body else b""
            self.send_response(200 if data else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp?key=s3cr3t", shown
        server.shutdown()
        thread.join()


def test_a_tool_of_an_mcp_server_is_called(claude: Bench) -> None:
    live = session(claude, "echo", text="grün 🐉")
    events = live.turn("Echo it")
    (call,) = called(events, "mcp__tiny__echo")
    assert call["server"] == "tiny"
    (given,) = results(events)
    assert (given["status"], output(given)) == ("completed", "echo: grün 🐉")
    assert said(events) == ["Done."]
    assert sorted(path.name for path in live.workspace.iterdir()) == []
    live.conforms()


def test_a_tool_of_an_mcp_server_fails(claude: Bench) -> None:
    live = session(claude, "fail")
    (given,) = results(live.turn("Fail"))
    assert (given["status"], output(given)) == ("failed", "it failed")
    live.conforms()


def test_a_tool_of_an_mcp_server_gives_an_image(claude: Bench) -> None:
    live = session(claude, "paint")
    (given,) = results(live.turn("Paint"))
    assert output(given).startswith("a pixel")
    (image,) = parts(given, "image")
    assert image["mime"] == "image/png"
    assert Path(image["path"]).read_bytes().startswith(b"\x89PNG")
    live.conforms()


def test_a_tool_of_an_mcp_server_is_asked_for(claude: Bench) -> None:
    echo = calls(tool("mcp__tiny__echo", text="one"))
    live = claude.session(echo, echo, "Done.", mcp={"tiny": tiny()})
    live.send("Echo it twice")
    asked = live.until("permission.requested")
    assert asked["data"]["action"] == "mcp__tiny__echo"
    assert asked["data"]["metadata"]["rule"] == "mcp__tiny__echo"
    live.reply(asked, "always")
    live.until("turn.ended")
    events = live.conforms()
    assert [output(given) for given in results(events)] == ["echo: one", "echo: one"]
    assert len(of_type(events, "permission.requested")) == 1


def test_a_server_that_does_not_start_is_told(claude: Bench) -> None:
    broken = {"type": "stdio", "command": [sys.executable, "-c", "raise SystemExit(3)"]}
    live = claude.session("Without it, then.", mcp={"broken": broken, "tiny": tiny()})
    events = live.turn("Hello")
    assert ("mcp.failed", "broken") in statuses(events)
    (failed,) = [item for item in items(events, "status") if item["status"] == "failed"]
    assert "tiny" not in str(failed)
    assert said(events) == ["Without it, then."]
    live.conforms()


def test_a_server_that_is_switched_off_is_not_started(claude: Bench) -> None:
    live = claude.session(
        calls(tool("mcp__tiny__echo", text="hi")), "None.", mcp={"tiny": tiny(enabled=False)}
    )
    (given,) = results(live.turn("Echo it"))
    assert given["status"] == "failed"
    assert "No such tool" in output(given)
    live.conforms()


def test_a_servers_secret_is_on_no_command_line(claude: Bench) -> None:
    secret = "s3cr3t-$HOME-${PATH}"
    live = claude.session(
        calls(tool("mcp__tiny__secret")),
        {"text": "I know how long it is.", "gate": "look"},
        mcp={"tiny": tiny(env={"TINY_SECRET": secret})},
        permissionMode="bypass",
    )
    live.send("How long?")
    live.model.wait_for_request(2)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in live.processes()]
    assert any(b"--mcp-config" in line for line in lines)
    assert not any(b"s3cr3t" in line for line in lines)
    live.model.open("look")
    live.until("turn.ended")
    (given,) = results(live.conforms())
    assert output(given) == f"length {len(secret)}"
    assert secret not in str(live.events(raw=True))
    assert "s3cr3t" not in told(live.model.mains[-1])


def test_a_server_at_an_address_is_called_with_its_headers(claude: Bench) -> None:
    with remote() as (url, shown):
        live = claude.session(
            calls(tool("mcp__far__echo", text="hi")),
            {"text": "Done.", "gate": "look"},
            mcp={
                "far": {
                    "type": "remote",
                    "url": url,
                    "headers": {"X-Tiny": "s3cr3t two"},
                    "bearerTokenEnvVar": "FAR_TOKEN",
                }
            },
            env={"FAR_TOKEN": "s3cr3t-three"},
            permissionMode="bypass",
        )
        live.send("Echo it")
        live.model.wait_for_request(2)
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in live.processes()]
        assert not any(b"s3cr3t" in line for line in lines)
        live.model.open("look")
        live.until("turn.ended")
        (given,) = results(live.conforms())
        assert output(given) == "echo: hi"
        assert shown == {"/mcp?key=s3cr3t Bearer s3cr3t-three s3cr3t two"}
        live.terminate()


def test_a_server_that_never_answers_is_told_after_its_time(claude: Bench) -> None:
    """Before, its time was not heeded, and where it was pending nothing told of it."""
    deaf = {"type": "local", "command": [sys.executable, "-c", "import sys; sys.stdin.read()"]}
    server = {**deaf, "timeoutMs": 1500}
    live = claude.session("Without it.", "Still without.", mcp={"deaf": server})
    live.send("Hello")
    assert live.info["status"] == "starting"
    ended = live.until("turn.ended")
    first = [label for label, detail in statuses(live.events()) if detail == "deaf"]
    assert first in (["mcp.pending"], ["mcp.failed"])
    live.turn("And now?")
    told = [label for label, detail in statuses(live.since(ended)) if detail == "deaf"]
    assert [*first, *told][-1] == "mcp.failed"
    live.conforms()
