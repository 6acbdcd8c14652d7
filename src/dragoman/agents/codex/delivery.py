"""People's messages on their way to Codex: queued, in flight, and matched with their echoes."""

from __future__ import annotations

from msgspec import Struct

from dragoman.agents.codex.launch import input_text
from dragoman.schema.commands import Prompt


class _InFlight(Struct):
    prompt: Prompt
    steers: bool
    """It was sent into a running turn; else it begins one."""
    is_accepted: bool = False
    """Codex has replied that it joins the turn."""


class Delivery:
    """The messages that Codex has not confirmed yet.

    A message is queued until its thread is open and no turn runs, then it is in flight until
    Codex repeats it (its echo, a `userMessage` item). A message that was to join a turn and is
    not repeated by the end of it is queued again.
    """

    def __init__(self) -> None:
        self.steerable = True
        """The running turn takes more messages; a review and a compaction do not."""
        self._repeats_ids = True
        """Codex repeats messages with our ids; versions before 0.136 do not."""
        self._queue: list[Prompt] = []
        self._in_flight: dict[str, _InFlight] = {}
        self._shown_before_echo: set[str] = set()
        """Messages of the turn that were shown before Codex repeated them."""
        self._turn_of_message: dict[str, str] = {}
        """Messages that are in the thread from before it was opened here, and their turns."""
        self._is_unsearched = False
        """The thread is resumed, and a message that joined a turn may be anywhere in it."""
        self._is_searching = False

    # --- Threads ---

    def on_thread_opened(self, turn_of_message: dict[str, str] | None) -> None:
        """The thread is open, with these messages that began turns; None: it is new."""
        self._turn_of_message = turn_of_message or {}
        self._is_unsearched = turn_of_message is not None

    def pop_turn(self, prompt: Prompt) -> str | None:
        """The turn of a message that Codex got before its server or the daemon died."""
        return self._turn_of_message.pop(prompt.message_id, None)

    def search_first(self, prompt: Prompt) -> bool:
        """Whether the thread must be searched for a message first, which is queued meanwhile."""
        if prompt.joins and self._is_unsearched:
            self._queue.insert(0, prompt)
            self._is_searching = True
        return self._is_searching

    def on_search_result(self, turn_of_message: dict[str, str]) -> None:
        """These messages are among the last items of the thread."""
        self._turn_of_message.update(turn_of_message)
        self._is_unsearched = self._is_searching = False

    # --- The queue ---

    def enqueue(self, prompt: Prompt) -> None:
        """Keep a message until the thread is open, or the turn is over."""
        self._queue.append(prompt)

    def clear_queue(self) -> list[Prompt]:
        """All that was queued: there will be no thread."""
        queue, self._queue = self._queue, []
        return queue

    def requeue(self, message_id: str) -> None:
        """A message did not join the turn; it may have a turn of its own by now."""
        message = self._in_flight.get(message_id)
        if message is not None and message.steers:
            del self._in_flight[message_id]
            self._queue.append(message.prompt)

    def pop_next(self) -> Prompt | None:
        """The message that may be sent, now that no turn runs."""
        is_free = not self._in_flight and not self._is_searching
        return self._queue.pop(0) if self._queue and is_free else None

    # --- In flight ---

    def send_into_turn(self, prompt: Prompt) -> None:
        """A message was sent into the running turn."""
        self._in_flight[prompt.message_id] = _InFlight(prompt, steers=True)

    def send_as_turn(self, prompt: Prompt, *, plain: bool) -> None:
        """A message was sent to begin a turn; `plain`: the model gets it, and Codex repeats it."""
        self._in_flight[prompt.message_id] = _InFlight(prompt, steers=False)
        self.steerable = plain

    def accept(self, message_id: str) -> None:
        """Codex has replied that the message joins the turn."""
        if message_id in self._in_flight:
            self._in_flight[message_id].is_accepted = True

    def drop(self, message_id: str) -> None:
        """Nothing more will come of the message."""
        self._in_flight.pop(message_id, None)

    @property
    def is_in_flight(self) -> bool:
        """Whether Codex has not confirmed some message."""
        return bool(self._in_flight)

    @property
    def expects_echo(self) -> bool:
        """Whether Codex is about to repeat the message that begins the turn."""
        return self.steerable and self._first_message() is not None

    # --- Echoes ---

    def match_echo(self, message_id: str | None, text: str) -> str | None:
        """Our id of a message that Codex repeats; None: it is not one of ours."""
        if message_id is None:
            message_id = self._first_message()
            self._repeats_ids &= message_id is None
        if message_id is None and not self._repeats_ids:
            message_id = self._message_with(text)
        return message_id if self._in_flight.pop(message_id or "", None) else None

    def show_before_echo(self) -> str | None:
        """The message that begins the turn, if it must be shown before Codex repeats it."""
        message_id = self._first_message()
        if message_id is not None:
            del self._in_flight[message_id]
            self._shown_before_echo.add(message_id)
        return message_id

    def was_shown(self, message_id: str | None) -> bool:
        """Whether a message that Codex repeats was shown before."""
        return message_id in self._shown_before_echo

    def pop_unconfirmed(self) -> list[str]:
        """What joined the turn and was not repeated, where Codex does not repeat everything."""
        if self._repeats_ids:
            return []
        ids = [each for each, message in self._in_flight.items() if message.is_accepted]
        for message_id in ids:
            del self._in_flight[message_id]
        return ids

    def _first_message(self) -> str | None:
        return next((each for each, message in self._in_flight.items() if not message.steers), None)

    def _message_with(self, text: str) -> str | None:
        same = (
            each for each, message in self._in_flight.items() if input_text(message.prompt) == text
        )
        return next(same, None)

    # --- Ends ---

    def end_turn(self) -> None:
        """Queue what was to join the turn and did not."""
        self._queue += [message.prompt for message in self._in_flight.values()]
        self._in_flight.clear()
        self._shown_before_echo.clear()
        self.steerable = True

    def reset(self) -> None:
        """Forget everything: the process is gone, and the session still has the messages."""
        self._is_searching = False
        self._queue.clear()
        self._in_flight.clear()
        self._shown_before_echo.clear()
        self.steerable = True
