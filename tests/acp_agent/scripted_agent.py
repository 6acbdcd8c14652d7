"""An agent that speaks ACP, and does what its prompts say: a list of acts, in JSON.

`{"ask": METHOD, "params": …, "as": NAME}` makes a request, and says its reply as a message; with
`"later": true` it waits for the reply only at `{"await": NAME}`. `"$NAME.path"` anywhere stands for
what a reply holds. `{"tell": UPDATE}` is an update, `{"stay": true}` waits to be cancelled,
`{"exit": CODE}` ends the process. A cancelled turn ends at once.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import traceback
from typing import Any


class ScriptedAgent:
    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._replies: dict[str, Any] = {}
        self._session = ""
        self._turn: asyncio.Task[None] | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 26)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self._answers.pop(message["id"]).set_result(message)
            else:
                self._serve(message.get("id"), message["method"], message.get("params") or {})

    def _write(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def _serve(self, key: Any, method: str, params: Any) -> None:
        match method:
            case "initialize":
                takes = {"loadSession": True, "promptCapabilities": {}}
                self._offer = params["clientCapabilities"]
                self._write(id=key, result={"protocolVersion": 1, "agentCapabilities": takes})
            case "session/new":
                self._session = f"scripted-{os.getpid()}"
                self._write(id=key, result={"sessionId": self._session})
            case "session/load":
                self._session = params["sessionId"]
                self._write(id=key, result={})
            case "session/prompt":
                acts = json.loads(params["prompt"][0]["text"])
                self._turn = asyncio.create_task(self._take_turn(key, acts))
            case "session/cancel":
                assert self._turn is not None
                self._turn.cancel()
            case _ if key is not None:
                self._write(id=key, error={"code": -32601, "message": f"unknown {method}"})

    async def _take_turn(self, key: Any, acts: list[Any]) -> None:
        reason = "end_turn"
        try:
            for act in acts:
                await self._do(act)
        except asyncio.CancelledError:
            reason = "cancelled"
        except Exception:  # noqa: BLE001 - a wrong script must not look like a slow agent
            traceback.print_exc()
            os._exit(70)
        self._write(id=key, result={"stopReason": reason})

    async def _do(self, act: Any) -> None:
        match act:
            case {"ask": method, "params": params, "as": name}:
                number = next(self._numbers)
                self._answers[number] = asyncio.get_running_loop().create_future()
                self._replies[name] = self._answers[number]
                about = {"sessionId": self._session, **self._filled(params)}
                self._write(id=number, method=method, params=about)
                if not act.get("later"):
                    await self._say_reply(name)
            case {"await": name}:
                await self._say_reply(name)
            case {"tell": update}:
                self._tell(self._filled(update))
            case {"offer": True}:
                self._say(json.dumps({"offer": self._offer}))
            case {"stay": True}:
                await asyncio.Event().wait()
            case {"exit": code}:
                os._exit(code)

    async def _say_reply(self, name: str) -> None:
        message = await self._replies[name]
        reply = message["error"] if "error" in message else message["result"]
        self._replies[name] = reply
        self._say(json.dumps({name: reply}))

    def _say(self, text: str) -> None:
        content = {"type": "text", "text": text + "\n"}
        self._tell({"sessionUpdate": "agent_message_chunk", "content": content})

    def _tell(self, update: Any) -> None:
        params = {"sessionId": self._session, "update": update}
        self._write(method="session/update", params=params)

    def _filled(self, value: Any) -> Any:
        """The same with what replies hold in place of `$NAME.path`."""
        if isinstance(value, dict):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str) and value.startswith("$"):
            name, *path = value[1:].split(".")
            found = self._replies[name]
            for each in path:
                found = found[each]
            return found
        return value


if __name__ == "__main__":
    asyncio.run(ScriptedAgent().run())
