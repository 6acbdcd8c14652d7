"""Messages and thoughts: one message for each model step, with all its texts in it."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.agents.opencode import native
from dragoman.agents.opencode.subagents import Owner
from dragoman.schema.items import ItemStatus, Reasoning, Text
from dragoman.steps import CompleteItem, Delta, ItemFields, Step

CUT_SHORT = ("unknown", "other", "error")
"""Why a model stopped, where its stream broke off: OpenCode (1.18.33) takes the next step."""


class OpenMessage:
    """A message that is not complete."""

    def __init__(self, owner: Owner, message_id: str) -> None:
        self.owner = owner
        self.key = message_id
        """Of its item: the message's id, and another one once it was said anew."""
        self.is_open = False
        """It is in the stream, from its first text or tool call on."""
        self.has_tools = False
        self.completion: native.MessageInfo | None = None
        """How it ends, where that was told before all that is in it."""
        self.is_finished = False
        """All that is in it was told."""
        self.texts: dict[str, str] = {}
        """Its texts that are complete, by their parts."""
        self.is_rewritten = False
        """A text is another one than was streamed: a piece was lost, or a plugin changed it."""


class OpenText:
    """A text or a thought: how much of it was streamed."""

    def __init__(self, message_id: str, *, is_thought: bool) -> None:
        self.message_id = message_id
        self.is_thought = is_thought
        self.is_shown = False
        self.has_gap = False
        """Pieces of it may have been missed: the rest is shown when it is complete."""
        self.text = ""


class Messages:
    """The messages that are being written."""

    def __init__(self) -> None:
        self._messages: dict[str, OpenMessage] = {}
        self._texts: dict[str, OpenText] = {}
        self._over: set[str] = set()
        """Messages and parts that are complete: what is told of them again changes nothing."""
        self._ignored: set[str] = set()
        """Messages that are in the session from before: those that a fork was made of."""
        self.user_messages: set[str] = set()

    def ignore(self, messages: list[native.StoredMessage]) -> None:
        """These messages are not of this session."""
        self._ignored.update(message.info.id for message in messages)

    def is_ignored(self, message_id: str) -> bool:
        """Whether nothing is told of a message."""
        return message_id in self._ignored

    def is_over(self, message_id: str) -> bool:
        """Whether a message is complete."""
        return message_id in self._over

    def knows(self, message_id: str) -> bool:
        """Whether something was told of a message."""
        return (
            message_id in self._over
            or message_id in self._messages
            or message_id in self._ignored
            or message_id in self.user_messages
        )

    def mark_gaps(self) -> None:
        """The stream broke: of what is being written, pieces may be missing."""
        for text in self._texts.values():
            text.has_gap = True

    def has_open(self, session: str) -> bool:
        """Whether a session has a message of which nobody has told how it ends."""
        return any(
            each.owner.session == session and each.completion is None
            for each in self._messages.values()
        )

    def begin(self, message_id: str, owner: Owner) -> None:
        """A model step begins; its message is shown with the first that is in it."""
        if message_id not in self._over:
            self._messages.setdefault(message_id, OpenMessage(owner, message_id))

    def open(self, message_id: str, owner: Owner, *, tool: bool = False) -> Iterator[Step]:
        """Show a message, if it is not shown."""
        if message_id in self._over:
            return
        message = self._messages.setdefault(message_id, OpenMessage(owner, message_id))
        message.has_tools |= tool
        if not message.is_open:
            message.is_open = True
            yield owner.item(
                key=message.key,
                kind="message",
                role="assistant",
                native_id=message_id,
                content=() if tool else (Text(text=""),),
            )

    def key(self, message_id: str) -> str:
        """The key of a message's item."""
        message = self._messages.get(message_id)
        return message_id if message is None else message.key

    def retract(self, session: str) -> Iterator[Step]:
        """The model's stream broke, and it is asked again: what it said does not count."""
        for message_id, message in self._messages.items():
            if message.owner.session != session or not message.is_open:
                continue
            yield from self._end_texts(message_id)
            yield CompleteItem(key=message.key, status="failed", fields={"reason": "retracted"})
            message.key += "'"
            message.is_open = message.is_rewritten = False
            message.texts.clear()

    # --- Texts ---

    def text(self, part: native.TextPart, owner: Owner) -> Iterator[Step]:
        """A text or a thought begins, or is complete; in between it comes in pieces."""
        if part.id in self._over or part.message_id in self._over:
            return
        yield from self._grow(part.id, part, owner, part.text)
        if part.time is not None and part.time.end is not None:
            text = self._texts.pop(part.id)
            self._over.add(part.id)
            if text.is_thought:
                yield CompleteItem(key=part.id, content=(Reasoning(text=part.text),))
            elif (message := self._messages.get(part.message_id)) is not None:
                message.texts[part.id] = part.text
                message.is_rewritten |= part.text != text.text

    def delta(self, delta: native.PartDelta, owner: Owner) -> Iterator[Step]:
        """The next piece."""
        text = self._texts.get(delta.part_id)
        if delta.part_id in self._over or delta.message_id in self._over or text is None:
            return
        if text.has_gap:
            return
        text.text += delta.delta
        if delta.delta:
            yield from self._show(delta.part_id, text, owner)
            yield self._piece(delta.part_id, text, delta.delta)

    def _grow(
        self, part_id: str, part: native.TextPart, owner: Owner, whole: str
    ) -> Iterator[Step]:
        text = self._texts.get(part_id)
        if text is None:
            is_thought = part.type == "reasoning"
            text = self._texts[part_id] = OpenText(part.message_id, is_thought=is_thought)
            if is_thought:
                yield from self._show(part_id, text, owner)
        # Pieces may have been lost with the stream.
        fresh = whole[len(text.text) :] if whole.startswith(text.text) else ""
        text.text = whole if fresh else text.text
        if fresh:
            yield from self._show(part_id, text, owner)
            yield self._piece(part_id, text, fresh)

    def _piece(self, part_id: str, text: OpenText, words: str) -> Delta:
        if text.is_thought:
            return Delta(part_id, words, "reasoning")
        return Delta(self.key(text.message_id), words)

    def _show(self, part_id: str, text: OpenText, owner: Owner) -> Iterator[Step]:
        if not text.is_thought:
            yield from self.open(text.message_id, owner)
        elif not text.is_shown:
            text.is_shown = True
            message = self._messages.get(text.message_id)
            yield owner.item(
                parent=message.key if message is not None and message.is_open else None,
                key=part_id,
                kind="message",
                role="assistant",
                native_id=part_id,
                content=(Reasoning(text=""),),
            )

    # --- Ends ---

    def remove(self, removed: native.Removed) -> Iterator[Step]:
        """Somebody takes a message out of the session, or a part of it: what was being written of
        it does not count. What is complete stays as it is."""
        message = self._messages.get(removed.message_id)
        if message is None:
            return
        if removed.part_id is not None:
            yield from self._remove_part(removed.part_id, message)
            return
        yield from self._end_texts(removed.message_id)
        del self._messages[removed.message_id]
        self._over.add(removed.message_id)
        if message.is_open:
            yield CompleteItem(key=message.key, status="failed", fields={"reason": "retracted"})

    def _remove_part(self, part_id: str, message: OpenMessage) -> Iterator[Step]:
        text = self._texts.pop(part_id, None)
        self._over.add(part_id)
        if text is not None and text.is_thought:
            yield CompleteItem(key=part_id, status="failed", fields={"reason": "retracted"})
        elif text is not None or message.texts.pop(part_id, None) is not None:
            message.is_rewritten = True

    def complete(self, info: native.MessageInfo) -> Iterator[Step]:
        """A model step is over.

        OpenCode (1.18.33) may say so before it says what is in the message: events are written
        down late, and the message is then as it has become meanwhile. The end of its step comes in
        its place; where there is none, the message ends with its turn.
        """
        message = self._messages.get(info.id)
        if message is not None:
            message.completion = info
            if message.is_finished:
                yield from self._close(info.id, message, info)

    def finish(self, message_id: str) -> Iterator[Step]:
        """All that is in a message was told."""
        message = self._messages.get(message_id)
        if message is not None:
            message.is_finished = True
            if message.completion is not None:
                yield from self._close(message_id, message, message.completion)

    def complete_all(self) -> Iterator[Step]:
        """The turn is over: the messages whose end is known end so."""
        for message_id, message in list(self._messages.items()):
            if message.completion is not None:
                yield from self._close(message_id, message, message.completion)

    def _close(
        self, message_id: str, message: OpenMessage, info: native.MessageInfo
    ) -> Iterator[Step]:
        yield from self._end_texts(message_id)
        del self._messages[message_id]
        self._over.add(message_id)
        status, fields = _ending(info, message)
        if not message.is_open and info.error is None:
            yield message.owner.item(
                key=message.key, kind="message", role="assistant", native_id=message_id
            )
        if message.is_open or info.error is None:
            content = (
                (Text(text="".join(message.texts.values())),) if message.is_rewritten else None
            )
            yield CompleteItem(key=message.key, content=content, status=status, fields=fields)

    def _end_texts(self, message_id: str) -> Iterator[Step]:
        for part_id, text in list(self._texts.items()):
            if text.message_id == message_id:
                del self._texts[part_id]
                self._over.add(part_id)
                if text.is_thought:
                    yield CompleteItem(key=part_id, status="failed")
                elif (message := self._messages.get(message_id)) is not None:
                    message.texts[part_id] = text.text

    def end_turn(self) -> None:
        """Forget what was being written; what still comes of it is over."""
        self._over.update(self._messages)
        self._over.update(self._texts)
        self._messages.clear()
        self._texts.clear()

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self.end_turn()
        self._over.clear()
        self._ignored.clear()
        self.user_messages.clear()


def _ending(info: native.MessageInfo, message: OpenMessage) -> tuple[ItemStatus, ItemFields]:
    fields: ItemFields = {}
    if info.error is not None:
        aborted = info.error.name == "MessageAbortedError"
        fields["reason"] = "interrupted" if aborted else "error"
        return "failed", fields
    if (info.finish is None or info.finish in CUT_SHORT) and not message.has_tools:
        fields["reason"] = "retracted"
        return "failed", fields
    if info.finish is not None:
        fields["stop_reason"] = info.finish
    return "completed", fields
