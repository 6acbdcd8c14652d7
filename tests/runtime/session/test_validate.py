"""What an agent cannot honour is refused, or said; it is never accepted without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from dragoman.adapter import Adapter
from dragoman.agents import adapters
from dragoman.errors import InvalidRequest
from dragoman.runtime.session.validate import ensure_supported, ensure_variant
from dragoman.schema.http import CreateSession, ModelInfo, PatchSession
from tests.cases.common import assert_conforms
from tests.daemon import Daemon
from tests.shared_agent import house
from tests.testing.story import items

MCP = {"docs": {"type": "local", "command": ["docs", "serve"]}}
SKILLS = {"sources": [{"type": "local", "source": "/skills"}]}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with house(tmp_path_factory.mktemp("house")) as started:
        yield started


def refused(daemon: Daemon, method: str, path: str, body: Any) -> tuple[str, str]:
    """What is wrong, and the words for it."""
    reply = daemon.request(method, path, body)
    assert reply.status == 400, reply.body
    return reply.json["details"]["field"], reply.json["detail"]


@pytest.mark.parametrize(
    ("field", "value", "right"),
    [
        ("mcp", MCP, "takes no MCP servers; leave out `mcp`, or use an agent that takes them: "),
        ("skills", SKILLS, "takes no skills; leave out `skills`, or use an agent that takes them"),
        ("variant", "high", "takes no variants; leave out `variant`, or use an agent that takes"),
        ("permissionMode", "bypass", "known: default"),
        ("permissionMode", "acceptEdits", "known: default"),
        ("permissionMode", "plan", "known: default"),
    ],
)
def test_what_an_agent_cannot_honour_is_refused_on_create(
    daemon: Daemon, field: str, value: Any, right: str
) -> None:
    """Before, all of it was 200 and had no effect."""
    wanted = {"agent": "minimal", field: value}
    about, words = refused(daemon, "POST", "/sessions/never", wanted)
    assert (about, right in words) == (field, True), words
    assert daemon.request("GET", "/sessions/never").status == 404


@pytest.mark.parametrize(
    ("field", "value"), [("variant", "high"), ("permissionMode", "plan"), ("agentMode", "sing")]
)
def test_what_an_agent_cannot_honour_is_refused_on_change(
    daemon: Daemon, field: str, value: str
) -> None:
    """Before, a mode that create refuses was accepted later."""
    name = f"changed-{field}"
    daemon.create(name, agent="minimal")
    assert refused(daemon, "PATCH", f"/sessions/{name}", {field: value})[0] == field
    assert daemon.get(f"/sessions/{name}")["eventCount"] == 1


def test_a_variant_that_an_agent_does_not_know_is_refused(daemon: Daemon) -> None:
    """Before, it was accepted, and failed the next turn or had no effect."""
    right = ("variant", "Mock mock has no variant 'huge'; known: low, medium, high")
    wanted = {"agent": "mock", "variant": "huge"}
    assert refused(daemon, "POST", "/sessions/never", wanted) == right
    daemon.create("varied", variant="low")
    assert refused(daemon, "PATCH", "/sessions/varied", {"variant": "huge"}) == right
    assert daemon.get("/sessions/varied")["variant"] == "low"
    assert daemon.request("PATCH", "/sessions/varied", {"variant": "high"}).status == 200


@pytest.mark.parametrize(
    ("model", "known"),
    [("small", "low"), ("large", "low, high"), ("plain", "low, high"), ("another", "low, high")],
)
def test_the_variants_of_the_model_count_where_it_is_known(model: str, known: str) -> None:
    models = [
        ModelInfo(id="small", variants=("low",)),
        ModelInfo(id="large", variants=("low", "high")),
        ModelInfo(id="plain"),
    ]
    adapter = adapters()["mock"]
    with pytest.raises(InvalidRequest, match=f"known: {known}$"):
        ensure_variant(adapter, "huge", model, models)
    ensure_variant(adapter, "low", model, models)
    ensure_variant(adapter, "huge", model, models[2:])


def test_what_asks_for_nothing_is_fine(daemon: Daemon) -> None:
    off = {"docs": {**MCP["docs"], "enabled": False}}
    daemon.create(
        "nothing", agent="minimal", mcp=off, skills={"sources": []}, permissionMode="default"
    )
    assert daemon.get("/sessions/nothing")["eventCount"] == 1
    changed = daemon.request("PATCH", "/sessions/nothing", {"permissionMode": "default"})
    assert changed.status == 200


def test_what_a_session_goes_on_without_is_said_in_it(daemon: Daemon) -> None:
    """Before, the mock agent was given servers and skills, and nothing told of their fate."""
    daemon.create("vain", mcp=MCP, skills=SKILLS)
    daemon.turn("vain", "echo hi")
    events = daemon.events("vain")
    assert_conforms(events)
    (status,) = items(events[:3], "status")
    (part,) = status["content"]
    assert part["label"] == "not_applied"
    assert part["detail"] == "Mock makes no use of MCP servers and skills; they have no effect"
    assert {event["source"] for event in events[:3]} == {"daemon"}
    assert daemon.get("/sessions/vain")["eventCount"] == len(events)


@pytest.mark.parametrize("adapter", adapters().values(), ids=lambda adapter: adapter.id)
def test_an_adapter_does_not_contradict_itself(adapter: Adapter) -> None:
    shown = adapter.capabilities.shown
    assert adapter.permission_modes[0] == "default"
    assert ("plan" in adapter.permission_modes) <= ("planMode" in shown)
    assert ("acceptEdits" in adapter.permission_modes) <= ("permissions" in shown)
    assert adapter.takes_mcp <= ("mcpTools" in shown)
    takes = {"mcp": adapter.takes_mcp, "skills": adapter.takes_skills}
    assert not [field for field in adapter.unused if takes.get(field)]


def test_a_model_is_refused_where_nobody_can_choose_one() -> None:
    """Before, it was accepted, shown, and without effect."""
    adapter = structs.replace(adapters()["mock"], name="Deaf", takes_model=False)
    for wanted in (CreateSession(agent="mock", model="m"), PatchSession(model="m")):
        with pytest.raises(InvalidRequest, match="Deaf takes no models; leave out `model`"):
            ensure_supported(adapter, wanted, adapters().values())
