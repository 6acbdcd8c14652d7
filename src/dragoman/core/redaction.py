"""Redacts secrets in drafts before they are stored, also across deltas.

A value may come in pieces, over several deltas. What may be its beginning is held back, with all
that follows it, until the next delta decides; the order of drafts never changes. Who must go on
shows the beginning, which is not the value, and only the rest of it is redacted then. Deltas add
up to what is completed, in any case.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType

from dragoman.core import content_shape
from dragoman.schema.events import Body, Draft, ItemCompleted, ItemDelta, SessionUpdated
from dragoman.schema.items import DeltaType, Item
from dragoman.wire.redactor import Match, Redactor, edited, stub, with_text

MAX_HELD = 1000
"""So many drafts may wait for a decision."""
_encode = msgspec.json.Encoder().encode

_IDS = frozenset(
    ("item_id", "native_item_id", "parent_id", "turn_id", "message_id", "permission_id",
     "question_id")
)  # fmt: skip
"""Who names something must name it as others do."""
_SETTINGS = frozenset(("model", "variant", "mode", "permission_mode"))
"""What the next process is started with: it must be what the agent calls it."""


class _Stream:
    """What was streamed of one open item."""

    __slots__ = ("content_type", "edits", "released_tail", "size")

    def __init__(self, content_type: DeltaType) -> None:
        self.content_type = content_type
        self.size = 0
        """How long the agent's own text is."""
        self.released_tail = ""
        """The end of it, where that was let out although it may begin a value."""
        self.edits: list[Match] = []
        """What was changed, by where it stands in the agent's own text."""


class _DeltaPiece:
    """A delta's part of its item's text."""

    __slots__ = ("cut", "draft", "edits", "end", "start", "text")

    def __init__(self, draft: int, text: str, start: int) -> None:
        self.draft = draft
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.edits: list[Match] = []
        """What changes, by where it stands in the piece."""
        self.cut: str | None = None
        """What stands for a value that begins or ends elsewhere."""


class Redaction:
    """One session's drafts on their way to the log, in order; `pending` are those that wait."""

    def __init__(self, redactor: Redactor) -> None:
        self.pending: list[Draft] = []
        self.candidate_length = 0
        """How much there is of what may be a value, where drafts are held."""
        self._redactor = redactor
        self._streams: dict[str, _Stream] = {}

    def take(self, drafts: Sequence[Draft], *, hold: bool) -> list[Draft]:
        """What may be written now; where `hold` is False, that is everything."""
        drafts = [*self.pending, *drafts]
        self.pending = []
        texts = self._texts(drafts)
        if hold and any(self._redactor.begins_at(text) < len(text) for text in texts.values()):
            end = self._decided(drafts, texts)
            drafts, self.pending = drafts[:end], drafts[end:]
            texts = self._texts(drafts) if self.pending else texts
        if self._is_suspicious(drafts, texts):
            return self._redacted(drafts, texts)
        for item_id, text in texts.items():
            stream = self._streams[item_id]
            stream.size += len(text) - len(stream.released_tail)
            stream.released_tail = text[self._redactor.begins_at(text) :]
        for draft in drafts:
            if type(draft.body) is ItemCompleted:
                self._streams.pop(draft.body.item.item_id, None)
        return drafts

    # --- Looking ---

    def _texts(self, drafts: Sequence[Draft]) -> dict[str, str]:
        """What each item's deltas come to, with what was shown of a value that may go on."""
        runs: dict[str, list[str]] = {}
        item_id, run = "", [""]
        for draft in drafts:
            body = draft.body
            if type(body) is ItemDelta:
                if body.item_id != item_id:
                    item_id = body.item_id
                    run = runs.get(item_id) or runs.setdefault(
                        item_id, [self._begin(body).released_tail]
                    )
                run.append(body.delta)
        return {item_id: "".join(run) for item_id, run in runs.items()}

    def _begin(self, delta: ItemDelta) -> _Stream:
        stream = self._streams.get(delta.item_id)
        if stream is None:
            stream = self._streams[delta.item_id] = _Stream(delta.content_type)
        return stream

    def _is_suspicious(self, drafts: Sequence[Draft], texts: dict[str, str]) -> bool:
        """One look at all of it: next to never is there anything to do."""
        look = self._redactor.may_hold
        seen: list[bytes] = []
        raw: bytes | None = None
        for draft in drafts:
            if draft.raw is not raw and draft.raw is not None:
                raw = draft.raw
                seen.append(raw)
            if type(draft.body) is not ItemDelta:
                seen.append(_encode(draft.body))
                if isinstance(draft.body, ItemCompleted):
                    stream = self._streams.get(draft.body.item.item_id)
                    if stream is not None and stream.edits:
                        return True
        return look(b"\n".join(seen)) or any(map(look, texts.values()))

    def _decided(self, drafts: Sequence[Draft], texts: dict[str, str]) -> int:
        """How many of the drafts need not wait; all, where others must not wait with them."""
        candidate_length = len(drafts)
        spans: list[tuple[int, int]] = []
        for item_id, text in texts.items():
            found, open_at = self._open_at(text)
            if found:
                pieces = self._pieces(drafts, item_id)
                for each in found:
                    first, last = _span(each.start, each.end, pieces)
                    spans.append((pieces[first].draft, pieces[last].draft))
            if open_at < len(text):
                first = _first_of_last(len(text) - open_at, item_id, drafts)
                if first < candidate_length:
                    candidate_length, self.candidate_length = first, len(text) - open_at
        if not all(type(draft.body) is ItemDelta for draft in drafts[candidate_length:]):
            return len(drafts)
        end, before = candidate_length, -1
        while end != before:
            # The pieces of one value go together, and the drafts of one native line.
            before = end
            end = min((first for first, last in spans if first < end <= last), default=end)
            while 0 < end < len(drafts) and _are_of_one_line(drafts[end - 1], drafts[end]):
                end -= 1
        return end if len(drafts) - end <= MAX_HELD else len(drafts)

    def _open_at(self, text: str) -> tuple[list[Match], int]:
        """The values in a text, and where it ends in what may be one; its length: nowhere."""
        found: list[Match] = []
        since = 0
        while found or self._redactor.may_hold(text):
            first = next(self._redactor.matches(text, since), None)
            if first is None or first.start >= self._redactor.begins_at(text, since):
                break
            found.append(first)
            since = first.end
        return found, self._redactor.begins_at(text, since)

    # --- Changing ---

    def _pieces(self, drafts: Sequence[Draft], item_id: str) -> list[_DeltaPiece]:
        pieces: list[_DeltaPiece] = []
        start = len(self._streams[item_id].released_tail)
        for number, draft in enumerate(drafts):
            body = draft.body
            if isinstance(body, ItemDelta) and body.item_id == item_id:
                pieces.append(_DeltaPiece(number, body.delta, start))
                start = pieces[-1].end
        return pieces

    def _redacted(self, drafts: Sequence[Draft], texts: dict[str, str]) -> list[Draft]:
        deltas: dict[int, str] = {}
        lines: dict[int, bytes] = {}
        for item_id, text in texts.items():
            pieces = self._pieces(drafts, item_id)
            for piece, new in zip(pieces, self._stream(item_id, text, pieces), strict=True):
                deltas[piece.draft] = new
                raw = drafts[piece.draft].raw
                if piece.cut is not None and raw is not None:
                    line = lines.get(id(raw), raw)
                    lines[id(raw)] = self._without_piece(line, piece, new)
        for draft in drafts:
            if draft.raw is not None:
                lines[id(draft.raw)] = self._redactor.line(lines.get(id(draft.raw), draft.raw))
        return [
            msgspec.structs.replace(
                draft,
                body=self._body(draft.body, deltas.get(number)),
                raw=None if draft.raw is None else lines[id(draft.raw)],
            )
            for number, draft in enumerate(drafts)
        ]

    def _stream(self, item_id: str, text: str, pieces: Sequence[_DeltaPiece]) -> list[str]:
        """The new texts of the pieces, and what is known of their item from now on."""
        stream = self._streams[item_id]
        before, shown = stream.size - len(stream.released_tail), len(stream.released_tail)
        since = 0
        for found in self._redactor.matches(text):
            start = max(found.start, shown)
            stream.edits.append(Match(before + start, before + found.end, found.placeholder))
            _spread(found, start, pieces)
            since = found.end
        stream.size += len(text) - shown
        stream.released_tail = text[self._redactor.begins_at(text, since) :]
        return [edited(piece.text, piece.edits) for piece in pieces]

    def _without_piece(self, line: bytes, piece: _DeltaPiece, new: str) -> bytes:
        changed = with_text(line, piece.text, new)
        if changed is not None:
            return changed
        # It is told in other words: either the whole value stands there too, or nobody knows.
        cleaned = self._redactor.line(line)
        return cleaned if cleaned != line else stub(piece.cut or "")

    def _body(self, body: Body, text: str | None) -> Body:
        if isinstance(body, ItemDelta):
            return body if text is None else msgspec.structs.replace(body, delta=text)
        cleaned: Body = self._clean(body)
        if isinstance(body, ItemCompleted) and isinstance(cleaned, ItemCompleted):
            stream = self._streams.pop(body.item.item_id, None)
            if stream is not None and stream.edits and stream.content_type != "output":
                item = _added_up(body.item, cleaned.item, stream)
                return msgspec.structs.replace(cleaned, item=item)
        return cleaned

    def _clean(self, value: Any) -> Any:
        """A value without secrets; the very same where it holds none."""
        match value:
            case str():
                return self._redactor.text(value)
            case Struct():
                fields = {name: getattr(value, name) for name in _texts_of(type(value))}
                new = {name: self._clean(each) for name, each in fields.items()}
                changed = {name: each for name, each in new.items() if each is not fields[name]}
                return msgspec.structs.replace(value, **changed) if changed else value
            case dict():
                return self._json(
                    {self._clean(name): self._leaf(each) for name, each in value.items()}
                )
            case list():
                return self._json([self._leaf(each) for each in value])
            case tuple():
                return tuple(self._leaf(each) for each in value)
            case _:
                return value

    def _leaf(self, value: Any) -> Any:
        """What stands in free JSON: there, a number may be a value too."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._json(value)
        return self._clean(value)

    def _json(self, value: Any) -> Any:
        placeholder = self._redactor.value(value)
        return value if placeholder is None else placeholder


def _are_of_one_line(one: Draft, other: Draft) -> bool:
    return one.raw is not None and one.raw is other.raw


def _first_of_last(size: int, item_id: str, drafts: Sequence[Draft]) -> int:
    """The first draft that holds some of the last characters of an item's text."""
    first = len(drafts)
    for number in range(len(drafts) - 1, -1, -1):
        body = drafts[number].body
        if size > 0 and isinstance(body, ItemDelta) and body.item_id == item_id:
            first, size = number, size - len(body.delta)
        if size <= 0:
            break
    return first


def _span(start: int, end: int, pieces: Sequence[_DeltaPiece]) -> tuple[int, int]:
    """The first and the last piece that hold some of a part of the text."""
    first = bisect_right(pieces, start, key=lambda piece: piece.end)
    return first, bisect_left(pieces, end, key=lambda piece: piece.start) - 1


def _spread(found: Match, start: int, pieces: Sequence[_DeltaPiece]) -> None:
    """Put a placeholder where a value was, a part of it into each piece, so that none is empty."""
    first, last = _span(start, found.end, pieces)
    text, count = found.placeholder, last - first + 1
    for place, piece in enumerate(pieces[first : last + 1]):
        low, high = max(start - piece.start, 0), min(found.end, piece.end) - piece.start
        part = text[len(text) * place // count : len(text) * (place + 1) // count]
        piece.edits.append(Match(low, high, part))
        if high - low < found.end - found.start:
            piece.cut = text


def _added_up(item: Item, cleaned: Item, stream: _Stream) -> Item:
    """The item with the text that its deltas add up to."""
    text = content_shape.streamed(item.content)
    if len(text) != stream.size:
        return cleaned
    text = edited(text, stream.edits)
    content = content_shape.with_streamed(stream.content_type, cleaned.content, text)
    return msgspec.structs.replace(cleaned, content=content)


@cache
def _texts_of(struct: type[Struct]) -> tuple[str, ...]:
    """The fields of a struct that may hold any text; not ids, nor words of our own."""
    skipped = _IDS | _SETTINGS if issubclass(struct, SessionUpdated) else _IDS
    fields = msgspec.structs.fields(struct)
    return tuple(f.name for f in fields if f.name not in skipped and not _is_closed(f.type))


def _is_closed(hint: Any) -> bool:
    """Whether only words of our own, or numbers, fit in."""
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_closed, get_args(hint)))
    return get_origin(hint) is Literal or hint in (int, float, bool, NoneType, UnsetType)
