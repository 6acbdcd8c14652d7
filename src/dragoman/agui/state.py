"""What a run tells of its session: the agent's own id of it, and how it is set up."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dragoman.agui.events import Custom, StateSnapshot
from dragoman.agui.frames import FrameWriter
from dragoman.core.custom_events import session_id_event
from dragoman.core.fold import SessionState
from dragoman.schema.events import Context, Event, SessionStarted, SessionUpdated


class Announcer:
    """Tells the state of a session, when a run begins and whenever it changes."""

    def __init__(
        self,
        writer: FrameWriter,
        prefix: str,
        state: SessionState | None,
        client_state: dict[str, Any] | None,
    ) -> None:
        self._writer = writer
        self._prefix = prefix
        self._state = SessionState(agent_mode="") if state is None else state.copy()
        self._client_state = client_state or {}
        self._context: Context | None = None
        self._native_id = self._state.native_session_id
        self._announced: str | None = None
        self._last: dict[str, Any] | None = None

    @property
    def model(self) -> dict[str, str]:
        """The model, where it is known."""
        return {} if self._state.model is None else {"model": self._state.model}

    def note(self, event: Event) -> None:
        """Take in what an event says of the session."""
        if event.native_session_id is not None:
            self._native_id = event.native_session_id
        match event.data:
            case SessionStarted(metadata=dict(metadata)):
                self._begin_with(metadata)
            case SessionUpdated(context=context) if context is not UNSET:
                self._context = context
                self._state.apply(event.data)
            case body:
                self._state.apply(body)

    def _begin_with(self, metadata: dict[str, Any]) -> None:
        for field, name in (
            ("agentMode", "agent_mode"),
            ("model", "model"),
            ("variant", "variant"),
        ):
            if isinstance(metadata.get(field), str):
                setattr(self._state, name, metadata[field])

    def begin(self) -> None:
        """A run begins."""
        self._announced = self._last = None
        self.say_state()
        if self._state.model is not None:
            self._say_native_id()

    def announce(self, *, is_prompt: bool = False) -> None:
        """Tell the agent's own id, once for a run, and with the model and the tools if it can be.

        An agent tells these before it says anything; a person's message comes first.
        """
        if not is_prompt:
            self._say_native_id()

    def _say_native_id(self) -> None:
        if self._native_id is not None and self._native_id != self._announced:
            self._announced = self._native_id
            name, value = session_id_event(self._prefix, self._native_id, self._state)
            self._writer.say(Custom, name=name, value=value)

    def say_state(self) -> None:
        """Tell how the session is, if that is new."""
        state = self._state
        known = {
            "sessionId": self._writer.session_id,
            "agentMode": state.agent_mode or None,
            "permissionMode": state.permission_mode,
            "model": state.model,
            "variant": state.variant,
            "title": state.title,
            "context": None
            if self._context is None
            else {"used": self._context.used, "window": self._context.window},
        }
        current = {name: value for name, value in known.items() if value is not None}
        if current != self._last:
            self._last = current
            self._writer.say(StateSnapshot, snapshot={**self._client_state, "dragoman": current})
