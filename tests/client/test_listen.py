"""Functions that are called with events: chosen by what happened, over HTTP and in process."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import Callbacks, Client, Settings, create_app
from dragoman.schema.events import ErrorRaised, Event, SandboxFile, SessionEnded, SessionStarted
from dragoman.schema.http import CreateSession
from tests.client.canned import delta, event
from tests.daemon import Daemon, running
from tests.workspace.trees import write

ENDED = SessionEnded(reason="completed", terminated_by="agent")


class Calls:
    """What was called, by the name of the callback."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def named(self, name: str) -> Callable[[Event], None]:
        return lambda event: self.names.append(f"{name} {event.type}")

    def callbacks(self, *names: str) -> Callbacks:
        given: dict[str, Any] = {name: self.named(name) for name in names}
        return Callbacks(**given)


FILE_CALLBACKS = ("on_file", "on_file_create", "on_file_change", "on_file_delete")


@pytest.mark.parametrize("change", ["create", "change", "delete"])
def test_what_happened_to_a_file_chooses_what_is_called(change: Any) -> None:
    calls = Calls()
    callbacks = calls.callbacks(*FILE_CALLBACKS)
    told = event(1, SandboxFile(change=change, path="/w/a", timestamp=1))
    for callback in callbacks.select(told):
        callback(told)
    assert calls.names == [f"on_file_{change} sandbox.file", "on_file sandbox.file"]


def test_a_session_that_comes_fails_and_goes() -> None:
    calls = Calls()
    callbacks = calls.callbacks("on_ready", "on_error", "on_destroy")
    started = SessionStarted(metadata={})
    for number, body in enumerate((started, ErrorRaised(message="no"), ENDED), 1):
        each = event(number, body)
        for callback in callbacks.select(each):
            callback(each)
    assert calls.names == ["on_ready session.started", "on_error error", "on_destroy session.ended"]


def test_any_type_of_event_can_be_named_or_all() -> None:
    calls = Calls()
    on = {"item.delta": calls.named("named"), "*": calls.named("all")}
    piece = delta(1, "a")
    for callback in Callbacks(on=on).select(piece):
        callback(piece)
    assert calls.names == ["named item.delta", "all item.delta"]
    assert Callbacks(on=on).types == frozenset()
    assert calls.callbacks("on_file_delete", "on_ready").types == {
        "sandbox.file",
        "session.started",
    }


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no events of type turn\.over; known: \*, session"):
        Callbacks(on={"turn.over": print})


def test_a_session_is_listened_to_until_it_ends(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"there": "1"})
    calls = Calls()
    with running(tmp_path / "data") as daemon, client_of(daemon) as client:

        def end(event: Event) -> None:
            calls.named("on_file_create")(event)
            client.terminate("s")

        daemon.create("s", directory=str(work))
        write(work, {"new": "1"})
        client.listen(
            Callbacks(
                on_ready=calls.named("on_ready"),
                on_file_create=end,
                on_destroy=calls.named("on_destroy"),
            ),
            "s",
        )
    assert calls.names == [
        "on_ready session.started",
        "on_file_create sandbox.file",
        "on_destroy session.ended",
    ]


def test_what_a_callback_raises_reaches_who_listens(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(event: Event) -> None:
        raise Enough(event.session_id)

    with running(tmp_path / "data") as daemon, client_of(daemon) as client:
        daemon.create("first")
        daemon.create("second")
        with pytest.raises(Enough, match="first"):
            client.listen(Callbacks(on_ready=stop), after=0)


def client_of(daemon: Daemon) -> Client:
    return Client(f"http://127.0.0.1:{daemon.port}", daemon.token)


def test_in_process_both_kinds_of_functions_are_called_and_a_broken_one_costs_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Calls()

    async def wait_and_note(event: Event) -> None:
        await asyncio.sleep(0)
        calls.named("async")(event)

    def fail(event: Event) -> None:
        raise RuntimeError("of the program")

    is_over = threading.Event()

    def note_the_end(event: Event) -> None:
        calls.named("plain")(event)
        is_over.set()

    work = tmp_path / "work"
    work.mkdir()
    settings = Settings(data_dir=str(tmp_path / "data"), token="a-token", roots=(str(work),))
    callbacks = Callbacks(
        on_ready=fail,
        on_destroy=note_the_end,
        on={"session.started": wait_and_note},
    )

    async def story() -> None:
        async with create_app(settings, callbacks).running() as daemon:
            await daemon.sessions.create("s", CreateSession(agent="mock"), str(work))
            await daemon.sessions.terminate("s")
            await asyncio.to_thread(is_over.wait, 20)

    with caplog.at_level(logging.ERROR):
        asyncio.run(story())
    assert calls.names == ["async session.started", "plain session.ended"]
    assert "a callback failed for event" in caplog.text
    assert "of the program" in caplog.text
