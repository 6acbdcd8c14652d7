"""Sessions: what is told of one, how they are listed, changed, ended and forgotten."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.daemon import Daemon, Reply, running

ALWAYS = {"sessionId", "agent", "agentMode", "permissionMode", "ended", "eventCount", "createdAt",
          "updatedAt", "directory", "status", "lastOutcome", "pendingCount", "chain",
          "continuity"}  # fmt: skip


def busy(daemon: Daemon, session: str) -> None:
    """A session whose agent speaks until it is interrupted."""
    daemon.create(session)
    daemon.send(session, "hang")
    daemon.wait_for(session, "item.delta")


# --- SessionInfo ---


def test_a_new_session_has_these_fields(daemon: Daemon) -> None:
    before = time.time_ns() // 1_000_000
    daemon.create("new")
    info = daemon.get("/sessions/new")
    assert set(info) == ALWAYS
    assert (info["agent"], info["agentMode"], info["permissionMode"]) == (
        "mock",
        "build",
        "default",
    )
    assert (info["ended"], info["status"], info["lastOutcome"]) == (False, "idle", None)
    assert (info["eventCount"], info["pendingCount"]) == (1, 0)
    assert before <= info["createdAt"] <= info["updatedAt"] <= time.time_ns() // 1_000_000
    assert info["directory"] == str(daemon.cwd)


def test_what_was_asked_for_is_told(daemon: Daemon, tmp_path: Path) -> None:
    asked = {
        "agentMode": "plan",
        "permissionMode": "acceptEdits",
        "model": "mock-large",
        "variant": "high",
        "directory": str(tmp_path),
        "title": "My session",
        "mcp": {"docs": {"type": "local", "command": ["docs", "serve"]}},
        "skills": {"sources": [{"type": "local", "source": "/skills"}]},
    }
    daemon.create("asked", **asked)
    info = daemon.get("/sessions/asked")
    assert {name: info[name] for name in asked} == asked
    listed = next(s for s in daemon.get("/sessions")["sessions"] if s["sessionId"] == "asked")
    assert listed == info


def test_a_turn_leaves_its_outcome_usage_and_native_id(daemon: Daemon) -> None:
    daemon.create("worked")
    for prompt, outcome in (("hello", "completed"), ("error", "failed")):
        daemon.turn("worked", prompt)
        assert daemon.get("/sessions/worked")["lastOutcome"] == outcome
    info = daemon.get("/sessions/worked")
    assert info["nativeSessionId"].startswith("mock-")
    assert info["eventCount"] == len(daemon.events("worked"))
    turns = [e["data"]["usage"] for e in daemon.events("worked") if e["type"] == "turn.ended"]
    for name in ("input_tokens", "cached_input_tokens", "output_tokens"):
        assert info["usage"][name] == sum(usage[name] for usage in turns) > 0


def test_status_follows_what_happens(daemon: Daemon) -> None:
    daemon.create("status")
    assert daemon.get("/sessions/status")["status"] == "idle"
    daemon.send("status", "permission")
    daemon.wait_for("status", "permission.requested")
    info = daemon.get("/sessions/status")
    assert (info["status"], info["pendingCount"]) == ("waiting", 1)
    daemon.request("POST", "/sessions/status/interrupt")
    ended = daemon.wait_for("status", "turn.ended")
    info = daemon.get("/sessions/status")
    assert (info["status"], info["lastOutcome"]) == ("idle", "interrupted")
    daemon.send("status", "hang")
    daemon.wait_for("status", "item.delta", after=ended["sequence"])
    assert daemon.get("/sessions/status")["status"] == "running"
    daemon.request("POST", "/sessions/status/terminate")
    info = daemon.get("/sessions/status")
    assert (info["status"], info["ended"], info["pendingCount"]) == ("ended", True, 0)


def test_env_reaches_the_agent_and_is_never_returned(daemon: Daemon) -> None:
    secret = "s3cret-value-of-env"
    daemon.create("env", env={"MY_SECRET": secret})
    daemon.turn("env", "hello")
    assert secret in _environ_of_children(daemon)
    for path in ("/sessions/env", "/sessions", "/sessions/env/events?include_raw=1&limit=10000"):
        body = daemon.request("GET", path).body
        assert secret.encode() not in body
        assert b"MY_SECRET" not in body


def _environ_of_children(daemon: Daemon) -> str:
    return "".join(folder.joinpath("environ").read_text() for folder in _children(daemon))


def _children(daemon: Daemon) -> list[Path]:
    """The /proc folders of the agents that the daemon started."""
    assert daemon.process is not None
    tasks = Path(f"/proc/{daemon.process.pid}/task").iterdir()
    pids = " ".join((task / "children").read_text() for task in tasks).split()
    return [Path("/proc", pid) for pid in pids]


def test_the_directory_really_is_the_working_directory(daemon: Daemon, tmp_path: Path) -> None:
    folder = tmp_path / "wörk 1"
    folder.mkdir()
    daemon.create("cwd", directory=str(folder))
    daemon.turn("cwd", "tool")
    assert folder.resolve() in [(child / "cwd").resolve() for child in _children(daemon)]
    commands = [e["data"]["item"] for e in daemon.events("cwd") if e["type"] == "item.completed"]
    assert {item["cwd"] for item in commands if "cwd" in item} == {str(folder)}


# --- Changing ---


def test_a_session_can_be_renamed_and_says_so(daemon: Daemon) -> None:
    daemon.create("renamed", title="Before")
    reply = daemon.request("PATCH", "/sessions/renamed", {"title": "After"})
    assert (reply.status, reply.json["title"]) == (200, "After")
    assert daemon.events("renamed")[-1]["data"] == {"title": "After"}
    assert daemon.get("/sessions/renamed")["title"] == "After"


def test_a_session_shows_the_first_words_of_its_first_message(daemon: Daemon) -> None:
    """Before, a session without a title was called by its id for ever."""
    daemon.create("unnamed")
    assert daemon.get("/sessions/unnamed").get("preview") is None
    daemon.turn("unnamed", "echo Count the  sheep\nin the garden")
    daemon.turn("unnamed", "echo And now the goats")
    info = daemon.get("/sessions/unnamed")
    assert (info["preview"], info.get("title")) == ("echo Count the sheep in the garden", None)
    found = daemon.get("/sessions?q=SHEEP")["sessions"]
    assert [each["sessionId"] for each in found] == ["unnamed"]
    daemon.request("PATCH", "/sessions/unnamed", {"title": "Counting"})
    assert daemon.get("/sessions?q=sheep")["sessions"] == []
    assert daemon.get("/sessions/unnamed")["preview"] == info["preview"]


def test_previews_can_be_switched_off(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_PREVIEWS": "false"}) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo hi")
        assert "preview" not in daemon.get("/sessions/s")
        assert "preview" not in daemon.get("/sessions")["sessions"][0]


def test_an_empty_title_is_none(daemon: Daemon) -> None:
    daemon.create("named", title="Before")
    assert daemon.request("PATCH", "/sessions/named", {"title": None}).json["title"] == "Before"
    reply = daemon.request("PATCH", "/sessions/named", {"title": ""})
    assert (reply.status, reply.json.get("title", "none")) == (200, "none")
    assert daemon.events("named")[-1]["data"] == {"title": ""}
    assert "title" not in daemon.get("/sessions/named")
    daemon.create("nameless", title="")
    assert "title" not in daemon.get("/sessions/nameless")


def test_model_and_modes_can_be_changed_before_and_after_the_agent_runs(daemon: Daemon) -> None:
    daemon.create("changed")
    change = {"model": "mock-large", "permissionMode": "bypass", "agentMode": "plan"}
    for _ in ("before", "after"):
        info = daemon.request("PATCH", "/sessions/changed", change).json
        assert {name: info[name] for name in change} == change
        assert daemon.turn("changed", "edit")[-1]["data"]["outcome"] == "completed"
        change = {"model": "mock", "permissionMode": "acceptEdits", "agentMode": "build"}
    assert daemon.get("/sessions/changed")["permissionMode"] == "acceptEdits"


def test_a_wrong_change_is_400_and_changes_nothing(daemon: Daemon) -> None:
    daemon.create("unchanged", title="Mine")
    for body in ({"agentMode": "dance"}, {"permissionMode": "x"}, {"title": 7}, {"model": "\0"}):
        assert daemon.request("PATCH", "/sessions/unchanged", body).status == 400
    assert len(daemon.events("unchanged")) == 1
    assert daemon.request("PATCH", "/sessions/unchanged", {}).status == 200
    assert len(daemon.events("unchanged")) == 1


# --- Listing ---


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with five sessions, of which one has ended."""
    with running(tmp_path_factory.mktemp("listed")) as daemon:
        for number in range(5):
            daemon.create(f"s{number}", title=f"Título {number}")
        daemon.request("POST", "/sessions/s2/terminate")
        yield daemon


def names(daemon: Daemon, query: str = "") -> list[str]:
    return [s["sessionId"] for s in daemon.get(f"/sessions{query}")["sessions"]]


def test_all_sessions_are_listed_newest_first(listed: Daemon) -> None:
    assert names(listed) == ["s4", "s3", "s2", "s1", "s0"]
    assert "nextCursor" not in listed.get("/sessions")


def test_pages_of_sessions_join_without_overlap(listed: Daemon) -> None:
    found, query = [], "?limit=2"
    while True:
        page = listed.get(f"/sessions{query}")
        found += [s["sessionId"] for s in page["sessions"]]
        if "nextCursor" not in page:
            break
        query = f"?limit=2&cursor={page['nextCursor']}"
    assert found == ["s4", "s3", "s2", "s1", "s0"]


def test_pages_stand_still_while_sessions_come_and_go(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        for number in range(9):
            daemon.create(f"s{number}")
        found, query = list[str](), "?limit=2"
        for round in range(10):
            page = daemon.get(f"/sessions{query}")
            found += [s["sessionId"] for s in page["sessions"]]
            if "nextCursor" not in page:
                break
            query = f"?limit=2&cursor={page['nextCursor']}"
            daemon.create(f"new-{round}")
            # The last one that was shown is what the cursor names; then one that is to come.
            gone = found[-1] if round % 2 else "s1"
            daemon.request("DELETE", f"/sessions/{gone}")
        assert found == ["s8", "s7", "s6", "s5", "s4", "s3", "s2", "s0"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?limit=5", ["s4", "s3", "s2", "s1", "s0"]),
        ("?status=ended", ["s2"]),
        ("?status=idle&limit=2", ["s4", "s3"]),
        ("?status=running", []),
        ("?agent=mock&status=ended", ["s2"]),
        ("?agent=other", []),
        ("?q=S3", ["s3"]),
        ("?q=T%C3%ADtulo%201", ["s1"]),
        ("?q=T%C3%8DTULO%201", ["s1"]),
        ("?q=nothing", []),
        ("?q=%25", []),
    ],
)
def test_sessions_are_filtered(listed: Daemon, query: str, expected: list[str]) -> None:
    assert names(listed, query) == expected


@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=0", "limit"), ("limit=x", "limit"), ("status=dead", "status"), ("cursor=x", "cursor"),
     ("cursor=-1", "cursor"), (f"cursor={2**64}", "cursor")],
)  # fmt: skip
def test_a_wrong_filter_is_400(listed: Daemon, query: str, field: str) -> None:
    reply = listed.request("GET", f"/sessions?{query}")
    assert reply.status == 400
    assert reply.json["details"]["field"] == field


# --- Ends ---


def test_an_ended_session_takes_nothing_more(daemon: Daemon) -> None:
    daemon.create("over")
    daemon.send("over", "permission")
    asked = daemon.wait_for("over", "permission.requested")["data"]
    assert daemon.request("POST", "/sessions/over/terminate").status == 204
    count = len(daemon.events("over"))
    for method, path, body in (
        ("POST", "/messages", {"message": "hi"}),
        ("POST", "/messages/stream", {"message": "hi"}),
        ("POST", "/interrupt", None),
        ("POST", f"/permissions/{asked['permission_id']}/reply", {"reply": "once"}),
        ("PATCH", "", {"title": "x"}),
    ):
        reply = daemon.request(method, f"/sessions/over{path}", body)
        assert (reply.status, reply.json["title"]) == (410, "Session Ended"), path
        assert reply.json["sessionId"] == "over"
    assert daemon.request("POST", "/sessions/over/terminate").status == 204
    assert len(daemon.events("over")) == count
    assert daemon.events("over")[-1]["data"] == {"reason": "terminated", "terminated_by": "daemon"}


def test_interrupt_when_idle_is_204_without_an_event(daemon: Daemon) -> None:
    daemon.create("idle")
    assert daemon.request("POST", "/sessions/idle/interrupt").status == 204
    daemon.turn("idle", "hello")
    count = len(daemon.events("idle"))
    assert daemon.request("POST", "/sessions/idle/interrupt").status == 204
    assert len(daemon.events("idle")) == count


def test_interrupt_ends_the_turn_not_the_session(daemon: Daemon) -> None:
    busy(daemon, "interrupted")
    assert daemon.request("POST", "/sessions/interrupted/interrupt").status == 204
    ended = daemon.wait_for("interrupted", "turn.ended")
    assert ended["data"]["outcome"] == "interrupted"
    assert daemon.turn("interrupted", "hello")[-1]["data"]["outcome"] == "completed"


def make(daemon: Daemon, key: str, **wanted: object) -> Reply:
    """Ask for a session with a key, as a client does that got no answer."""
    body = {"agent": "mock", "env": {"A": "b"}, **wanted}
    return daemon.request("POST", "/sessions", body, {"Idempotency-Key": key})


def test_a_key_makes_one_session(daemon: Daemon) -> None:
    """Before, a retry made a second session."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: make(daemon, "once"), range(8)))
    assert {answer.status for answer in answers} == {201}
    (session,) = {answer.json["sessionId"] for answer in answers}
    assert {answer.headers["location"] for answer in answers} == {f"/v1/sessions/{session}"}
    daemon.turn(session, "echo hi")
    assert make(daemon, "once").json["sessionId"] == session
    assert make(daemon, "other").json["sessionId"] != session
    listed = [each["sessionId"] for each in daemon.get("/sessions")["sessions"]]
    assert listed.count(session) == 1


def test_a_key_of_another_session_is_refused(daemon: Daemon) -> None:
    session = make(daemon, "taken").json["sessionId"]
    for another in ({"title": "x"}, {"directory": "/tmp"}, {"env": {"A": "c"}}):
        answer = make(daemon, "taken", **another)
        assert (answer.status, answer.json["title"]) == (422, "Key Reused")
    assert daemon.request("DELETE", f"/sessions/{session}").status == 204
    answer = make(daemon, "taken")
    assert (answer.status, answer.json["title"]) == (422, "Key Reused")
    assert make(daemon, "k" * 256).status == 400


def test_a_key_of_another_token_makes_another_session(daemon: Daemon) -> None:
    mine = make(daemon, "shared").json["sessionId"]
    created = daemon.request("POST", "/tokens", {"name": "other", "scopes": ["write"]}).json
    headers = {"Authorization": f"Bearer {created['token']}", "Idempotency-Key": "shared"}
    theirs = daemon.request("POST", "/sessions", {"agent": "mock"}, headers)
    assert theirs.status == 201
    assert theirs.json["sessionId"] != mine


def test_who_sees_the_end_of_a_deleted_session_does_not_find_it_any_more(daemon: Daemon) -> None:
    """Before, a page that asked at that moment showed it for ever."""
    for number in range(20):
        session = f"s{number}"
        daemon.create(session)
        with (
            daemon.stream(f"/sessions/{session}/events/sse") as stream,
            ThreadPoolExecutor(1) as aside,
        ):
            deletion = aside.submit(daemon.request, "DELETE", f"/sessions/{session}")
            assert [event["type"] for event in stream][-1] == "session.ended"
            assert daemon.request("GET", f"/sessions/{session}").status == 404
            assert deletion.result().status == 204


def test_delete_ends_the_agent_and_removes_everything(daemon: Daemon) -> None:
    daemon.create("gone")
    daemon.turn("gone", "image")
    files = daemon.data_dir / "files" / "gone"
    assert list(files.iterdir())
    daemon.send("gone", "hang")
    with daemon.stream("/sessions/gone/events/sse") as stream:
        assert next(iter(stream))["sequence"] == 1
        assert daemon.request("DELETE", "/sessions/gone").status == 204
        assert all(event["sequence"] > 1 for event in stream), "the stream ends"
    assert not files.exists()
    for method, path in (("GET", ""), ("GET", "/events"), ("GET", "/events/sse"), ("DELETE", ""),
                         ("POST", "/terminate"), ("GET", "/pending")):  # fmt: skip
        assert daemon.request(method, f"/sessions/gone{path}").status == 404
    assert "gone" not in names(daemon)


def test_a_session_can_be_resumed_as_a_new_one(daemon: Daemon) -> None:
    daemon.create("origin")
    daemon.turn("origin", "hello")
    native = daemon.get("/sessions/origin")["nativeSessionId"]
    daemon.request("POST", "/sessions/origin/terminate")
    for session, resume in (
        ("by-session", {"sessionId": "origin"}),
        ("by-native", {"nativeSessionId": native}),
    ):
        reply = daemon.request("POST", f"/sessions/{session}", {"agent": "mock", "resume": resume})
        assert reply.json == {"sessionId": session, "healthy": True, "nativeSessionId": native}
        daemon.turn(session, "hello")
        assert daemon.get(f"/sessions/{session}")["nativeSessionId"] == native
        daemon.request("POST", f"/sessions/{session}/terminate")
    missing = {"agent": "mock", "resume": {"sessionId": "nowhere"}}
    assert daemon.request("POST", "/sessions/by-nothing", missing).status == 404


def test_a_conversation_goes_on_in_one_session_only(daemon: Daemon) -> None:
    daemon.create("holder")
    daemon.turn("holder", "echo hi")
    native = daemon.get("/sessions/holder")["nativeSessionId"]
    for resume in ({"sessionId": "holder"}, {"nativeSessionId": native}):
        reply = daemon.request("POST", "/sessions", {"agent": "mock", "resume": resume})
        assert reply.status == 409, reply.body
        assert reply.json["details"]["holder"] == "holder"
    forked = {"agent": "mock", "resume": {"sessionId": "holder", "fork": True}}
    assert daemon.request("POST", "/sessions", forked).status == 201
    assert daemon.request("POST", "/sessions/holder/terminate").status == 204
    again = {"agent": "mock", "resume": {"sessionId": "holder"}}
    assert daemon.request("POST", "/sessions", again).status == 201


def test_of_sessions_that_resume_one_conversation_the_first_has_it(daemon: Daemon) -> None:
    daemon.create("source")
    daemon.turn("source", "echo hi")
    native = daemon.get("/sessions/source")["nativeSessionId"]
    daemon.request("POST", "/sessions/source/terminate")
    ours, natively = {"sessionId": "source", "fork": None}, {"nativeSessionId": native}
    assert daemon.request("POST", "/sessions/heir", {"agent": "mock", "resume": ours}).status == 200
    # Nobody has said anything there yet, and it is taken all the same.
    for resume in (ours, natively):
        late = daemon.request("POST", "/sessions/late", {"agent": "mock", "resume": resume})
        assert (late.status, late.json["details"]["holder"]) == (409, "heir")
    fork = {"sessionId": "source", "fork": True}
    for name in ("fork-1", "fork-2"):
        made = daemon.request("POST", f"/sessions/{name}", {"agent": "mock", "resume": fork})
        assert made.status == 200


def test_what_an_mcp_server_is_is_told_in_words_that_every_client_knows(daemon: Daemon) -> None:
    servers = {
        "near": {"type": "stdio", "command": "x", "environment": {"A": "1"}, "timeout": 5},
        "far": {"type": "http", "url": "https://far.example"},
    }
    assert daemon.request("POST", "/sessions/mcp", {"agent": "mock", "mcp": servers}).status == 200
    assert daemon.get("/sessions/mcp")["mcp"] == {
        "near": {"type": "local", "command": "x", "env": {"A": "***"}, "timeoutMs": 5},
        "far": {"type": "remote", "url": "https://far.example"},
    }


def test_secrets_of_mcp_servers_and_skills_are_not_shown(daemon: Daemon) -> None:
    servers = {
        "far": {
            "type": "remote",
            "url": "https://me:secret@far.example/mcp?x=1",
            "headers": {"Authorization": "Bearer secret"},
            "oauth": {"clientId": "us", "clientSecret": "secret"},
        },
        "near": {"type": "local", "command": ["x"], "env": {"KEY": "secret"}},
    }
    skills = {"sources": [{"type": "git", "source": "https://me:s@secret@far.example/x.git"}]}
    asked = {"agent": "mock", "mcp": servers, "skills": skills}
    answer = daemon.request("POST", "/sessions/masked", asked)
    assert answer.status == 200, answer.body
    shown = daemon.request("GET", "/sessions/masked")
    assert b"secret" not in shown.body
    assert shown.json["mcp"] == {
        "far": {
            "type": "remote",
            "url": "https://***@far.example/mcp?x=1",
            "headers": {"Authorization": "***"},
            "oauth": {"clientId": "us", "clientSecret": "***"},
        },
        "near": {"type": "local", "command": ["x"], "env": {"KEY": "***"}},
    }
    (source,) = shown.json["skills"]["sources"]
    assert source["source"] == "https://***@far.example/x.git"
    assert b"secret" not in daemon.request("GET", "/sessions").body
