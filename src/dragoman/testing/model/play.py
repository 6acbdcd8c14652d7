"""Plays one step of a script: pauses, frames, endings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec
from starlette.types import Receive, Scope, Send

from dragoman.testing.model.frames import Dialect, Reply, StreamFrame, arranged, failure, last_delta
from dragoman.testing.model.requests import ModelRequest
from dragoman.testing.model.state import ModelState
from dragoman.testing.model.steps import HttpError, Step

TRANSPORT = "dragoman.transport"
"""Scope key: the connection that a request came by."""
OVERLOADED = 529
"""The status of an error that would have come in the middle of a stream."""


class Gates:
    """Gates, on the server's own loop."""

    def __init__(self) -> None:
        self._gates: dict[str, asyncio.Event] = {}

    def open(self, name: str) -> None:
        """Open a gate, for good."""
        self._gate(name).set()

    async def wait(self, name: str | None) -> None:
        """Wait until a gate is open; no name is no gate."""
        if name is not None:
            await self._gate(name).wait()

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())


class Play:
    """The answer to one request."""

    def __init__(
        self, state: ModelState, gates: Gates, dialect: Dialect, request: ModelRequest, step: Step
    ) -> None:
        self._state = state
        self._gates = gates
        self._dialect = dialect
        self._request = request
        self._step = step

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, unless the client goes away."""
        answering = asyncio.create_task(self._answer(scope, send))
        leaving = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
            self._state.finish(self._request, "answered" if answering.done() else "abandoned")
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.wait((answering, leaving))

    async def _answer(self, scope: Scope, send: Send) -> None:
        step = self._step
        await asyncio.sleep(step.before_s)
        await self._gates.wait(step.gate_before)
        if step.error is not None:
            await self._say_error(send, step.error)
        elif self._request.streams:
            await self._stream(scope, send)
        else:
            await self._say_whole(scope, send)

    def _reply(self) -> Reply:
        return Reply(
            step=self._step,
            model=self._request.model,
            ids=self._state.ids,
            created=int(time.time()),
            with_usage=self._request.wants_usage,
        )

    async def _stream(self, scope: Scope, send: Send) -> None:
        frames = arranged(self._dialect.stream(self._reply()), self._step)
        await self._start(send, 200, {"content-type": "text/event-stream"})
        await self._play(frames, send)
        await self._break_off(scope)
        if self._step.end is None:
            await _say(send, self._dialect.last_frame, more=True)
        await _say(send, b"")

    async def _play(self, frames: list[StreamFrame], send: Send) -> None:
        last, number, spoken = last_delta(frames), 0, False
        for at, frame in enumerate(frames):
            if frame.kind == "gate":
                await self._gates.wait(frame.event["name"])
                continue
            if frame.kind == "delta":
                await asyncio.sleep(self._step.delay_s if spoken else 0)
                spoken = True
            await self._gates.wait(self._step.gate if at == last else None)
            await _say(send, self._dialect.frame(frame.event, number), more=True)
            number += 1

    async def _say_whole(self, scope: Scope, send: Send) -> None:
        """Answer with one document: there all pauses come before it."""
        for gate in sorted(self._step.gates()):
            await self._gates.wait(gate)
        if error := failure(self._step):
            told = HttpError(status=OVERLOADED, type=error.type, message=error.message)
            await self._say_error(send, told)
            return
        content = msgspec.json.encode(self._dialect.whole(self._reply()))
        headers = {"content-type": "application/json", "content-length": str(len(content))}
        await self._start(send, 200, headers)
        if self._step.end is not None:
            await _say(send, content[: len(content) // 2], more=True)
            await self._break_off(scope)
        await _say(send, content)

    async def _say_error(self, send: Send, error: HttpError) -> None:
        content = msgspec.json.encode(self._dialect.error(error))
        headers = {"content-type": "application/json", "content-length": str(len(content))}
        await self._start(send, error.status, headers | error.headers)
        await _say(send, content)

    async def _start(self, send: Send, status: int, headers: Mapping[str, str]) -> None:
        told = {"request-id": self._state.ids.take("req"), "cache-control": "no-cache", **headers}
        raw = [(name.lower().encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _break_off(self, scope: Scope) -> None:
        """Hang or cut, if the step ends so: then this never returns."""
        end = self._step.end or ""
        if end.startswith("cut"):
            self._state.finish(self._request, "dropped")
            scope[TRANSPORT].close()
        if end.startswith(("cut", "hang")):
            await asyncio.Event().wait()


async def _say(send: Send, content: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
