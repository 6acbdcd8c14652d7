"""What Claude Code remarks: notices, retries, hooks, notes to the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.claude import model, native
from dragoman.agents.claude.subagents import Owner
from dragoman.agents.claude.system import (
    AnySystem,
    Compacted,
    Hook,
    McpServer,
    Retry,
    StatusLine,
    Told,
)
from dragoman.schema.items import ContentPart, ItemKind, ItemStatus, Json, Status, Text
from dragoman.steps import CompleteItem, StartItem, Step, whole

_COMMAND_OUTPUT = re.compile(
    r"<local-command-std(?:out|err)>(.*)</local-command-std(?:out|err)>", re.S
)
_INTERRUPTED = "[Request interrupted by user"
_COMPACTING = "compacting"


class Notices:
    """Makes the items, and keys for them."""

    def __init__(self) -> None:
        self._count = 0
        self._mcp: dict[str, str] = {}

    def status(
        self,
        label: str,
        detail: str | None = None,
        *more: ContentPart,
        status: ItemStatus = "completed",
        opens: bool | None = None,
    ) -> Iterator[Step]:
        """A status item, complete at once."""
        item = self._item("status", Status(label=label, detail=detail), *more)
        yield from whole(msgspec.structs.replace(item, opens=opens), status)

    def unknown(self, found: Any) -> Iterator[Step]:
        """Something that we do not model, kept."""
        yield from whole(msgspec.structs.replace(self._item("unknown", Json(json=found))))

    def said(self, text: str, line: native.User, owner: Owner) -> Iterator[Step]:
        """Words under a person's role that no person said."""
        if text.startswith(_INTERRUPTED):
            item = self._item("status", Status(label="interrupted", detail=text))
        else:
            shown = _COMMAND_OUTPUT.fullmatch(text.strip())
            item = self._item("system", Text(text=shown[1] if shown else text))
        yield from whole(
            msgspec.structs.replace(
                item,
                native_id=line.uuid,
                parent=line.parent_tool_use_id,
                subagent=owner.subagent,
                detached=owner.detached,
            )
        )

    def system(self, line: AnySystem, subtype: str) -> Iterator[Step]:
        """What is said about the session."""
        match line:
            case StatusLine(compact_result=str(result)):
                failed = result != "success"
                yield CompleteItem(
                    key=_COMPACTING,
                    content=(Status(label=_COMPACTING, detail=result),),
                    status="failed" if failed else "completed",
                )
            case StatusLine(status="compacting"):
                item = self._item("status", Status(label=_COMPACTING))
                yield msgspec.structs.replace(item, key=_COMPACTING, opens=True)
            case StatusLine():
                return
            case Retry():
                yield from self.status("retrying", _retry(line), _json(line), opens=True)
            case Compacted(compact_metadata=about):
                yield from self.status("compacted", None, Json(json=about))
            case Hook():
                yield from self._hook(line, subtype)
            case Told(content=content, message=message):
                detail = content if isinstance(content, str) else message
                yield from self.status(
                    subtype, detail if detail and isinstance(detail, str) else None
                )
            case model.Unmodelled(json=found):
                yield from self.unknown(found)
            case _:
                return

    def _hook(self, hook: Hook, subtype: str) -> Iterator[Step]:
        """A hook's item is open while it runs."""
        detail = " ".join(filter(None, (hook.hook_name, hook.outcome)))
        parts = (Status(label="hook", detail=detail), _json(hook))
        key = f"hook:{hook.hook_id}"
        if subtype == "hook_started":
            yield msgspec.structs.replace(self._item("status", *parts), key=key)
        elif subtype == "hook_response":
            failed = hook.outcome in ("error", "failed") or bool(hook.exit_code)
            status: ItemStatus = "failed" if failed else "completed"
            yield CompleteItem(key=key, content=parts, status=status)
        else:
            yield from whole(self._item("status", *parts))

    def mcp(self, servers: Iterable[McpServer]) -> Iterator[Step]:
        """An MCP server that has not come up, told once; and that it has, where it was told.

        One that is pending when its turn begins has not come up in time, and its tools are missing;
        Claude Code says no more of it before the next turn.
        """
        for server in servers:
            known = self._mcp.get(server.name, "connected")
            self._mcp[server.name] = server.status
            if server.status != known:
                failed = server.status not in ("connected", "pending")
                status: ItemStatus = "failed" if failed else "completed"
                yield from self.status(f"mcp.{server.status}", server.name, status=status)

    def _item(self, kind: ItemKind, *parts: ContentPart) -> StartItem:
        self._count += 1
        return StartItem(key=f"note:{self._count}", kind=kind, role="system", content=parts)


def _retry(line: Retry) -> str:
    status = "" if line.error_status is None else f" ({line.error_status})"
    seconds = (line.retry_delay_ms or 0) / 1000
    return (
        f"{line.error or 'error'}{status}: attempt {line.attempt} of {line.max_retries} "
        f"in {seconds:.1f} s"
    )


def _json(line: msgspec.Struct) -> Json:
    return Json(json={k: v for k, v in msgspec.to_builtins(line).items() if v is not None})
