"""The scripted model as Amp's server: threads over a WebSocket, one step for each answer."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from typing import Any

from dragoman.testing.model import ScriptedModel, StepLike
from dragoman.testing.model.amp import SOCKET


class Process:
    """What a process of Amp does, as far as the server can see it."""

    def __init__(self, model: ScriptedModel, thread: str) -> None:
        port = int(model.url.rpartition(":")[2])
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._stream = self._socket.makefile("rb")
        head = (
            f"GET {SOCKET}/?rvt-key={thread} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Protocol: rivet\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(head.encode())
        self.head = b"".join(iter(self._stream.readline, b"\r\n"))

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._socket.sendall(b"\x81" + size + mask + masked)

    def call(self, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def hear(self) -> str:
        _, size = self._stream.read(2)
        if size >= 126:
            size = int.from_bytes(self._stream.read(2 if size == 126 else 8), "big")
        return self._stream.read(size).decode()

    def until(self, method: str, **about: Any) -> Any:
        while True:
            message = json.loads(self.hear())
            params = message.get("params", {})
            if message.get("method") == method and about.items() <= params.items():
                return params

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def post(model: ScriptedModel, path: str, body: Any) -> Any:
    request = urllib.request.Request(model.url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def opened(model: ScriptedModel) -> tuple[str, Process]:
    thread = post(model, "/api/thread-actors", {})["threadId"]
    return thread, Process(model, thread)


def message(id: str, text: str, mode: str = "high") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"messageId": id, "agentMode": mode, "content": content}


def test_a_thread_takes_steps_runs_tools_and_knows_a_message_again() -> None:
    steps: list[StepLike] = [
        {"blocks": [{"tool": "shout", "input": {"text": "a"}}]},
        "x" * 70_000,
    ]
    with ScriptedModel(steps) as model:
        thread, process = opened(model)
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in process.head, "the RFC's own example"
        process.until("agent_state")
        process.send("ping")
        assert process.hear() == "pong"
        process.call("executor_tools_register", tools=[{"name": "shout"}])
        process.call("client_append_user_msg", **message("M-1", "Hi"))
        lease = process.until("tool_lease")
        assert (lease["toolName"], lease["args"]) == ("shout", {"text": "a"})
        process.call("executor_tool_result", toolCallId=lease["toolCallId"], run={"result": "A"})
        process.until("agent_state", state="idle")
        process.call("client_append_user_msg", **message("M-1", "Hi"))
        process.send("ping")
        while process.hear() != "pong":
            pass
        process.close()
        first, second = model.mains
        assert (first.text, first.model, first.headers, first.step) == ("Hi", "high", {}, 1)
        assert first.body["tools"] == ["shout"]
        assert "A" in json.dumps(second.body["messages"][-1])
        tail = post(model, "/api/internal?getThreadTail", {"params": {"thread": thread}})
        assert [each["role"] for each in tail["result"]["messages"]] == [
            "user", "assistant", "user", "assistant"
        ]  # fmt: skip


def test_an_error_is_the_threads_and_who_leaves_abandons_the_answer() -> None:
    with ScriptedModel(
        [{"error": {"status": 500, "message": "boom"}}, {"text": "x", "gate": "no"}]
    ) as model:
        _, process = opened(model)
        process.call("client_append_user_msg", **message("M-1", "Hi"))
        assert process.until("error_set")["error"] == {"message": "boom"}
        process.call("client_append_user_msg", **message("M-2", "Again"))
        model.wait_for_request(2)
        process.close()
        assert model.wait_for_request(lambda request: request.outcome == "abandoned").step == 2


def test_threads_that_are_lost_are_not_found() -> None:
    with ScriptedModel([]) as model:
        thread, process = opened(model)
        process.close()
        model.forget_threads()
        tail = post(model, "/api/internal?getThreadTail", {"params": {"thread": thread}})
        assert tail["error"]["code"] == "thread-not-found"
