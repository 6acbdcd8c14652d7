"""Messages of people: how they are sent, and what becomes of each until it is answered."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from dragoman.schema.commands import Attachment, Prompt


class SentMessages:
    """People's messages, by the UUIDs that they were sent under."""

    def __init__(self) -> None:
        self._messages: dict[str, str] = {}
        """UUID → id of ours, of each message that is not completed."""
        self._texts: dict[str, str] = {}
        """The text of each message that Claude Code has not repeated."""
        self._accepted_keys: set[str] = set()
        """The UUIDs of messages that Claude Code works on."""
        self._reports_lifecycle = False
        """It sends `command_lifecycle`; versions before 2.1.300 do not."""

    def add(self, message_id: str, text: str) -> str:
        """A message is sent; return its UUID. The same message always has the same one, so Claude
        Code answers once what it is sent twice."""
        hex = hashlib.sha256(message_id.encode()).hexdigest()
        key = f"{hex[:8]}-{hex[8:12]}-4{hex[13:16]}-8{hex[17:20]}-{hex[20:32]}"
        self._messages[key] = message_id
        self._texts[key] = text
        return key

    def match_echo(self, key: str | None, text: str) -> str | None:
        """The message that is repeated, by its UUID or else by its text; None: it is not ours."""
        if key not in self._messages:
            same_text = (uuid for uuid, each in self._texts.items() if each == text)
            key = next(same_text, None)
        self._texts.pop(key or "", None)
        return self._messages.get(key or "")

    def on_lifecycle(self, key: str) -> str | None:
        """A `command_lifecycle` names a message; None: it is not ours."""
        self._reports_lifecycle = True
        return self._messages.get(key)

    def accept(self, key: str) -> None:
        """Claude Code works on a message from now on."""
        self._accepted_keys.add(key)

    def complete(self, key: str) -> bool:
        """Drop a message; whether it had been accepted."""
        self._messages.pop(key, None)
        self._texts.pop(key, None)
        was_accepted = key in self._accepted_keys
        self._accepted_keys.discard(key)
        return was_accepted

    def complete_first(self) -> str | None:
        """Drop the first message that was not accepted, and name it."""
        key = next((each for each in self._messages if each not in self._accepted_keys), None)
        if key is None:
            return None
        message_id = self._messages[key]
        self.complete(key)
        return message_id

    def begin_turn(self, keys: Iterable[str]) -> Iterator[str]:
        """A turn begins, about these UUIDs: the messages that it accepts."""
        ours = [key for key in keys if key in self._messages]
        if not ours and not self._reports_lifecycle:
            ours = [key for key in self._messages if key not in self._accepted_keys][:1]
        for key in ours:
            if key not in self._accepted_keys:
                self._accepted_keys.add(key)
                yield self._messages[key]

    def end_turn(self) -> None:
        """Where no `command_lifecycle` says it, what was accepted is completed with its turn."""
        if not self._reports_lifecycle:
            for key in list(self._accepted_keys):
                self.complete(key)

    def pending(self) -> tuple[str, ...]:
        """All messages that are not completed."""
        return tuple(self._messages.values())

    def clear(self) -> None:
        """The process is gone."""
        self._messages.clear()
        self._texts.clear()
        self._accepted_keys.clear()


def content_of(prompt: Prompt) -> str | list[dict[str, Any]]:
    """A person's text with its attachments: images as blocks, other files as mentions."""
    if not prompt.attachments:
        return prompt.text
    blocks: list[dict[str, Any]] = []
    texts = [prompt.text] if prompt.text else []
    for file in prompt.attachments:
        if file.path in prompt.images:
            data = base64.b64encode(prompt.images[file.path]).decode()
            source = {"type": "base64", "media_type": file.mime, "data": data}
            blocks.append({"type": "image", "source": source})
        else:
            texts.append(_mention(file))
    # Claude Code reads files that the last block mentions, and no others.
    return [*blocks, {"type": "text", "text": "\n\n".join(texts)}] if texts else blocks


def _mention(file: Attachment) -> str:
    """The text that makes Claude Code read a file, or list a folder, before it asks the model."""
    can_quote = file.path.isprintable() and '"' not in file.path
    mention = f'@"{file.path}"' if can_quote else f"Attached file: {file.path}"
    is_renamed = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"{mention} ({file.filename})" if is_renamed else mention
