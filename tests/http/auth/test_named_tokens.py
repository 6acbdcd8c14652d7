"""Tokens with names and scopes: made, kept, expired, revoked, and what each may do."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterator
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import Conflict, NotFound, StartRefused, StorageFull
from dragoman.http.auth.authenticator import Authenticator, Caller
from dragoman.http.auth.tokens import MAX_TOKENS, Keyring, digest_of
from dragoman.http.routes import ROUTES
from dragoman.schema.access import CreatedToken, CreateToken, Scope
from tests.daemon import Daemon, Reply, running


class Clocks:
    """A wall clock that can be set, and one that nobody sets."""

    def __init__(self) -> None:
        self.wall_s, self.boot_s = 1_000_000.0, 50.0

    def keyring(self, path: Path | None) -> Keyring:
        return Keyring(path, wall=lambda: self.wall_s, clock=lambda: self.boot_s)

    def pass_by(self, seconds: float) -> None:
        self.wall_s += seconds
        self.boot_s += seconds


def make(
    keyring: Keyring, name: str, *scopes: Scope, expires_in_s: int | None = None
) -> CreatedToken:
    wanted = CreateToken(name=name, scopes=scopes or ("read",), expires_in_s=expires_in_s)
    return asyncio.run(keyring.create(wanted))


def found(keyring: Keyring, made: CreatedToken) -> bool:
    return keyring.find(digest_of(made.token.encode())) is not None


# --- Keeping ---


def test_a_token_is_kept_as_a_hash_that_only_we_can_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    made = make(Keyring(path), "ci", "write", "approve", "write")
    assert made.token.startswith("dgm_")
    assert made.scopes == ("approve", "write")
    kept = path.read_text()
    assert made.token not in kept
    assert json.loads(kept)["tokens"][0]["digest"] == digest_of(made.token.encode()).hex()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["tokens.json"]


def test_tokens_outlive_the_daemon(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    first = Keyring(path)
    kept, gone = make(first, "kept"), make(first, "gone")
    asyncio.run(first.revoke("gone"))
    second = Keyring(path)
    assert found(second, kept)
    assert not found(second, gone)
    assert [info.name for info in second.infos()] == ["kept"]


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "tokens.json")
    make(keyring, "ci")
    for name in ("ci", "default", "none"):
        with pytest.raises(Conflict, match="choose another name"):
            make(keyring, name)
    with pytest.raises(NotFound, match="no token 'other'"):
        asyncio.run(keyring.revoke("other"))


def test_there_are_only_so_many() -> None:
    keyring = Keyring(None)
    for number in range(MAX_TOKENS):
        make(keyring, f"t{number}")
    with pytest.raises(Conflict, match="revoke some"):
        make(keyring, "one-more")


def test_what_cannot_be_stored_does_not_count(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "missing" / "tokens.json")
    with pytest.raises(StorageFull, match="nothing was changed"):
        make(keyring, "ci")
    assert keyring.infos() == ()


@pytest.mark.parametrize("content", ["", "{", '{"tokens":[{"name":"x"}]}', "\xff"])
def test_a_file_that_cannot_be_read_refuses_the_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(StartRefused, match="cannot read the tokens"):
        Keyring(path)
    assert path.read_bytes() == content.encode("latin-1")


# --- Expiring ---


def test_a_token_expires(tmp_path: Path) -> None:
    clocks = Clocks()
    keyring = clocks.keyring(tmp_path / "tokens.json")
    made = make(keyring, "ci", expires_in_s=60)
    assert made.expires_at == made.created_at + 60_000
    clocks.pass_by(59)
    assert found(keyring, made)
    clocks.pass_by(1)
    assert not found(keyring, made)
    assert [info.expired for info in keyring.infos()] == [True]
    assert not found(clocks.keyring(tmp_path / "tokens.json"), made)


@pytest.mark.parametrize("step_s", [86_400, -86_400])
def test_a_clock_that_is_set_ends_no_token_and_prolongs_none(step_s: float) -> None:
    clocks = Clocks()
    keyring = clocks.keyring(None)
    made = make(keyring, "ci", expires_in_s=60)
    clocks.wall_s += step_s
    assert found(keyring, made)
    clocks.boot_s += 60
    assert not found(keyring, made)


# --- Scopes ---


def test_what_includes_what() -> None:
    scopes: tuple[Scope, ...] = ("read", "write", "approve", "admin")
    may = {
        scope: [needed for needed in scopes if Caller("t", (scope,)).acting(needed)]
        for scope in scopes
    }
    assert may == {
        "read": ["read"],
        "write": ["read", "write"],
        "approve": ["read", "approve"],
        "admin": ["read", "write", "approve", "admin"],
    }
    assert Caller("t", ("write", "approve")).acting("approve") == "approve"
    assert Caller().acting("approve") == "admin"


def test_every_route_has_the_scope_it_should() -> None:
    found = {route.operation.name: route.operation for route in ROUTES}
    for name, operation in found.items():
        if operation.scope == "read" and not operation.public:
            # What a reader may post stands for the reader's own rights.
            assert operation.method == "get" or name in ("create_ticket", "logout"), name
    approving = {name for name, each in found.items() if each.scope == "approve"}
    assert approving == {"reply_permission", "reply_question", "reject_question"}
    governing = {name for name, each in found.items() if each.scope == "admin"}
    assert governing >= {"list_tokens", "create_token", "revoke_token", "install_agent"}
    assert governing >= {name for name in found if "webhook" in name}
    assert {name for name, each in found.items() if each.public} >= {"get_health", "login"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon")) as started:
        started.create("s")
        yield started


@pytest.fixture(scope="module")
def tokens(daemon: Daemon) -> dict[str, str]:
    return {scope: created(daemon, f"a-{scope}", scope) for scope in ("read", "write", "approve")}


def created(daemon: Daemon, name: str, *scopes: str, **more: Any) -> str:
    reply = daemon.request("POST", "/tokens", {"name": name, "scopes": scopes, **more})
    assert reply.status == 201, reply.body
    token: str = reply.json["token"]
    return token


def by(daemon: Daemon, token: str, method: str, path: str, body: Any = None) -> Reply:
    return daemon.request(method, path, body, {"Authorization": f"Bearer {token}"})


CALLS: tuple[tuple[str, str, Any, str], ...] = (
    ("GET", "/sessions", None, "read"),
    ("GET", "/sessions/s/events", None, "read"),
    ("GET", "/agents", None, "read"),
    ("POST", "/sessions", {"agent": "mock"}, "write"),
    ("POST", "/sessions/s/messages", {"message": "echo hi"}, "write"),
    ("POST", "/sessions/s/interrupt", None, "write"),
    ("PATCH", "/sessions/s", {"title": "t"}, "write"),
    ("DELETE", "/sessions/none", None, "write"),
    ("POST", "/sessions/s/permissions/none/reply", {"reply": "once"}, "approve"),
    ("POST", "/sessions/s/questions/none/reject", None, "approve"),
    ("POST", "/agents/mock/install", None, "admin"),
    ("GET", "/tokens", None, "admin"),
    ("POST", "/tokens", {"name": "mine", "scopes": ["admin"]}, "admin"),
    ("DELETE", "/tokens/a-read", None, "admin"),
    ("POST", "/hooks", {"url": "http://127.0.0.1:1/"}, "admin"),
)


@pytest.mark.parametrize("scope", ["read", "write", "approve"])
@pytest.mark.parametrize(("method", "path", "body", "needed"), CALLS)
def test_a_token_may_do_what_its_scope_says(
    daemon: Daemon,
    tokens: dict[str, str],
    scope: str,
    method: str,
    path: str,
    body: Any,
    needed: str,
) -> None:
    reply = by(daemon, tokens[scope], method, path, body)
    if needed in ("read", scope):
        assert reply.status in (200, 201, 204, 404), reply.body
    else:
        assert (reply.status, reply.json["title"]) == (403, "Permission Denied")
        assert reply.json["details"] == {"scope": needed}
        assert f"needs the scope '{needed}'" in reply.json["detail"]
        assert f"'a-{scope}'" in reply.json["detail"]


@pytest.mark.parametrize("mode", ["bypass", "acceptEdits"])
def test_to_let_an_agent_work_unasked_is_to_approve(
    daemon: Daemon, tokens: dict[str, str], mode: str
) -> None:
    wanted = {"agent": "mock", "permissionMode": mode}
    for reply in (
        by(daemon, tokens["write"], "POST", "/sessions", wanted),
        by(daemon, tokens["write"], "PATCH", "/sessions/s", {"permissionMode": mode}),
    ):
        assert (reply.status, reply.json["details"]) == (403, {"scope": "approve"})
    both = created(daemon, f"both-{mode}", "write", "approve")
    assert by(daemon, both, "POST", "/sessions", wanted).status == 201


def test_a_path_that_does_not_exist_and_a_wrong_method_are_told_first(
    daemon: Daemon, tokens: dict[str, str]
) -> None:
    assert by(daemon, tokens["read"], "POST", "/nowhere").status == 404
    assert by(daemon, tokens["read"], "PUT", "/tokens").status == 405


def test_a_token_can_ask_what_it_may_do(daemon: Daemon, tokens: dict[str, str]) -> None:
    asked = by(daemon, tokens["write"], "GET", "/status").json["caller"]
    assert asked == {"token": "a-write", "scopes": ["read", "write"]}
    owner = daemon.get("/status")["caller"]
    assert owner == {"token": "default", "scopes": ["read", "write", "approve", "admin"]}


# --- Revoking ---


def test_a_revoked_token_opens_nothing_and_its_streams_end(daemon: Daemon) -> None:
    token = created(daemon, "leaving", "read")
    headers = {"Authorization": f"Bearer {token}"}
    connection = daemon.connect()
    connection.request("GET", "/v1/sessions/s/events/sse", headers=headers)
    stream = connection.getresponse()
    assert stream.status == 200
    assert daemon.request("DELETE", "/tokens/leaving").status == 204
    with pytest.raises((IncompleteRead, ConnectionError)):
        stream.read()
    connection.close()
    assert by(daemon, token, "GET", "/sessions").status == 401
    assert daemon.request("DELETE", "/tokens/leaving").status == 404


def test_a_token_that_expires_ends_its_streams(tmp_path: Path) -> None:
    with running(tmp_path, env={"DRAGOMAN_HEARTBEAT_S": "0.2"}) as daemon:
        daemon.create("s")
        token = created(daemon, "brief", "read", expiresInS=1)
        connection = daemon.connect()
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("GET", "/v1/sessions/s/events/sse", headers=headers)
        stream = connection.getresponse()
        assert stream.status == 200
        with pytest.raises((IncompleteRead, ConnectionError)):
            stream.read()
        connection.close()
        assert [each["expired"] for each in daemon.get("/tokens")["tokens"]] == [True]


def test_a_token_may_revoke_itself_and_hears_of_it(daemon: Daemon) -> None:
    token = created(daemon, "selfless", "admin")
    assert by(daemon, token, "DELETE", "/tokens/selfless").status == 204
    assert by(daemon, token, "GET", "/sessions").status == 401


def test_tokens_survive_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        token = created(daemon, "ci", "read")
        daemon.kill()
        daemon.start()
        assert by(daemon, token, "GET", "/sessions").status == 200
        (info,) = daemon.get("/tokens")["tokens"]
        assert (info["name"], info["scopes"]) == ("ci", ["read"])
        assert "token" not in info


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"scopes": ["read"]}, "name"),
        ({"name": "-x", "scopes": ["read"]}, "name"),
        ({"name": "a b", "scopes": ["read"]}, "name"),
        ({"name": "x\n", "scopes": ["read"]}, "name"),
        ({"name": "x"}, "scopes"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["all"]}, "scopes[0]"),
        ({"name": "x", "scopes": ["read"], "expiresInS": 0}, "expiresInS"),
    ],
)
def test_a_token_that_makes_no_sense_is_400(daemon: Daemon, wanted: Any, field: str) -> None:
    reply = daemon.request("POST", "/tokens", wanted)
    assert reply.status == 400
    assert reply.json["details"]["field"].startswith(field.partition("[")[0])


def test_a_guard_knows_peers_apart() -> None:
    authenticator = Authenticator("good")
    for _ in range(100):
        authenticator.check(b"Bearer wrong", "10.0.0.1")
    assert authenticator.delay_s("10.0.0.1") == 1.0
    assert authenticator.delay_s("10.0.0.2") == 0.0
