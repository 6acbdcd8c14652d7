"""The contract as a document: it is valid, it is committed, and clients find what they knew.

An API of this shape has clients already. What they send and read is spelled out here, so that
no rename on our side can go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from dragoman.http.openapi import openapi_document, schema_document
from dragoman.http.problems import PROBLEMS, type_of
from dragoman.http.routes import ROUTES
from tests.daemon import Daemon

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = msgspec.json.decode(openapi_document())
S = "/v1/sessions/{session_id}"

MCP = ("type", "command", "args", "env", "cwd", "enabled", "timeoutMs", "url", "headers",
       "bearerTokenEnvVar", "envHeaders", "oauth", "oauth.clientId", "oauth.clientSecret",
       "oauth.scope", "transport")  # fmt: skip
SKILL = ("type", "source", "skills", "ref", "subpath")
SESSION = (
    "sessionId", "agent", "agentMode", "permissionMode", "model", "variant", "nativeSessionId",
    "ended", "eventCount", "createdAt", "updatedAt", "directory", "title",
    *(f"mcp.*.{name}" for name in MCP), *(f"skills.sources[].{name}" for name in SKILL),
)  # fmt: skip
CAPABILITIES = (
    "commandExecution", "errorEvents", "fileAttachments", "fileChanges", "images", "itemStarted",
    "mcpTools", "permissions", "planMode", "questions", "reasoning", "sessionLifecycle",
    "sharedProcess", "status", "streamingDeltas", "textMessages", "toolCalls", "toolResults",
)  # fmt: skip
AGENT = (
    "id", "installed", "credentialsAvailable", "version", "path",
    *(f"capabilities.{name}" for name in CAPABILITIES),
    *(f"serverStatus.{name}" for name in
      ("status", "baseUrl", "uptimeMs", "restartCount", "lastError")),
)  # fmt: skip
ITEM = ("item_id", "native_item_id", "parent_id", "kind", "role", "status")
PART = ("type", "text", "json", "name", "arguments", "call_id", "output", "path", "action", "diff",
        "mime", "visibility", "label", "detail")  # fmt: skip
DATA = (
    "metadata", "reason", "terminated_by", "message", "exit_code", "stderr.head", "stderr.tail",
    "stderr.total_lines", "stderr.truncated", "phase", "turn_id", "item_id", "native_item_id",
    "delta", "code", "details", "permission_id", "action", "status", "question_id", "prompt",
    "options", "response", "error", "location", "raw_hash", *(f"item.{name}" for name in ITEM),
    *(f"item.content[].{name}" for name in PART),
)  # fmt: skip
EVENT = (
    "event_id", "sequence", "time", "session_id", "native_session_id", "synthetic", "source",
    "type", "raw", *(f"data.{name}" for name in DATA),
)  # fmt: skip
CREATE = (
    "agent", "agentMode", "agentVersion", "directory", "model", "permissionMode", "title",
    "variant",
    *(f"mcp.*.{name}" for name in MCP), *(f"skills.sources[].{name}" for name in SKILL),
)  # fmt: skip
MESSAGE = ("message", "attachments[].path", "attachments[].mime", "attachments[].filename")

# Method and path → query parameters, request fields, success, response fields.
KNOWN: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...], int, tuple[str, ...]]] = {
    ("get", "/v1/health"): ((), (), 200, ("status",)),
    ("get", "/v1/agents"): ((), (), 200, tuple(f"agents[].{name}" for name in AGENT)),
    ("post", "/v1/agents/{agent}/install"): ((), ("reinstall",), 204, ()),
    ("get", "/v1/agents/{agent}/modes"): (
        (), (), 200, ("modes[].id", "modes[].name", "modes[].description"),
    ),
    ("get", "/v1/agents/{agent}/models"): (
        (), (), 200, ("defaultModel", "models[].id", "models[].name", "models[].variants",
                      "models[].defaultVariant"),
    ),
    ("get", "/v1/sessions"): ((), (), 200, tuple(f"sessions[].{name}" for name in SESSION)),
    ("post", S): ((), CREATE, 200, ("healthy", "error", "nativeSessionId")),
    ("post", f"{S}/messages"): ((), MESSAGE, 204, ()),
    ("post", f"{S}/messages/stream"): (("include_raw",), MESSAGE, 200, ()),
    ("get", f"{S}/events"): (
        ("offset", "limit", "include_raw"), (), 200,
        ("hasMore", *(f"events[].{name}" for name in EVENT)),
    ),
    ("get", f"{S}/events/sse"): (("offset", "include_raw"), (), 200, ()),
    ("post", f"{S}/questions/{{question_id}}/reply"): ((), ("answers",), 204, ()),
    ("post", f"{S}/questions/{{question_id}}/reject"): ((), (), 204, ()),
    ("post", f"{S}/permissions/{{permission_id}}/reply"): ((), ("reply",), 204, ()),
    ("post", f"{S}/terminate"): ((), (), 204, ()),
}  # fmt: skip
REQUIRED = {"agent", "message", "answers", "reply"}
"""The only fields that a client must send; another one would break those who do not know it."""


def fields(schema: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The names of everything that a schema describes, with their way to it."""
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if depth > 9:
        return
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from fields(choice, prefix, depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from fields(schema["items"], f"{prefix}[]", depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], f"{prefix}.*", depth + 1)
    for name, inner in schema.get("properties", {}).items():
        yield f"{prefix}.{name}".lstrip(".")
        yield from fields(inner, f"{prefix}.{name}", depth + 1)


def described(content: dict[str, Any]) -> set[str]:
    media = content.get("content", {}).get("application/json", {})
    return set(fields(media.get("schema", {})))


@pytest.mark.parametrize(("method", "path"), KNOWN)
def test_a_client_of_the_known_api_finds_all_it_sends_and_reads(method: str, path: str) -> None:
    query, request, status, response = KNOWN[method, path]
    operation = DOCUMENT["paths"][path][method]
    parameters = {p["name"]: p for p in operation["parameters"] if p["in"] == "query"}
    assert set(query) <= set(parameters)
    assert not any(p["required"] for p in operation["parameters"] if p["in"] != "path")
    assert set(request) <= described(operation.get("requestBody", {}))
    assert set(response) <= described(operation["responses"][str(status)])


@pytest.mark.parametrize(("method", "path"), KNOWN)
def test_nothing_more_is_required_of_a_client(method: str, path: str) -> None:
    body = DOCUMENT["paths"][path][method].get("requestBody", {})
    schema = body.get("content", {}).get("application/json", {}).get("schema", {"$ref": "/Problem"})
    struct = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if body:
        assert set(struct["required"]) <= REQUIRED


def test_problems_have_the_fields_that_clients_read() -> None:
    known = {"type", "title", "status", "detail", "instance", "agent", "sessionId", "details"}
    assert set(DOCUMENT["components"]["schemas"]["Problem"]["properties"]) == known


TITLES = {
    "Invalid Request": 400, "Unsupported Agent": 400, "Mode Not Supported": 400,
    "Token Invalid": 401, "Permission Denied": 403, "Agent Not Installed": 404,
    "Session Not Found": 404, "Session Already Exists": 409, "Agent Process Exited": 500,
    "Install Failed": 500,
    "Timeout": 504, "Session Ended": 410, "Already Resolved": 409, "Conflict": 409,
    "Key Reused": 422, "Too Many Requests": 429, "Storage Full": 507,
}  # fmt: skip


def test_problems_have_these_titles_statuses_and_types() -> None:
    found = {problem.title: (problem.status, type_of(problem)) for problem in PROBLEMS}
    for title, status in TITLES.items():
        snake = title.lower().replace(" ", "_")
        assert found[title] == (status, f"urn:dragoman:error:{snake}")


def test_every_route_is_documented_once_under_its_own_name() -> None:
    names = [o["operationId"] for methods in DOCUMENT["paths"].values() for o in methods.values()]
    assert len(names) == len(set(names)) == len(ROUTES)


def test_the_daemon_serves_both_documents(daemon: Daemon) -> None:
    contract = daemon.request("GET", "/openapi.json")
    assert contract.headers["content-type"] == "application/json"
    assert contract.body == openapi_document()
    schema = daemon.request("GET", "/schema.json")
    assert schema.headers["content-type"] == "application/schema+json"
    assert schema.body == schema_document()


def test_the_served_schema_describes_the_served_events(daemon: Daemon) -> None:
    validator = jsonschema.Draft202012Validator(daemon.get("/schema.json"))
    daemon.create("described")
    for prompt in ("demo", "unparsed", "unknown", "error", "subagent", "end"):
        daemon.turn("described", prompt)
    for query in ("", "&include_raw=true"):
        page = daemon.get(f"/sessions/described/events?limit=10000{query}")
        for event in page["events"]:
            validator.validate(event)


def test_the_committed_document_is_current() -> None:
    committed = ROOT / "docs" / "openapi.json"
    assert committed.read_bytes() == openapi_document(), "run `make docs`"
