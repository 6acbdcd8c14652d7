"""Messages and thoughts: chunks become items, cut where the id or the kind changes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Literal
from urllib.parse import unquote

from dragoman.dialects.acp import native
from dragoman.dialects.acp.owner import MAIN, Owner
from dragoman.schema.items import FileRef, Json, Reasoning, Status, Text
from dragoman.steps import Blob, CompleteItem, Content, Delta, StartItem, Step, whole

Kind = Literal["message", "thought"]


class Messages:
    """The message, or the thought, that is being said."""

    def __init__(self, owner: Owner = MAIN) -> None:
        self._owner = owner
        self._count = 0
        self._kind: Kind | None = None
        self._native_id: str | None = None
        self._key = ""

    def chunk(self, kind: Kind, chunk: native.MessageChunk) -> Iterator[Step]:
        """Say on; a piece of another kind, or with another id, begins something new."""
        block = native.block_of(chunk.content)
        if not isinstance(block, native.TextBlock):
            yield from self.cut()
            yield from self._whole(content_of(block), chunk.message_id)
            return
        if not block.text:
            return
        is_other = chunk.message_id is not None and chunk.message_id != self._native_id
        if self._kind != kind or is_other:
            yield from self.cut()
            yield self._start(kind, chunk.message_id)
        yield Delta(self._key, block.text, "text" if kind == "message" else "reasoning")

    def _start(self, kind: Kind, native_id: str | None) -> StartItem:
        self._kind, self._native_id, self._key = kind, native_id, self._next_key()
        content = (Text(text=""),) if kind == "message" else (Reasoning(text=""),)
        return self._owner.item(
            in_turn=True,
            key=self._key,
            kind="message",
            role="assistant",
            native_id=native_id,
            content=content,
        )

    def _whole(self, content: Content, native_id: str | None) -> Iterator[Step]:
        """What is no text stands by itself."""
        yield from whole(
            self._owner.item(
                in_turn=True,
                key=self._next_key(),
                kind="message",
                role="assistant",
                native_id=native_id,
                content=content,
            )
        )

    def late(self, chunk: native.MessageChunk) -> Iterator[Step]:
        """A piece that belongs to no turn: it is kept, opens none, and is no part of the next."""
        block = native.block_of(chunk.content)
        text = block.text if isinstance(block, native.TextBlock) else None
        if text == "":
            return
        more = content_of(block) if text is None else ()
        item = StartItem(
            key=self._next_key(),
            kind="status",
            role="system",
            native_id=chunk.message_id,
            content=(Status(label="late", detail=text), *more),
        )
        yield from whole(item)

    def _next_key(self) -> str:
        self._count += 1
        return self._owner.key(f"message:{self._count}")

    def cut(self) -> Iterator[Step]:
        """Something else begins: what was being said is complete."""
        if self._kind is not None:
            yield CompleteItem(key=self._key)
            self.forget()

    def retract(self) -> Iterator[Step]:
        """The model begins its answer anew."""
        if self._kind is not None:
            yield CompleteItem(key=self._key, status="failed", fields={"reason": "retracted"})
            self.forget()

    def forget(self) -> None:
        """The turn, or the process, is over."""
        self._kind = self._native_id = None


def content_of(block: native.ContentBlock) -> Content:
    """Content in our parts."""
    match block:
        case native.TextBlock(text=text):
            return (Text(text=text),)
        case (
            native.ImageBlock(data=data, mime_type=mime)
            | native.AudioBlock(data=data, mime_type=mime)
        ):
            return _bytes(data, mime)
        case native.LinkBlock(uri=uri):
            return _link(block) if not uri.startswith("file://") else (_file(uri),)
        case native.ResourceBlock(resource=native.ResourceContents(text=str(text))):
            return (Text(text=text),)
        case native.ResourceBlock(resource=held):
            return _bytes(held.blob or "", held.mime_type or "application/octet-stream")
        case native.UnknownBlock(value=value):
            return (Json(json=value),)


def _bytes(data: str, mime: str | None) -> Content:
    try:
        return (Blob(data=base64.b64decode(data, validate=True), mime=mime),)
    except (binascii.Error, ValueError):
        return (Json(json={"mimeType": mime, "data": data}),)


def _file(uri: str) -> FileRef:
    return FileRef(path=path_of(uri), action="read")


def path_of(uri: str) -> str:
    """The path in the address of a file."""
    return unquote(uri.removeprefix("file://"))


def _link(block: native.LinkBlock) -> Content:
    return (Text(text=f"[{block.title or block.name or block.uri}]({block.uri})"),)
