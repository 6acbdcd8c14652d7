"""An agent that serves many threads on one process, and does what its prompts say.

Its own requests have whole numbers from 0 as ids, as Codex does it. What it hears is written to
`heard` in `$SHARED_AGENT_HOME`, and threads are remembered in `threads` there. A file `next` names
the next threads, a file `dies` has the last words of who does not even begin.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("SHARED_AGENT_HOME", "/nowhere"))


class SharedAgent:
    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._greeted = False
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._circle: list[asyncio.Event] = []
        self._owed: list[tuple[Any, str]] = []

    # --- The wire ---

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            with (HOME / "heard").open("ab") as heard:
                heard.write(line)
            message = json.loads(line)
            if "method" not in message:
                self._answers.pop(message["id"]).set_result(message)
            elif "id" in message:
                await self._serve(message)

    def _write(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({**self._head, **message}) + "\n")
        sys.stdout.flush()

    def _tell(self, method: str, **params: Any) -> None:
        self._write(method=method, params=params)

    async def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._write(id=number, method=method, params=params)
        return await self._answers[number]

    # --- Requests ---

    async def _serve(self, message: Any) -> None:
        params, key = message.get("params") or {}, message["id"]
        match message["method"]:
            case "initialize":
                self._initialize(key, message)
            case "thread/start":
                self._start(key)
            case "thread/resume":
                self._resume(key, params["threadId"])
            case "turn/start":
                self._turn(key, params["threadId"], params["input"])
            case "turn/interrupt":
                self._interrupt(key, params["threadId"])
            case "thread/leave" | "thread/retire":
                self._write(id=key, result={})
            case method:
                self._write(id=key, error={"code": -32600, "message": f"unknown {method}"})

    def _initialize(self, key: Any, message: Any) -> None:
        if "jsonrpc" in message:
            self._head = {"jsonrpc": "2.0"}
        if self._greeted or os.environ.get("SHARED_AGENT_REFUSES"):
            self._write(id=key, error={"code": -32600, "message": "no second hello, please"})
            return
        self._greeted = True
        self._write(id=key, result={"name": "shared"})

    def _start(self, key: Any) -> None:
        given = HOME / "next"
        thread = given.read_text() if given.exists() else f"thread-{uuid.uuid4().hex[:8]}"
        with (HOME / "threads").open("a") as threads:
            threads.write(f"{thread}\n")
        # It is under way before we have said which it is.
        self._tell("thread/greeted", threadId=thread, itemId="g", text=thread)
        self._write(id=key, result={"threadId": thread})

    def _resume(self, key: Any, thread: str) -> None:
        if thread in (HOME / "threads").read_text().split():
            self._write(id=key, result={"threadId": thread})
        else:
            self._write(id=key, error={"code": -32600, "message": "no such thread"})

    def _turn(self, key: Any, thread: str, prompt: str) -> None:
        verb, _, rest = prompt.partition(" ")
        if verb == "mute":
            return
        if verb == "late":
            self._owed.append((key, thread))
            return
        self._pay_up()
        self._write(id=key, result={"turnId": "t"})
        act: Callable[[str, str], Awaitable[None]] = getattr(self, f"_{verb}")
        self._turns[thread] = asyncio.create_task(self._sing(thread, act, rest))

    def _interrupt(self, key: Any, thread: str) -> None:
        turn = self._turns.pop(thread, None)
        if turn is None:
            self._write(id=key, error={"code": -32600, "message": "nobody sings"})
            return
        turn.cancel()
        self._write(id=key, result={})
        self._end(thread, "interrupted")

    def _pay_up(self) -> None:
        """Answer what is long overdue, and do the turn that nobody waits for any more."""
        owed, self._owed = self._owed, []
        for key, thread in owed:
            self._write(id=key, result={"turnId": "late"})
            self._tell("turn/started", threadId=thread)
            self._end(thread, "completed")

    async def _sing(
        self, thread: str, act: Callable[[str, str], Awaitable[None]], rest: str
    ) -> None:
        self._tell("turn/started", threadId=thread)
        await act(thread, rest)
        self._turns.pop(thread, None)
        self._end(thread, "completed")

    def _end(self, thread: str, outcome: str) -> None:
        self._tell("turn/completed", threadId=thread, outcome=outcome)

    async def _words(self, thread: str, *words: Any) -> None:
        item = uuid.uuid4().hex
        self._tell("item/started", threadId=thread, itemId=item)
        for word in words:
            self._tell("item/delta", threadId=thread, itemId=item, text=str(word))
            await self._in_turn()
        self._tell("item/completed", threadId=thread, itemId=item)

    async def _in_turn(self) -> None:
        await asyncio.sleep(0)

    # --- What prompts may say ---

    async def _say(self, thread: str, rest: str) -> None:
        await self._words(thread, *rest.split())

    async def _together(self, thread: str, rest: str) -> None:
        """Sing when so many others are ready to, word by word in turn."""
        count, *words = rest.split()
        ready = asyncio.Event()
        self._circle.append(ready)
        if len(self._circle) == int(count):
            circle, self._circle = self._circle, []
            for other in circle:
                other.set()
        await ready.wait()
        await self._words(thread, *words)

    async def _wait(self, thread: str, rest: str) -> None:
        item = uuid.uuid4().hex
        self._tell("item/started", threadId=thread, itemId=item)
        self._tell("item/delta", threadId=thread, itemId=item, text=rest)
        await asyncio.Event().wait()

    async def _pid(self, thread: str, rest: str) -> None:
        await self._words(thread, os.getpid())

    async def _ask_for(self, thread: str, rest: str) -> None:
        answer = await self._ask("approval/ask", threadId=thread, text=rest)
        await self._words(thread, rest, " ", answer["result"]["decision"])

    async def _ask_deaf(self, thread: str, rest: str) -> None:
        """Ask, and do not read the answer; or not even be there to hear it."""
        if rest == "closed":
            os.close(0)
        self._write(id=next(self._numbers), method="approval/ask", params={"threadId": thread})
        signal.pause()

    async def _odd(self, thread: str, rest: str) -> None:
        answer = await self._ask("client/odd", threadId=thread)
        await self._words(thread, answer["error"]["code"])

    async def _stranger(self, thread: str, rest: str) -> None:
        """Speak about threads that nobody knows, and about none."""
        self._tell("item/delta", threadId="nobody", itemId="x", text="who hears this?")
        self._tell("config/warning", text="the hall is cold")
        keyless = await self._ask("client/odd")
        unknown = await self._ask("client/odd", threadId="nobody")
        await self._words(thread, keyless["error"]["code"], " ", unknown["error"]["code"])

    async def _rumour(self, thread: str, rest: str) -> None:
        """Tell everybody."""
        self._tell("hall/rumour", itemId=uuid.uuid4().hex, text=rest)

    async def _child(self, thread: str, rest: str) -> None:
        """What a thread says that this one started, and nobody has claimed."""
        self._tell("item/started", threadId="child", parentId=thread, itemId="c")
        self._tell("item/delta", threadId="child", parentId=thread, itemId="c", text=rest)
        self._tell("item/completed", threadId="child", parentId=thread, itemId="c")

    async def _stray(self, thread: str, rest: str) -> None:
        self._write(id="never-asked", result=1)
        sys.stdout.write("this is no JSON\n")
        await self._words(thread, "done")

    async def _crash(self, thread: str, rest: str) -> None:
        sys.stderr.write("the conductor fell\n")
        sys.stderr.flush()
        os._exit(int(rest or 1))

    async def _silence(self, thread: str, rest: str) -> None:
        """Close the output, and live on."""
        await self._words(thread, "hush")
        os.close(1)
        await asyncio.Event().wait()

    async def _deaf(self, thread: str, rest: str) -> None:
        """Read nothing any more."""
        await self._words(thread, "what?")
        signal.pause()


if __name__ == "__main__":
    if os.environ.get("SHARED_AGENT_DIES"):
        sys.exit("no voice today")
    if (HOME / "dies").exists():
        sys.exit((HOME / "dies").read_text())
    asyncio.run(SharedAgent().run())
