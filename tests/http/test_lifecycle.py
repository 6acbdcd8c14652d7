"""The life of sessions, in any order: what each request is answered follows from what went before.

A small model says what a daemon has to answer. Whatever is tried, every stream stays sound.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dragoman.testing.conformance import check_lines
from tests.daemon import Daemon

_names = itertools.count(1)
SAID = st.sampled_from(["echo one", "permission", "question", "hang", "tool", "slow 50"])
REPLIES = st.sampled_from(["once", "always", "reject"])


class Known:
    """What is certain of a session, whatever its agent does meanwhile."""

    def __init__(self) -> None:
        self.ended = False
        self.deleted = False
        self.answers: dict[str, str] = {}
        """The first answer to each permission that was accepted."""


class Lifecycle(RuleBasedStateMachine):
    """A daemon, and what it must know."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.daemon = Daemon(Path(self._folder.name) / "data")
        self.known: dict[str, Known] = {}

    @initialize()
    def start(self) -> None:
        """Start the daemon."""
        self.daemon.start()

    # --- What people do ---

    @rule(target=sessions)
    def create(self) -> str:
        """A new session."""
        name = f"life-{os.getpid()}-{next(_names)}"
        assert self._post(f"/sessions/{name}", agent="mock").status == 200
        self.known[name] = Known()
        return name

    @rule(name=sessions)
    def create_again(self, name: str) -> None:
        """An id is taken for ever."""
        assert self._post(f"/sessions/{name}", agent="mock").status == 409

    @rule(name=sessions, text=SAID)
    def send(self, name: str, text: str) -> None:
        """A message, whatever runs."""
        reply = self._post(f"/sessions/{name}/messages", message=text)
        assert reply.status == self._unless_over(name, 204), reply.body

    @rule(name=sessions)
    def interrupt(self, name: str) -> None:
        """Stop the turn, if there is one."""
        assert self._post(f"/sessions/{name}/interrupt").status == self._unless_over(name, 204)

    @rule(name=sessions, reply=REPLIES)
    def answer(self, name: str, reply: str) -> None:
        """Answer whatever permission is open; somebody else may have been faster."""
        for asked in self._pending(name, "permissions"):
            request = asked["permission_id"]
            path = f"/sessions/{name}/permissions/{request}/reply"
            status = self._post(path, reply=reply).status
            # An interrupt or an end may take it back at any moment.
            assert status in (204, 409, 410), status
            if status == 204:
                first = self.known[name].answers.setdefault(request, reply)
                assert first == reply

    @rule(name=sessions)
    def reject(self, name: str) -> None:
        """Refuse whatever question is open."""
        for asked in self._pending(name, "questions"):
            path = f"/sessions/{name}/questions/{asked['question_id']}/reject"
            assert self._post(path).status in (204, 409, 410)

    @rule(name=sessions)
    def terminate(self, name: str) -> None:
        """End it; to end it again is fine."""
        known = self.known[name]
        expected = 404 if known.deleted else 204
        assert self._post(f"/sessions/{name}/terminate").status == expected
        known.ended = True

    @rule(name=sessions)
    def delete(self, name: str) -> None:
        """Remove it."""
        expected = 404 if self.known[name].deleted else 204
        assert self.daemon.request("DELETE", f"/sessions/{name}").status == expected
        self.known[name].ended = self.known[name].deleted = True

    @rule(how=st.sampled_from(["kill", "stop"]))
    @precondition(lambda self: self.known)
    def restart(self, how: str) -> None:
        """The daemon goes, and comes back."""
        before = {name: self._events(name) for name in self.known if not self.known[name].deleted}
        if how == "kill":
            self.daemon.kill()
        else:
            self.daemon.stop()
        self.daemon.start()
        for name, events in before.items():
            assert self._events(name)[: len(events)] == events

    @rule(target=sessions, name=sessions)
    def go_on(self, name: str) -> Any:
        """A session may go on in another one, once it has ended and its agent can."""
        known = self.known[name]
        other = f"life-{os.getpid()}-{next(_names)}"
        reply = self._post(f"/sessions/{other}", agent="mock", resume={"sessionId": name})
        if known.deleted:
            assert reply.status == 404
        elif reply.status == 200:
            self.known[other] = Known()
            return other
        else:
            assert reply.status in (400, 409), reply.body
        return multiple()

    # --- What must be so ---

    @invariant()
    def lists_what_there_is(self) -> None:
        """What was deleted is not listed, everything else is."""
        if self.daemon.process is None:
            return
        listed = {each["sessionId"] for each in self.daemon.get("/sessions")["sessions"]}
        assert listed == {name for name, known in self.known.items() if not known.deleted}

    def teardown(self) -> None:
        """End; then every stream is sound, and no answer was changed."""
        try:
            if self.daemon.process is not None:
                for name, known in self.known.items():
                    if not known.deleted:
                        self._sound(name, known)
        finally:
            if self.daemon.process is not None:
                self.daemon.stop()
            self._folder.cleanup()

    def _sound(self, name: str, known: Known) -> None:
        self._post(f"/sessions/{name}/terminate")
        events = self._events(name)
        assert check_lines(map(msgspec.json.encode, events)) == []
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["type"] == "session.ended"
        statuses = {"once": "accept", "always": "accept_for_session", "reject": "reject"}
        resolved = {
            event["data"]["permission_id"]: event["data"]["status"]
            for event in events
            if event["type"] == "permission.resolved"
        }
        for request, reply in known.answers.items():
            assert resolved[request] == statuses[reply]

    # --- Talking ---

    def _post(self, path: str, **body: Any) -> Any:
        return self.daemon.request("POST", path, body)

    def _events(self, name: str) -> list[dict[str, Any]]:
        return self.daemon.events(name)

    def _pending(self, name: str, kind: str) -> list[dict[str, Any]]:
        reply = self.daemon.request("GET", f"/sessions/{name}/pending")
        assert reply.status == (404 if self.known[name].deleted else 200)
        found: list[dict[str, Any]] = [] if reply.status == 404 else reply.json[kind]
        return found

    def _unless_over(self, name: str, status: int) -> int:
        known = self.known[name]
        return 404 if known.deleted else 410 if known.ended else status


def test_in_any_order_every_answer_is_right_and_every_stream_is_sound() -> None:
    run_state_machine_as_test(
        Lifecycle,
        settings=settings(
            max_examples=8,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
