"""A small agent that speaks ACP: it repeats, takes notes if you allow it, and can be stopped."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Client,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    start_edit_tool_call,
    tool_diff_content,
    update_agent_message_text,
    update_tool_call,
)
from acp.schema import AgentCapabilities, Implementation, PermissionOption, ToolCallUpdate

PAUSE_S = 0.05
OPTIONS = [
    PermissionOption(option_id="yes", name="Write it", kind="allow_once"),
    PermissionOption(option_id="no", name="Do not", kind="reject_once"),
]


class NotesAgent:
    """Repeats what it is told. `note …` writes it down, `count …` takes its time."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._folders: dict[str, Path] = {}
        self._cancelled: dict[str, asyncio.Event] = {}

    def on_connect(self, client: Client) -> None:
        """Remember whom to talk to."""
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Say who we are."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="notes", title="Notes", version="1.0.0"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Begin a conversation in a folder."""
        session = f"notes-{next(self._numbers)}"
        self._folders[session] = Path(cwd)
        self._cancelled[session] = asyncio.Event()
        return NewSessionResponse(session_id=session)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Answer a message."""
        self._cancelled[session_id].clear()
        text = "".join(block.text for block in prompt if block.type == "text")
        verb, _, rest = text.partition(" ")
        if verb == "note":
            await self._note(session_id, rest)
        elif verb == "count":
            await self._say(session_id, "".join(f"{n} " for n in range(1, int(rest) + 1)))
        else:
            await self._say(session_id, f"You said: {text}")
        is_cancelled = self._cancelled[session_id].is_set()
        return PromptResponse(stop_reason="cancelled" if is_cancelled else "end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop what is going on."""
        self._cancelled[session_id].set()

    async def _say(self, session: str, text: str) -> None:
        """Stream a text word by word, until it is cancelled."""
        for word in text.split(" "):
            if self._cancelled[session].is_set():
                return
            await self._client.session_update(session, update_agent_message_text(f"{word} "))
            await asyncio.sleep(PAUSE_S)

    async def _note(self, session: str, text: str) -> None:
        """Write to a file, if a person allows it."""
        path = self._folders[session] / "notes.txt"
        before = path.read_text() if path.exists() else None
        after = f"{before or ''}{text}\n"
        call = f"note-{next(self._numbers)}"
        diff = tool_diff_content(str(path), after, before)
        title = "Write notes.txt"
        started = start_edit_tool_call(call, title, str(path), after, extra_options=[diff])
        await self._client.session_update(session, started)
        asked = ToolCallUpdate(tool_call_id=call, title=title, kind="edit", content=[diff])
        answer = await self._client.request_permission(session, asked, OPTIONS)
        if getattr(answer.outcome, "option_id", "no") != "yes":
            await self._client.session_update(session, update_tool_call(call, status="failed"))
            await self._say(session, "Then not.")
            return
        path.write_text(after)
        done = update_tool_call(call, status="completed", content=[diff])
        await self._client.session_update(session, done)
        await self._say(session, "It is written down.")


if __name__ == "__main__":
    asyncio.run(run_agent(NotesAgent()))
