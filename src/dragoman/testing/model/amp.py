"""Amp's own server, whose models nobody else can be: threads over a WebSocket, in JSON-RPC.

An Amp process is the hands of a thread: the server asks the model, and leases the tools that it
calls to the process. Each time that it would ask the model takes a step of the script, as a
request in whose body `model` is the mode of the thread. What it hears in headers is kept nowhere.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.testing.model.frames import Event, as_tool, failure, full_name, joined
from dragoman.testing.model.play import Gates
from dragoman.testing.model.requests import ModelRequest
from dragoman.testing.model.state import ModelState
from dragoman.testing.model.steps import CustomTool, Gate, Item, Step, Text, Thinking, Tool
from dragoman.testing.model.websocket import WebSocket

SOCKET = "/actors/gateway/threadActor/websocket"
"""Where a WebSocket is opened."""
PATHS = ("/api/internal", "/api/thread-actors", "/actors/")
"""How the paths begin that are Amp's."""
WINDOW = 200_000
LEASE_S = 0.2
"""How long after a message its tools are leased: the real server is far away, and whoever reads
what the process says of the message has that time, too."""
SIGNATURE = "c2NyaXB0ZWQ="
_USER: Event = {
    "id": "user_01",
    "email": "person@example.com",
    "username": "person",
    "features": [],
    "team": None,
    "emailVerified": True,
    "siteAdmin": False,
    "firstName": "A",
    "lastName": "Person",
}
_EMPTY: dict[str, Any] = {
    "getUserInfo": _USER,
    "loadPlugins": [],
    "loadSkills": [],
    "getThreadProject": {"project": None},
    "setThreadMeta": {},
    "listThreads": {"threads": []},
}
"""What a process asks before it works: there is a person, and nothing of theirs."""


class Thread:
    """One conversation."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.messages: list[Event] = []
        self.mode = "medium"
        self.is_archived = False
        self.tools: list[str] = []
        self.sockets: set[WebSocket] = set()
        self.leases: dict[str, asyncio.Future[Any]] = {}
        self.work: asyncio.Task[None] | None = None
        self.version = 0

    def tell(self, method: str, **params: Any) -> None:
        """Tell everybody who follows it."""
        for socket in self.sockets:
            notify(socket, method, **params)

    def add(self, message: Event) -> None:
        """A message is part of it now."""
        self.version += 1
        self.messages.append({"threadId": self.id, **message})
        self.tell("message_added", message=self.messages[-1], seq=self.version)

    def state(self, state: str, **about: Any) -> None:
        """Say what it is doing."""
        self.tell("agent_state", state=state, agentMode=self.mode, **about)

    def fail(self, message: str) -> None:
        """Say what went wrong; its work is over."""
        self.version += 1
        self.tell("error_set", seq=self.version, error={"message": message})
        self.state("error")


class _ClientCall(Struct):
    method: str = ""
    params: dict[str, Any] = {}
    id: Any = None


_call = msgspec.json.Decoder(_ClientCall)


class Threads:
    """All threads of the server."""

    def __init__(self, state: ModelState, gates: Gates) -> None:
        self._state = state
        self._gates = gates
        self._threads: dict[str, Thread] = {}
        self._numbers = itertools.count(1)

    def forget(self) -> None:
        """Lose all conversations."""
        self._threads.clear()

    async def close(self) -> None:
        """Hang up, and stop all work."""
        work = [each.work for each in self._threads.values() if each.work is not None]
        for thread in self._threads.values():
            for socket in list(thread.sockets):
                socket.close()
        for task in work:
            task.cancel()
        if work:
            await asyncio.wait(work)

    # --- HTTP ---

    def answer(self, request: ModelRequest) -> tuple[int, Any]:
        """Status and body."""
        body = request.body if isinstance(request.body, dict) else {}
        if request.path == "/api/internal":
            return self._internal(request.query, body.get("params") or {})
        if request.path.startswith("/api/thread-actors"):
            return self._credentials(body.get("threadId") or request.path.split("/")[3:4])
        return 200, {"ok": True}

    def _internal(self, method: str, params: dict[str, Any]) -> tuple[int, Any]:
        thread = self._threads.get(str(params.get("thread")))
        if method in _EMPTY:
            return 200, {"ok": True, "result": _EMPTY[method]}
        if method in ("getThreadTail", "archiveThread") and thread is None:
            return _refused("thread-not-found", f"Thread {params.get('thread')} not found")
        if method == "getThreadTail" and thread is not None:
            return 200, {"ok": True, "result": _tail(thread)}
        if method == "archiveThread" and thread is not None:
            thread.is_archived = bool(params.get("archived", True))
            return 200, {"ok": True, "result": {}}
        return _refused("not-found", f"there is no {method} here")

    def _credentials(self, wanted: str | list[str]) -> tuple[int, Any]:
        """Make a thread, or let somebody into one."""
        name = wanted if isinstance(wanted, str) else "".join(wanted)
        if name and name not in self._threads:
            return 404, _refused("thread-not-found", f"Thread {name} not found")[1]
        thread = self._threads.get(name) or self._new()
        return 200, {
            "threadId": thread.id,
            "wsToken": "scripted",
            "ownerUserId": _USER["id"],
            "threadVersion": thread.version,
            "usesDtw": True,
            "usesThreadActors": True,
            "executorType": "local-client",
            "agentMode": thread.mode,
            "poolName": "default",
        }

    def _new(self) -> Thread:
        number = next(self._numbers)
        thread = Thread(f"T-00000000-0000-4000-8000-{number:012x}")
        self._threads[thread.id] = thread
        return thread

    def _id(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):022}"

    # --- WebSockets ---

    def open(self, socket: WebSocket, key: str) -> None:
        """A process follows a thread, or is its hands."""
        thread = self._threads.get(key)
        if thread is None:
            socket.close()
            return
        thread.sockets.add(socket)
        socket.on_text = lambda text: self._hear(thread, socket, text)
        socket.on_close = lambda: self._leave(thread, socket)
        notify(socket, "agent_state", state="idle")  # it waits for any word at all

    def _leave(self, thread: Thread, socket: WebSocket) -> None:
        thread.sockets.discard(socket)
        if not thread.sockets and thread.work is not None:
            thread.work.cancel()

    def _hear(self, thread: Thread, socket: WebSocket, text: str) -> None:
        if text == "ping":
            socket.send("pong")
            return
        call = _call.decode(text)
        if call.id is not None:
            _say(socket, {"jsonrpc": "2.0", "id": call.id, "result": {"ok": True}})
        params = call.params
        match call.method:
            case "executor_connect":
                notify(
                    socket,
                    "executor_connected",
                    executorId=params["clientId"],
                    registeredToolCount=0,
                    guidanceInventory=[],
                )
            case "executor_tools_register":
                thread.tools = [tool["name"] for tool in params.get("tools", ())]
            case "client_resume":
                notify(socket, "agent_state", state="idle")
            case "client_append_user_msg":
                self._append(thread, params)
            case "executor_tool_result":
                notify(socket, "executor_tool_result_ack", toolCallId=params["toolCallId"])
                lease = thread.leases.pop(params["toolCallId"], None)
                if lease is not None and not lease.done():
                    lease.set_result(params["run"])
            case "client_cancel" if thread.work is not None:
                thread.work.cancel()

    def _append(self, thread: Thread, params: dict[str, Any]) -> None:
        """A message of a person; one that is there is not added again."""
        if any(each["messageId"] == params["messageId"] for each in thread.messages):
            return
        thread.mode = params.get("agentMode") or thread.mode
        thread.add(
            {
                "role": "user",
                "content": params["content"],
                "messageId": params["messageId"],
                "agentMode": thread.mode,
            }
        )
        thread.work = asyncio.ensure_future(self._work(thread))

    # --- The model ---

    async def _work(self, thread: Thread) -> None:
        """Ask the model, run what it calls, and ask again."""
        try:
            while await self._step(thread):
                pass
        except asyncio.CancelledError:
            thread.tell("cancelled", seq=thread.version)
            thread.state("idle")
            raise

    async def _step(self, thread: Thread) -> bool:
        """One answer of the model; whether it is to be asked again."""
        body = {"model": thread.mode, "messages": list(thread.messages), "tools": thread.tools}
        request = ModelRequest("POST", f"{SOCKET}/{thread.id}", {}, body, is_main=True)
        step = self._state.take(request)
        message = self._id("M-")
        thread.state("working", messageId=message)
        thread.tell("inference_tools", messageId=message, agentMode=thread.mode, tools=thread.tools)
        thread.state("streaming", messageId=message)
        try:
            answer = await self._answer(thread, step)
        except asyncio.CancelledError:
            self._state.finish(request, "abandoned")
            raise
        self._state.finish(request, "answered")
        if answer is None:
            return False
        thread.add({"role": "assistant", "messageId": message, **answer})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            thread.state("idle")
            return False
        thread.state("running_tools", messageId=message)
        await asyncio.sleep(LEASE_S)
        results = [await self._lease(thread, message, call) for call in calls]
        thread.add({"role": "user", "content": results, "messageId": self._id("M-")})
        return True

    async def _answer(self, thread: Thread, step: Step) -> Event | None:
        """What the model says, all at once; None: it failed, and that is told."""
        await asyncio.sleep(step.before_s)
        for gate in sorted(step.gates()):
            await self._gates.wait(gate)
        error = step.error or failure(step)
        if error is not None:
            thread.fail(error.message)
            return None
        if step.end is not None:  # it hangs, or the connection to it is cut
            await asyncio.Event().wait()
        return {
            "content": [
                self._block(block) for block in step.content() if not isinstance(block, Gate | Item)
            ],
            "state": {"type": "complete"},
            "usage": {
                "model": "scripted",
                "maxInputTokens": WINDOW,
                "inputTokens": step.usage.input,
                "outputTokens": step.usage.output,
                "cacheCreationInputTokens": step.usage.cache_write or None,
                "cacheReadInputTokens": step.usage.cache_read or None,
                "totalInputTokens": step.usage.input
                + step.usage.cache_read
                + step.usage.cache_write,
            },
        }

    def _block(self, block: Text | Thinking | Tool | CustomTool) -> Event:
        match block:
            case Text(text=text):
                return {"type": "text", "text": joined(text)}
            case Thinking(thinking=thinking):
                return {"type": "thinking", "thinking": joined(thinking), "signature": SIGNATURE}
            case CustomTool():
                return self._block(as_tool(block))
            case Tool():
                return {
                    "type": "tool_use",
                    "id": block.id or self._id("TU-"),
                    "name": full_name(block),
                    "complete": True,
                    "input": block.input,
                }

    async def _lease(self, thread: Thread, message: str, call: Event) -> Event:
        """Let the process run a tool."""
        lease = thread.leases[call["id"]] = asyncio.get_running_loop().create_future()
        thread.tell(
            "tool_lease",
            toolCallId=call["id"],
            toolName=call["name"],
            args=call["input"],
            messageId=message,
        )
        return {"type": "tool_result", "toolUseID": call["id"], "run": await lease}


def notify(socket: WebSocket, method: str, **params: Any) -> None:
    """Tell one who listens."""
    _say(socket, {"jsonrpc": "2.0", "method": method, "params": params})


def _say(socket: WebSocket, message: Event) -> None:
    socket.send(msgspec.json.encode(message).decode())


def _refused(code: str, message: str) -> tuple[int, Any]:
    return 200, {"ok": False, "error": {"code": code, "message": message}}


def _tail(thread: Thread) -> Event:
    data = {
        "id": thread.id,
        "v": thread.version,
        "created": 0,
        "agentMode": thread.mode,
        "archived": thread.is_archived,
        "messages": [],
    }
    return {"thread": {"data": data}, "messages": thread.messages, "hasMoreBefore": False}
