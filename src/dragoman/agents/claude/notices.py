"""Status items and errors: retries, compaction, hooks, MCP servers, notices, API errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.claude import native
from dragoman.agents.claude.subagents import Owner
from dragoman.schema.items import ContentPart, ItemKind, ItemStatus, Json, Status, Text
from dragoman.steps import CompleteItem, Report, StartItem, Step, whole

_COMMAND_OUTPUT = re.compile(
    r"<local-command-std(?:out|err)>(.*)</local-command-std(?:out|err)>", re.S
)
_INTERRUPTED = "[Request interrupted by user"
_COMPACTING = "compacting"


class Notices:
    """Makes the items of notices, each with a key of its own."""

    def __init__(self) -> None:
        self._count = 0
        self._mcp: dict[str, str] = {}
        """The last status of each MCP server."""

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

    def unknown(self, value: Any) -> Iterator[Step]:
        """Something that has no struct here, as it came."""
        yield from whole(self._item("unknown", Json(json=value)))

    def user_text(self, text: str, line: native.User, owner: Owner) -> Iterator[Step]:
        """Text under the role `user` that no person wrote."""
        if text.startswith(_INTERRUPTED):
            item = self._item("status", Status(label="interrupted", detail=text))
        else:
            output = _COMMAND_OUTPUT.fullmatch(text.strip())
            item = self._item("system", Text(text=output[1] if output else text))
        yield from whole(
            msgspec.structs.replace(
                item,
                native_id=line.uuid,
                parent=line.parent_tool_use_id,
                subagent=owner.subagent,
                detached=owner.detached,
            )
        )

    def system(self, line: native.AnySystem, subtype: str) -> Iterator[Step]:
        """A `system` line that is about no turn and no task."""
        match line:
            case native.StatusLine(compact_result=str(result)):
                failed = result != "success"
                yield CompleteItem(
                    key=_COMPACTING,
                    content=(Status(label=_COMPACTING, detail=result),),
                    status="failed" if failed else "completed",
                )
            case native.StatusLine(status="compacting"):
                item = self._item("status", Status(label=_COMPACTING))
                yield msgspec.structs.replace(item, key=_COMPACTING, opens=True)
            case native.StatusLine():
                return
            case native.ApiRetry():
                yield from self.status("retrying", _retry(line), _json(line), opens=True)
            case native.CompactBoundary(compact_metadata=metadata):
                yield from self.status("compacted", None, Json(json=metadata))
            case native.Hook():
                yield from self._hook(line, subtype)
            case native.Notice(content=content, message=message):
                detail = content if isinstance(content, str) else message
                yield from self.status(
                    subtype, detail if detail and isinstance(detail, str) else None
                )
            case native.UnknownJson(json=value):
                yield from self.unknown(value)
            case _:
                return

    def _hook(self, hook: native.Hook, subtype: str) -> Iterator[Step]:
        """The item of a hook is open while it runs."""
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

    def mcp(self, servers: Iterable[native.McpServerStatus]) -> Iterator[Step]:
        """MCP servers whose status changed; at first, those that are not connected.

        The tools of a server that is pending when a turn begins are missing in it. Claude Code says
        no more of that server before the next turn.
        """
        for server in servers:
            before = self._mcp.get(server.name, "connected")
            self._mcp[server.name] = server.status
            if server.status != before:
                failed = server.status not in ("connected", "pending")
                status: ItemStatus = "failed" if failed else "completed"
                yield from self.status(f"mcp.{server.status}", server.name, status=status)

    def _item(self, kind: ItemKind, *parts: ContentPart) -> StartItem:
        self._count += 1
        return StartItem(key=f"note:{self._count}", kind=kind, role="system", content=parts)


def _retry(line: native.ApiRetry) -> str:
    status = "" if line.error_status is None else f" ({line.error_status})"
    seconds = (line.retry_delay_ms or 0) / 1000
    return (
        f"{line.error or 'error'}{status}: attempt {line.attempt} of {line.max_retries} "
        f"in {seconds:.1f} s"
    )


def _json(line: msgspec.Struct) -> Json:
    return Json(json={k: v for k, v in msgspec.to_builtins(line).items() if v is not None})


# --- Errors ---


def api_error(line: native.Assistant, text: str) -> Report:
    """An error of the model's API, which Claude Code reports as a message of its own."""
    code = line.api_error_type or line.api_error or line.error or "api_error"
    if line.message.stop_reason == "refusal" or line.refused_message_id is not None:
        code = "refusal"
    return Report(message=text, code=code, details=_details(line.api_error_status, line.request_id))


def turn_error(result: native.Result) -> Report:
    """Why a turn failed, where no message reported it."""
    message = "; ".join(result.errors or ()) or result.result or result.subtype
    code = result.api_error_type or result.api_error or result.subtype
    return Report(message=message, code=code, details=_details(result.api_error_status, None))


def _details(status: int | None, request_id: str | None) -> dict[str, Any] | None:
    details = {"status": status, "request_id": request_id}
    return {name: value for name, value in details.items() if value is not None} or None
