"""People's messages on their way: from the queue to the echo that shows them."""

from __future__ import annotations

from dragoman.agents.opencode import native
from dragoman.agents.opencode.launch import OWN_KEY
from dragoman.schema.commands import Prompt


class Delivery:
    """The messages that OpenCode has not repeated."""

    def __init__(self) -> None:
        self._queue: list[Prompt] = []
        """What waits for the session to be open."""
        self._in_flight: dict[str, Prompt] = {}
        self._doubtful: set[str] = set()
        """Messages in flight of which OpenCode did not say that it took them."""
        self._native_ids: dict[str, str] = {}
        """Messages that the session has from before it was opened here → OpenCode's ids."""

    def enqueue(self, prompt: Prompt) -> None:
        """A message waits until the session is open."""
        self._queue.append(prompt)

    def take_queue(self) -> list[Prompt]:
        """What has waited."""
        queue, self._queue = self._queue, []
        return queue

    def send(self, prompt: Prompt) -> None:
        """A message is on its way."""
        self._in_flight[prompt.message_id] = prompt

    def on_history(self, messages: list[native.StoredMessage]) -> None:
        """The session is resumed, and its last messages are these."""
        for message in messages:
            for part in map(native.read_part, message.parts):
                own = self.echo(part) if isinstance(part, native.TextPart) else None
                if own is not None:
                    self._native_ids[own] = message.info.id

    def pop_known(self, prompt: Prompt) -> str | None:
        """OpenCode's id of a message that it got before it, or the daemon, died."""
        return self._native_ids.pop(prompt.message_id, None)

    @property
    def is_waiting(self) -> bool:
        """Whether OpenCode has not repeated some message."""
        return bool(self._in_flight)

    @property
    def first(self) -> str | None:
        """The message that OpenCode will repeat next."""
        return next(iter(self._in_flight), None)

    def is_in_flight(self, message_id: str) -> bool:
        """Whether a message is on its way."""
        return message_id in self._in_flight

    def doubt(self, message_id: str) -> None:
        """Nobody said whether OpenCode has a message."""
        self._doubtful.add(message_id)

    def take_doubtful(self) -> list[str]:
        """The messages that OpenCode does not have, now that all it has was read."""
        doubtful, self._doubtful = self._doubtful, set()
        return [message_id for message_id in self._in_flight if message_id in doubtful]

    def pop(self, message_id: str) -> bool:
        """A message has arrived, or will not; whether it was on its way."""
        return self._in_flight.pop(message_id, None) is not None

    def echo(self, part: native.TextPart) -> str | None:
        """The id of the message whose words these are."""
        message_id = (part.metadata or {}).get(OWN_KEY)
        return message_id if isinstance(message_id, str) else None

    def reset(self) -> None:
        """Forget everything: the process is gone, and the session still has the messages."""
        self._queue.clear()
        self._in_flight.clear()
        self._doubtful.clear()
        self._native_ids.clear()
