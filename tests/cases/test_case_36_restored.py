"""An older copy of the log is put back: who has read on is told, and never goes on with another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dragoman.store import backup
from tests.cases.older_copy import (
    KEPT,
    NOW,
    READ,
    Case,
    begin,
    copied,
    link_at,
    older_copy,
    put_back,
)
from tests.daemon import Daemon, Stream, running
from tests.store.shelf import of_version_two

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """An older copy was put back, and nobody was told."""
    with older_copy(tmp_path_factory.mktemp("case")) as made:
        yield made


# --- Raw HTTP, as curl speaks it ---


@pytest.mark.parametrize("path", ["events", "events/sse"])
@pytest.mark.parametrize("after", [KEPT + 1, 63, NOW, NOW + 1, READ])
@pytest.mark.parametrize("way", ["after_chain", "afterChain", "header"])
def test_case_36_who_has_read_on_is_refused(case: Case, path: str, after: int, way: str) -> None:
    """Before, the numbers 60 to 67 meant other events, and nothing told."""
    query, headers = f"?offset={after}", {}
    if way == "header":
        headers = {"Dragoman-After-Chain": case.links[after]}
    else:
        query += f"&{way}={case.links[after]}"
    reply = case.daemon.request("GET", f"/sessions/s/{path}{query}", headers=headers)
    assert reply.status == 409, reply.body
    assert reply.json["type"] == "urn:dragoman:error:history_diverged"
    assert reply.json["sessionId"] == "s"
    assert reply.json["details"] == {"sequence": after, "lastSequence": NOW, "resumeFrom": 0}
    assert "read it again from the start" in reply.json["detail"]
    assert str(after) in reply.json["detail"]


def test_case_36_who_has_read_no_further_than_the_copy_goes_on(case: Case) -> None:
    for after in (0, 1, 40, KEPT):
        query = f"?offset={after}&after_chain={case.links[after].upper()}"
        page = case.daemon.get(f"/sessions/s/events{query}")
        assert page["events"][0]["sequence"] == after + 1
        with case.daemon.stream(f"/sessions/s/events/sse{query}") as stream:
            assert next(iter(stream))["sequence"] == after + 1


def test_case_36_without_a_link_nothing_changes(case: Case) -> None:
    daemon = case.daemon
    assert daemon.get("/sessions/s/events?offset=63")["events"][0]["sequence"] == 64
    beyond = daemon.get(f"/sessions/s/events?offset={READ}")
    assert beyond == {"events": [], "hasMore": False}
    assert daemon.request("GET", f"/sessions/s/events/sse?offset={READ}").status == 400


def test_case_36_the_header_is_about_the_position_that_the_reader_is_at(case: Case) -> None:
    """An EventSource repeats its address, and says in a header where it is."""
    address = f"/sessions/s/events/sse?offset={KEPT}&after_chain={case.links[KEPT]}"
    with case.daemon.stream(address, Last_Event_ID="63") as stream:
        assert next(iter(stream))["sequence"] == 64
    headers = {"Last-Event-ID": "63", "Dragoman-After-Chain": case.links[63]}
    assert case.daemon.request("GET", address, headers=headers).status == 409
    assert case.daemon.request("GET", address, headers={"Last-Event-ID": "96"}).status == 409
    # Where there is no offset, there is only one position that a link can be about.
    alone = f"/sessions/s/events/sse?after_chain={case.links[63]}"
    assert case.daemon.request("GET", alone, headers={"Last-Event-ID": "63"}).status == 409


@pytest.mark.parametrize("link", ["", "abc", "g" * 32, "0" * 31, "0" * 33, "0" * 31 + "%0a"])
def test_case_36_what_is_no_link_is_refused(case: Case, link: str) -> None:
    for path in ("events", "events/sse"):
        reply = case.daemon.request("GET", f"/sessions/s/{path}?offset=1&after_chain={link}")
        assert (reply.status, reply.json["details"]["field"]) == (400, "afterChain")
        assert "32 hexadecimal digits" in reply.json["detail"]
        if "%" not in link:
            headers = {"Dragoman-After-Chain": link}
            reply = case.daemon.request("GET", f"/sessions/s/{path}?offset=1", headers=headers)
            assert (reply.status, reply.json["details"]["field"]) == (400, "Dragoman-After-Chain")


def test_case_36_an_ended_session_says_so_rather_than_that_there_is_no_more(
    data_dir: Path, tmp_path: Path
) -> None:
    with running(data_dir) as daemon:
        begin(daemon)
        copy = copied(daemon, tmp_path / "copy")
        daemon.turn("s", "echo first")
        daemon.request("POST", "/sessions/s/terminate")
        last, link = daemon.get("/sessions/s")["eventCount"], daemon.get("/sessions/s")["chain"]
        assert link == link_at(daemon, last)
        put_back(daemon, copy)
        daemon.turn("s", "echo other")
        daemon.request("POST", "/sessions/s/terminate")
        assert daemon.get("/sessions/s")["eventCount"] == last
        path, headers = "/sessions/s/events/sse", {"Last-Event-ID": str(last)}
        assert daemon.request("GET", path, headers=headers).status == 204
        headers["Dragoman-After-Chain"] = link
        assert daemon.request("GET", path, headers=headers).status == 409


# --- What is told ---


def test_case_36_the_example_in_the_documentation_computes_the_chain(case: Case) -> None:
    page = (DOCS / "http-api.md").read_text()
    (example,) = re.findall(r"```python\n(import hashlib.*?)```", page, re.DOTALL)
    for query in ("", "?offset=0&include_raw=false"):
        with case.daemon.stream(f"/sessions/s/events/sse{query}") as stream:
            names: dict[str, Any] = {"stream": b"\n\n".join(up_to(stream, NOW))}
        exec(example, names)
        assert names["sequence"] == str(NOW).encode(), "it has compared what the stream told last"
        assert names["link"].hex() == case.daemon.get("/sessions/s")["chain"]
    names = {"stream": names["stream"].replace(b"other", b"Other")}
    with pytest.raises(AssertionError, match="is not"):
        exec(example, names)


def up_to(stream: Stream, sequence: int) -> Iterator[bytes]:
    """The blocks of a stream up to the link of this event."""
    for block in stream.blocks():
        yield block
        if block.startswith(b": chain %d " % sequence):
            return


def test_case_36_a_stream_tells_links_at_its_beginning_in_silence_and_before_it_closes(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_HEARTBEAT_S": "0.2"}) as daemon:
        begin(daemon)
        with daemon.stream("/sessions/s/events/sse?offset=30") as stream:
            told = links_of(stream.blocks())
            silent = list(islice(told, 4))
            daemon.request("POST", "/sessions/s/terminate")
            rest = list(told)
        last = daemon.get("/sessions/s")["eventCount"]
        end = (KEPT, link_at(daemon, KEPT))
        assert silent == [(30, link_at(daemon, 30)), end, end, end]
        assert rest[-1] == (last, link_at(daemon, last))
        whole = daemon.request("GET", "/sessions/s/events/sse").body
        assert whole.endswith(f": chain {last} {rest[-1][1]}\n\n".encode())


def test_case_36_a_turn_that_is_streamed_tells_links_of_its_own_events(daemon: Daemon) -> None:
    daemon.create("s")
    path = "/sessions/s/messages/stream"
    with daemon.stream(path, method="POST", body={"message": "burst 300 10"}) as stream:
        told = list(links_of(stream.blocks()))
    assert told[-1][0] == len(daemon.events("s"))
    assert told == [(at, link_at(daemon, at)) for at, _ in told]


def links_of(blocks: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    """The links that a stream tells."""
    for block in blocks:
        if found := re.fullmatch(rb": chain (\d+) ([0-9a-f]{32})", block):
            yield int(found[1]), found[2].decode()


# --- `dragoman restore` ---


def quiet(doing: str) -> None:
    """Say nothing."""


def test_case_36_after_a_restore_every_session_says_so_once(data_dir: Path, tmp_path: Path) -> None:
    with running(data_dir) as daemon:
        for name in ("s", "idle", "over", "gone"):
            daemon.create(name)
        daemon.turn("s", "burst 50 10")
        daemon.turn("over", "end")
        daemon.wait_for("over", "session.ended")
        daemon.request("DELETE", "/sessions/gone")
        over = daemon.events("over")
        backup.make(data_dir, tmp_path / "all.tar", quiet)
        daemon.turn("s", "burst 30 10")
        link = daemon.get("/sessions/s")["chain"]
        # Who follows all sessions has seen more than there will be.
        with daemon.stream("/events/sse?cursor=0") as stream:
            cursor = max(int(id or 0) for id, _ in islice(stream.frames(), READ))
        backup.restore(tmp_path / "all.tar", data_dir, quiet, replace=True)
        daemon.kill()
        daemon.start()
        for name, last in (("s", KEPT), ("idle", 1)):
            events = daemon.events(name)
            assert len(events) == last + 1
            assert (events[-1]["type"], events[-1]["source"]) == ("session.updated", "daemon")
            assert events[-1]["data"]["continuity"] == "restored"
            assert f"event {last}" in events[-1]["data"]["message"]
            assert daemon.get(f"/sessions/{name}")["continuity"] == "restored"
        assert daemon.events("over") == over, "nothing follows session.ended"
        assert daemon.get("/sessions/over")["continuity"] == "restored"
        assert daemon.request("GET", "/sessions/gone").status == 404
        with daemon.stream(f"/events/sse?cursor={cursor}") as stream:
            told = list(islice(stream, 2))
        assert {event["session_id"] for event in told} == {"s", "idle"}
        reply = daemon.request("GET", f"/sessions/s/events?offset={READ}&after_chain={link}")
        assert reply.status == 409
        daemon.turn("s", "echo on we go")
        daemon.kill()
        daemon.start()
        said = [event["data"].get("continuity") for event in daemon.events("s")]
        assert said.count("restored") == 1, "the next start has nothing to say"
    with running(tmp_path / "fresh") as daemon:
        daemon.create("new")
        assert daemon.get("/sessions/new")["continuity"] is None


def test_case_36_a_backup_of_an_older_version_says_so_too(data_dir: Path, tmp_path: Path) -> None:
    with running(data_dir) as daemon:
        begin(daemon)
        link = daemon.get("/sessions/s")["chain"]
    backup.make(of_version_two(data_dir), tmp_path / "old.tar", quiet)
    backup.restore(tmp_path / "old.tar", tmp_path / "restored", quiet)
    with running(tmp_path / "restored") as daemon:
        assert link_at(daemon, KEPT) == link
        assert daemon.events("s")[-1]["data"]["continuity"] == "restored"
