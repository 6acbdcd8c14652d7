"""People's messages on their way to Pi: sent, accepted, and matched with their echoes."""

from __future__ import annotations

import base64
from typing import Any

from dragoman.schema.commands import Attachment, Prompt

MESSAGE_ID = "application/x-dragoman-message-id"
"""The type of what names a message to our extension."""
ALREADY_DELIVERED = "dragoman.delivered"
"""The status in which our extension names a message that the conversation has already."""


class SentMessages:
    """People's messages, by our ids, which are also the ids of the commands that send them."""

    def __init__(self) -> None:
        self._unanswered: list[str] = []
        """Pi has not said what becomes of them."""
        self._waiting: list[str] = []
        """Pi has accepted them, and not repeated them yet."""
        self._prompts: dict[str, Prompt] = {}
        """All of these."""
        self._queued_ids: set[str] = set()
        """Those that wait in Pi's own queue, to join a turn."""
        self._postponed: list[Prompt] = []
        """They are sent as soon as Pi is ready for them."""

    def postpone(self, prompt: Prompt) -> None:
        """A message is to be sent later."""
        self._postponed.append(prompt)

    def take_postponed(self) -> tuple[Prompt, ...]:
        """What can be sent now."""
        postponed, self._postponed = tuple(self._postponed), []
        return postponed

    def add(self, prompt: Prompt) -> None:
        """A message is sent."""
        self._unanswered.append(prompt.message_id)
        self._prompts[prompt.message_id] = prompt

    @property
    def is_unanswered(self) -> bool:
        """Pi has not said what becomes of some message."""
        return bool(self._unanswered)

    def give_back(self) -> None:
        """Pi has emptied its queue: what waited there is sent again, once the turn is over."""
        queued = [each for each in self._waiting if each in self._queued_ids]
        prompts = [self._prompts[each] for each in queued]
        for message_id in queued:
            self.drop(message_id)
        self._postponed += prompts

    def is_sent(self, message_id: str | None) -> bool:
        """Whether Pi still has to answer this one."""
        return message_id in self._unanswered

    def accept(self, message_id: str, *, is_queued: bool) -> None:
        """Pi will work on it, and repeat it when it does."""
        self._unanswered.remove(message_id)
        self._waiting.append(message_id)
        if is_queued:
            self._queued_ids.add(message_id)

    def drop(self, message_id: str) -> None:
        """Pi will not work on it."""
        for messages in (self._unanswered, self._waiting):
            if message_id in messages:
                messages.remove(message_id)
        self._postponed = [each for each in self._postponed if each.message_id != message_id]
        self._prompts.pop(message_id, None)
        self._queued_ids.discard(message_id)

    def match_echo(self) -> str | None:
        """The message that is repeated: Pi takes them in order; None: it is not ours."""
        # The answer to a command and its effects are written by different hands.
        message_id = next(iter(self.pending()), None)
        if message_id is None:
            return None
        self.drop(message_id)
        return message_id

    def pending(self) -> tuple[str, ...]:
        """All messages that Pi has not begun to work on."""
        return (*self._waiting, *self._unanswered, *(each.message_id for each in self._postponed))

    @property
    def is_waiting(self) -> bool:
        """A message that Pi has accepted is still to come."""
        return bool(self._waiting)

    def clear(self) -> None:
        """The process is gone."""
        self._unanswered.clear()
        self._waiting.clear()
        self._prompts.clear()
        self._queued_ids.clear()
        self._postponed.clear()


def content_of(prompt: Prompt) -> dict[str, Any]:
    """A person's text with its attachments: images as such, other files by their paths.

    The first image is none: it names the message to our extension, which takes it out.
    """
    name = {"type": "image", "data": prompt.message_id, "mimeType": MESSAGE_ID}
    images = [
        {
            "type": "image",
            "data": base64.b64encode(prompt.images[file.path]).decode(),
            "mimeType": file.mime,
        }
        for file in prompt.attachments
        if file.path in prompt.images
    ]
    files = [_mention(file) for file in prompt.attachments if file.path not in prompt.images]
    texts = [prompt.text] if prompt.text or not files else []
    return {"message": "\n\n".join([*texts, *files]), "images": [name, *images]}


def _mention(file: Attachment) -> str:
    """The text that tells the model of a file: in RPC mode Pi reads none by itself."""
    is_renamed = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"Attached file: {file.path}" + (f" ({file.filename})" if is_renamed else "")
