"""Bodies: what is taken, and what is said about one that is not."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from dragoman.http.routes import ROUTES
from tests.daemon import Daemon, running
from tests.http.test_exact_answers import problem, raw

SMALL_BODY = 2048

WRONG_BODIES: tuple[tuple[str, object, str, str], ...] = (
    ("/sessions/w", {}, "agent", "required"),
    ("/sessions/w", {"agent": 7}, "agent", "str"),
    ("/sessions/w", {"agent": None}, "agent", "str"),
    ("/sessions/w", [], "body", "object"),
    ("/sessions/w", {"agent": "mock", "permissionMode": "yolo"}, "permissionMode", "acceptEdits"),
    ("/sessions/w", {"agent": "mock", "env": {"A=B": "x"}}, "env.A=B", "letters, digits and _"),
    ("/sessions/w", {"agent": "mock", "env": {"A\n": "x"}}, "env.A\n", "letters, digits and _"),
    ("/sessions/w", {"agent": "mock", "env": {"A": 1}}, "env.A", "str"),
    ("/sessions/w", {"agent": "mock", "env": {"A": "1", "B": "\0"}}, "env.B", "NUL"),
    ("/sessions/w", {"agent": "mock", "model": "a\0b"}, "model", "control characters"),
    ("/sessions/w", {"agent": "mock", "model": "-x"}, "model", "not begin with -"),
    ("/sessions/w", {"agent": "mock", "mcp": {"m": {"type": "ftp"}}}, "mcp.m.type", "stdio"),
    ("/sessions/w", {"agent": "mock", "mcp": {"m": {"type": "local"}}}, "mcp.m", "command"),
    ("/sessions/w", {"agent": "mock", "mcp": {"m": {"type": "http"}}}, "mcp.m", "url"),
    (
        "/sessions/w",
        {"agent": "mock", "mcp": {
            **{f"good{n}": {"type": "local", "command": "x"} for n in range(9)},
            "bad": {"type": "local", "command": "x", "env": {"A": "1", "B": 2}},
            **{f"more{n}": {"type": "local", "command": "x"} for n in range(9)},
        }},
        "mcp.bad.env.B",
        "str",
    ),
    ("/tokens", {"name": "a b/c", "scopes": ["read"]}, "name", "letters, digits and . _ -"),
    (
        "/sessions/w",
        {"agent": "mock", "skills": {"sources": [{"type": "svn", "source": "x"}]}},
        "skills.sources[0].type",
        "github",
    ),
    ("/sessions/w", {"agent": "mock", "resume": {}}, "resume", "nativeSessionId"),
    (
        "/sessions/w",
        {"agent": "mock", "resume": {"sessionId": "a", "nativeSessionId": "b"}},
        "resume",
        "one of the two",
    ),
    ("/sessions/wrong/messages", {}, "message", "required"),
    ("/sessions/wrong/messages", {"message": ["hi"]}, "message", "str"),
    ("/sessions/wrong/messages", {"message": " "}, "message", "words"),
    ("/sessions/wrong/messages", {"message": "hi", "attachments": [{}]}, "attachments[0].path",
     "required"),
    ("/sessions/wrong/permissions/p/reply", {"reply": "maybe"}, "reply", "always"),
    ("/sessions/wrong/permissions/p/reply", {}, "reply", "required"),
    ("/sessions/wrong/permissions/p/reply", {"reply": "once", "updatedInput": "ls"},
     "updatedInput", "object"),
    ("/sessions/wrong/permissions/p/reply", {"reply": "always", "updatedInput": {}},
     "updatedInput", "once"),
    ("/sessions/wrong/questions/q/reply", {"answers": "Red"}, "answers", "array"),
    ("/sessions/wrong/questions/q/reply", {"answers": ["Red"]}, "answers[0]", "array"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "body", "field", "right"), WRONG_BODIES)
def test_a_wrong_field_is_named_with_what_would_be_right(
    daemon: Daemon, path: str, body: object, field: str, right: str
) -> None:
    document = problem(daemon.request("POST", path, body), 400, "Invalid Request")
    assert document["details"]["field"] == field
    assert right in document["detail"]
    assert document["instance"] == f"/v1{path}"


@pytest.mark.parametrize(
    "body",
    [
        b'{"agent":"mock","mcp":{"m":{"type":"ftp"},"m":{"type":"http","url":"u"}}}',
        b'{"agent":"mock","mcp":{"m":{"type":"ftp"}}',
        b'{"agent":"mock","mcp":{' + b",".join(b'"%d":{}' % n for n in range(2000)) + b"}}",
    ],
)
def test_where_no_key_can_be_named_the_field_around_it_is(daemon: Daemon, body: bytes) -> None:
    reply = raw(daemon, "POST", "/sessions/w", body, "application/json")
    assert problem(reply, 400, "Invalid Request")["details"]["field"] == "mcp"


def test_no_pattern_is_shown_to_people() -> None:
    for route in ROUTES:
        for struct in (route.operation.body, route.operation.query):
            if isinstance(struct, type):
                schema = json.dumps(msgspec.json.schema(struct))
                assert schema.count('"pattern"') == schema.count('"description": "it ')


MALFORMED = (b"", b"{", b"{'agent':'mock'}", b'{"agent":"mock"} x', b"\xff", b"[" * 100_000,
             b'{"agent":"mock","title":"\xff"}')  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_json_is_400(daemon: Daemon, body: bytes) -> None:
    for path in ("/sessions", "/sessions/malformed", "/sessions/malformed/messages/stream"):
        reply = raw(daemon, "POST", path, body, "application/json")
        assert problem(reply, 400, "Invalid Request")["details"]["field"] in ("body", "message")


def test_half_of_an_emoji_does_not_cost_a_message(daemon: Daemon) -> None:
    daemon.create("emoji")
    reply = raw(daemon, "POST", "/sessions/emoji/messages", rb'{"message":"echo a\ud83d"}',
                "application/json")  # fmt: skip
    assert reply.status == 204, reply.body
    ended = daemon.wait_for("emoji", "turn.ended")
    assert ended["data"]["outcome"] == "completed"
    texts = [e["data"]["item"]["content"][0]["text"] for e in daemon.events("emoji")
             if e["type"] == "item.completed"]  # fmt: skip
    assert texts == ["echo a\ufffd", "a\ufffd"]


OTHER_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
               "text/json", None)  # fmt: skip


@pytest.mark.parametrize("content_type", OTHER_TYPES)
def test_json_under_another_name_is_415(daemon: Daemon, content_type: str | None) -> None:
    for path, body in (
        ("/sessions/other", b'{"agent":"mock"}'),
        ("/sessions", b'{"agent":"mock"}'),
        ("/sessions/other/messages", b'{"message":"hi"}'),
        ("/sessions/other/messages/stream", b'{"message":"hi"}'),
        ("/sessions/other/terminate", b"{}"),
    ):
        reply = raw(daemon, "POST", path, body, content_type)
        assert "application/json" in problem(reply, 415, "Unsupported Media Type")["detail"]
    assert daemon.request("GET", "/sessions/other").status == 404


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/x+json"]
)
def test_names_of_json_are_taken(daemon: Daemon, content_type: str) -> None:
    assert raw(daemon, "POST", "/sessions", b'{"agent":"mock"}', content_type).status == 201


def test_unknown_fields_are_ignored(daemon: Daemon) -> None:
    daemon.create("extra", colour="red", nested={"a": [1]})
    reply = daemon.request("POST", "/sessions/extra/messages", {"message": "hi", "colour": "red"})
    assert reply.status == 204
    assert daemon.request("GET", "/sessions/extra/events?colour=red").status == 200


def test_null_stands_for_an_absent_field(daemon: Daemon) -> None:
    optional = ("agentMode", "permissionMode", "model", "variant", "agentVersion", "directory",
                "title", "env", "mcp", "skills", "resume")  # fmt: skip
    daemon.create("nulls", **dict.fromkeys(optional))
    assert daemon.get("/sessions/nulls")["permissionMode"] == "default"


def test_a_post_that_needs_no_body_takes_none_or_an_empty_one(daemon: Daemon) -> None:
    daemon.create("bodyless")
    assert daemon.request("POST", "/sessions/bodyless/interrupt").status == 204
    assert daemon.request("POST", "/sessions/bodyless/interrupt", {}).status == 204
    empty = raw(daemon, "POST", "/sessions/bodyless/terminate", b"", "application/json")
    assert empty.status == 204


def test_a_body_that_is_too_large_is_413(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_BODY_BYTES": str(SMALL_BODY)}) as daemon:
        daemon.create("small")
        for path in ("/sessions/small/messages", "/sessions/small/terminate", "/sessions"):
            reply = daemon.request("POST", path, {"message": "x" * SMALL_BODY})
            assert str(SMALL_BODY) in problem(reply, 413, "Body Too Large")["detail"]
        fits = {"message": "x" * (SMALL_BODY - len('{"message": ""}'))}
        assert daemon.request("POST", "/sessions/small/messages", fits).status == 204
        assert _chunked(daemon, "/v1/sessions/small/messages", SMALL_BODY + 1) == 413
        assert daemon.get("/sessions/small")["ended"] is False


def _chunked(daemon: Daemon, path: str, size: int) -> int:
    """The status of a body that does not say how long it is."""
    connection = daemon.connect()
    headers = daemon.headers(**{"Content-Type": "application/json"})
    try:
        connection.request("POST", path, iter([b"x" * size]), headers, encode_chunked=True)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_body_is_read_as_utf_8(daemon: Daemon) -> None:
    daemon.create("unicode", title="Grüße, 世界 🎉\u2028")
    assert daemon.get("/sessions/unicode")["title"] == "Grüße, 世界 🎉\u2028"
    body = json.dumps({"title": "naïve"}, ensure_ascii=False).encode()
    reply = raw(daemon, "PATCH", "/sessions/unicode", body, "application/json")
    assert reply.json["title"] == "naïve"
