"""Status items and errors: retries, compaction, what extensions show, failed model calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.agents.pi import native
from dragoman.schema.items import ContentPart, ItemKind, ItemStatus, Json, Status
from dragoman.steps import CompleteItem, Content, Report, StartItem, Step, whole
from dragoman.wire import decode as wire

_COMPACTING = "compacting"
_any = msgspec.json.Decoder()
_STATUS = re.compile(r"\s*(\d{3})\b:?\s*(.*)", re.S)
_CODES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_UNREACHABLE = re.compile(r"connection error|connect|fetch failed|network|socket|ECONN", re.I)
SHOWS = {"notify": "notice", "setStatus": "status", "setWidget": "widget", "setTitle": "title",
          "set_editor_text": "editor_text"}  # fmt: skip


class Notices:
    """Makes the items of notices, each with a key of its own."""

    def __init__(self) -> None:
        self._count = 0
        self.is_compacting = False

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

    def system(self, parts: Content) -> Iterator[Step]:
        """What an extension adds to the conversation."""
        self._count += 1
        item = StartItem(key=f"note:{self._count}", kind="system", role="system", content=parts)
        yield from whole(item)

    def retry(self, line: native.RetryStart | native.SummaryRetry) -> Iterator[Step]:
        """The model is asked again after a while."""
        error = line.error_message or "error"
        detail = (
            f"{error}: attempt {line.attempt} of {line.max_attempts} "
            f"in {line.delay_ms / 1000:.1f} s"
        )
        more = Json(json=msgspec.to_builtins(line))
        yield from self.status("retrying", detail, more, opens=True)

    def compaction_start(self, line: native.CompactionStart) -> Iterator[Step]:
        """The conversation is being compacted."""
        self.is_compacting = True
        item = self._item("status", Status(label=_COMPACTING, detail=line.reason))
        yield msgspec.structs.replace(item, key=_COMPACTING, opens=True)

    def compaction_end(self, line: native.CompactionEnd) -> Iterator[Step]:
        """It was compacted, or not."""
        self.is_compacting = False
        failed = line.error_message or (line.aborted and "aborted")
        parts: list[ContentPart] = [Status(label=_COMPACTING, detail=failed or line.reason)]
        if line.result is not None:
            parts.append(Json(json=msgspec.to_builtins(line.result)))
        status: ItemStatus = "failed" if failed else "completed"
        yield CompleteItem(key=_COMPACTING, content=tuple(parts), status=status)

    def extension(self, line: native.UiRequest) -> Iterator[Step]:
        """What an extension shows, and waits for no answer."""
        detail = line.message or line.status_text or line.title or line.text
        if line.widget_lines is not None:
            detail = "\n".join(line.widget_lines)
        told = {name: value for name, value in msgspec.to_builtins(line).items()
                if value not in (None, [], ()) and name not in ("id", "type")}  # fmt: skip
        label = f"pi.extension.{SHOWS.get(line.method, line.method)}"
        status: ItemStatus = "failed" if line.notify_type == "error" else "completed"
        yield from self.status(label, detail, Json(json=told), status=status)

    def extension_error(self, line: native.ExtensionError) -> Iterator[Step]:
        """An extension failed, outside of a tool."""
        detail = ": ".join(filter(None, (line.event, line.error)))
        about = Json(json=msgspec.to_builtins(line))
        yield from self.status("pi.extension.error", detail, about, status="failed")

    def _item(self, kind: ItemKind, *parts: ContentPart) -> StartItem:
        self._count += 1
        return StartItem(key=f"note:{self._count}", kind=kind, role="system", content=parts)


# --- Errors ---


def model_error(message: str | None) -> Report:
    """A failed call of the model: Pi tells the status and the body as one text (1.5.0)."""
    text = message or "the model's answer failed"
    found = _STATUS.match(text)
    if found is None:
        code = "connection_failed" if _UNREACHABLE.search(text) else "model_error"
        return Report(message=text, code=code)
    status, body = int(found[1]), _object(found[2])
    inner = body.get("error")
    body = inner if isinstance(inner, dict) else body
    name = body.get("type") or body.get("code")
    default = _CODES.get(status, "server_error" if status >= 500 else "model_error")
    said = body.get("message")
    return Report(
        message=said if isinstance(said, str) else text,
        code=name if isinstance(name, str) else default,
        details={"status": status, **({"error": body} if body else {})},
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = wire.decode(text.encode(), _any)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
    return value if isinstance(value, dict) else {}
