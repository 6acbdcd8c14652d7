"""The messages that were sent: under which id Claude Code knows them, and what became of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator


class Sent:
    """People's messages, by the UUIDs that they were sent under."""

    def __init__(self) -> None:
        self._messages: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        """The words of what Claude Code has not repeated."""
        self._taken: set[str] = set()
        self._told = False
        """Claude Code tells what becomes of messages; versions before 2.1.300 do not."""

    def add(self, message_id: str, text: str) -> str:
        """A message is sent; the id to send it under. Sent twice, it is answered once."""
        hex = hashlib.sha256(message_id.encode()).hexdigest()
        key = f"{hex[:8]}-{hex[8:12]}-4{hex[13:16]}-8{hex[17:20]}-{hex[20:32]}"
        self._messages[key] = message_id
        self._texts[key] = text
        return key

    def message(self, key: str | None) -> str | None:
        """The message that is known under an id; None: it is not ours."""
        return self._messages.get(key or "")

    def repeated(self, key: str | None, text: str) -> str | None:
        """The message that is repeated, under its id or, with the same words, another one."""
        if key not in self._messages:
            same = (each for each, words in self._texts.items() if words == text)
            key = next(same, None)
        self._texts.pop(key or "", None)
        return self.message(key)

    def first(self) -> str | None:
        """The first message that was not taken up; it is, now."""
        key = next((each for each in self._messages if each not in self._taken), None)
        if key is None:
            return None
        message_id = self._messages[key]
        self.done(key)
        return message_id

    def all(self) -> tuple[str, ...]:
        """All messages that are not done."""
        return tuple(self._messages.values())

    def hear(self, key: str) -> str | None:
        """Claude Code tells something about a message."""
        self._told = True
        return self.message(key)

    def take(self, key: str) -> None:
        """Claude Code has taken it up."""
        self._taken.add(key)

    def begun(self, named: Iterable[str]) -> Iterator[str]:
        """A turn begins: the messages that it is about, and that were not taken before."""
        keys = [key for key in named if key in self._messages]
        if not keys and not self._told:
            keys = [key for key in self._messages if key not in self._taken][:1]
        for key in keys:
            if key not in self._taken:
                self._taken.add(key)
                yield self._messages[key]

    def done(self, key: str) -> bool:
        """Forget a message; whether it had been taken up."""
        self._messages.pop(key, None)
        self._texts.pop(key, None)
        taken = key in self._taken
        self._taken.discard(key)
        return taken

    def turn_over(self) -> None:
        """What was taken up is done, where nobody tells."""
        if not self._told:
            for key in list(self._taken):
                self.done(key)

    def clear(self) -> None:
        """The process is gone."""
        self._messages.clear()
        self._texts.clear()
        self._taken.clear()
