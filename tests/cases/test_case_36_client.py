"""An older copy of the log is put back: the Python client raises, and does not go on with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from dragoman.client import Client
from dragoman.errors import HistoryDiverged
from tests.cases.older_copy import (
    KEPT,
    NOW,
    READ,
    Case,
    begin,
    copied,
    older_copy,
    put_back,
)
from tests.daemon import Daemon, running


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """An older copy was put back, and nobody was told."""
    with older_copy(tmp_path_factory.mktemp("case")) as made:
        yield made


@pytest.mark.parametrize("after", [63, READ])
def test_case_36_the_client_raises_where_it_resumes_with_a_link(case: Case, after: int) -> None:
    link = case.links[after]
    with Client(f"http://127.0.0.1:{case.daemon.port}", case.daemon.token) as client:
        with pytest.raises(HistoryDiverged, match=str(after)) as raised:
            next(client.follow("s", after, after_chain=link))
        assert raised.value.details["resumeFrom"] == 0
        with pytest.raises(HistoryDiverged):
            client.events("s", offset=after, after_chain=link)
        page = client.events("s", offset=KEPT, after_chain=case.links[KEPT])
        assert [event.sequence for event in page.events] == list(range(KEPT + 1, NOW + 1))
        assert page.chain == client.get("s").chain


def test_case_36_a_client_that_follows_raises_and_does_not_reconnect_for_ever(
    data_dir: Path, tmp_path: Path
) -> None:
    """Before, it went on at 97 of another log, or asked for ever for what is beyond the end."""
    with running(data_dir) as daemon:
        begin(daemon)
        copy = copied(daemon, tmp_path / "copy")
        reader = Reader(daemon)
        reader.wait_for(KEPT)
        daemon.turn("s", "burst 30 10")
        reader.wait_for(READ)
        put_back(daemon, copy)
        with pytest.raises(HistoryDiverged, match="read it again from the start"):
            reader.over.result(30)
        assert [event.sequence for event in reader.seen] == list(range(1, READ + 1))
        # What it was told last is where another reader would go on, and be told the same.
        assert reader.links[-1][0] == READ


class Reader:
    """Follows a session in a thread, as a program would."""

    def __init__(self, daemon: Daemon) -> None:
        self.seen: list[Any] = []
        self.links: list[tuple[int, str]] = []
        self.over: Future[None] = Future()
        self._grown = threading.Condition()
        self._client = Client(f"http://127.0.0.1:{daemon.port}", daemon.token)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        def on_link(sequence: int, chain: str) -> None:
            self.links.append((sequence, chain))

        try:
            with self._client as client:
                for event in client.follow("s", on_link=on_link):
                    with self._grown:
                        self.seen.append(event)
                        self._grown.notify_all()
            self.over.set_result(None)
        except HistoryDiverged as error:
            self.over.set_exception(error)

    def wait_for(self, count: int) -> None:
        """Wait until so many events have come."""
        with self._grown:
            assert self._grown.wait_for(lambda: len(self.seen) >= count, 30)
