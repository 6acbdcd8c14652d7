"""The stream of all sessions, as a program follows it, with a real daemon."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from dragoman.client import Client, Retry
from dragoman.errors import InvalidRequest
from tests.daemon import Daemon, running


def client_of(daemon: Daemon) -> Client:
    retry = Retry(first_s=0.05, longest_s=0.2, attempts=100)
    return Client(f"http://127.0.0.1:{daemon.port}", daemon.token, retry=retry)


def test_a_follower_goes_on_after_a_restart_without_loss_or_repetition(data_dir: Path) -> None:
    with running(data_dir) as daemon, client_of(daemon) as client:
        stream = client.follow_all(0)
        seen = []
        for round in range(3):
            name = f"s{round}"
            daemon.create(name)
            daemon.turn(name, "hello")
            count = len(daemon.events(name))
            half = list(islice(stream, count // 2))
            daemon.kill()
            daemon.start()
            seen += [*half, *islice(stream, count - len(half))]
            assert [event.sequence for _, event in seen[-count:]] == list(range(1, count + 1))
        cursors = [cursor for cursor, _ in seen]
        assert cursors == sorted(set(cursors))
        again = list(islice(client.follow_all(cursors[4]), len(seen) - 5))
        assert again == seen[5:]


def test_a_follower_that_begins_now_loses_nothing_to_a_cut_before_the_first_event(
    data_dir: Path,
) -> None:
    with running(data_dir) as daemon, client_of(daemon) as client:
        daemon.create("before")
        cursor = int(client.status().store.cursor)
        stream = client.follow_all(cursor, types=("session.started",), session_ids=("a", "b"))
        daemon.kill()
        daemon.start()
        with pytest.raises(InvalidRequest):
            next(client.follow_all(1 << 60))
        for name in ("x", "a", "b"):
            daemon.create(name)
        found = [event.session_id for _, event in islice(stream, 2)]
        assert found == ["a", "b"]
