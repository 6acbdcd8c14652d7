"""The probes see what an agent does, and what is declared wrongly is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from dragoman.adapter import Adapter
from dragoman.agents.mock import ADAPTER
from dragoman.errors import InvalidRequest
from dragoman.facts import Block, Capabilities, Feature, ProbeRecipes
from dragoman.schema.events import Event, SessionStarted, TurnStarted
from dragoman.testing.conform import PROBES, ConformReport, Finding, conform, row
from dragoman.testing.conform.context import furnish, runs_in
from dragoman.testing.conform.evidence import Evidence
from dragoman.testing.recordings.transcript import Eof, Line, Meta, Run, dump, load

ALL: frozenset[Feature] = frozenset(get_args(Feature))


def declaring(features: frozenset[Feature], **changes: Any) -> Adapter:
    """The mock agent's adapter, with another declaration."""
    capabilities = Capabilities(native=features, shown=features)
    return msgspec.structs.replace(ADAPTER, capabilities=capabilities, **changes)


def tried(adapter: Adapter, folder: Path, *only: str) -> ConformReport:
    return conform(adapter, ADAPTER.command, folder, only=only)


def verdicts(report: ConformReport) -> dict[str, str]:
    return {row.probe: row.verdict for row in report.rows}


# --- The table ---


def test_every_feature_that_can_be_declared_has_a_probe() -> None:
    assert {probe.feature for probe in PROBES.values()} - {None} == ALL


def test_every_probe_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "conform.md").read_text()
    for probe in PROBES.values():
        assert f"| `{probe.name}` | {probe.trial.__doc__} |" in page


@pytest.mark.parametrize(
    ("native", "shown", "observed", "verdict"),
    [
        (True, True, True, "as declared"),
        (True, True, False, "drift"),
        (True, True, None, "drift"),
        (True, False, False, "as declared"),
        (True, False, None, "as declared"),
        (True, False, True, "undeclared"),
        (False, False, True, "undeclared"),
        (False, False, False, "as declared"),
        (False, True, False, "drift"),
    ],
)
def test_what_is_seen_is_set_against_what_is_shown(
    native: bool, shown: bool, observed: bool | None, verdict: str
) -> None:
    feature: frozenset[Feature] = frozenset({"reasoning"})
    none: frozenset[Feature] = frozenset()
    declared = Capabilities(native=feature if native else none, shown=feature if shown else none)
    found = row(PROBES["reasoning"], Finding(probe="reasoning", observed=observed), declared)
    assert (found.native, found.shown, found.verdict) == (native, shown, verdict)


@pytest.mark.parametrize(("observed", "verdict"), [(True, "as declared"), (False, "drift")])
def test_what_has_no_feature_is_demanded_of_every_agent(observed: bool, verdict: str) -> None:
    nothing = Capabilities(native=frozenset(), shown=frozenset())
    found = row(PROBES["queue"], Finding(probe="queue", observed=observed), nothing)
    assert found.verdict == verdict


# --- Against a real daemon ---


def test_too_much_declared_is_drift_and_its_evidence_is_kept(tmp_path: Path) -> None:
    report = tried(declaring(ALL), tmp_path, "text", "steer", "shared-process")
    assert verdicts(report) == {
        "text": "as declared",
        "steer": "drift",
        "shared-process": "drift",
    }
    assert not report.ok
    steer = report.drifts[0]
    assert (steer.expected, steer.observation) == ("both messages in one turn", "['slow 100']")
    assert report.evidence_folder == str(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "daemon.log",
        "shared-process",
        "steer",
    ]
    assert len(load((tmp_path / "shared-process" / "transcript.jsonl").read_bytes())) == 2
    events = (tmp_path / "steer" / "events.jsonl").read_bytes().splitlines()
    assert json.loads(events[0])["type"] == "session.started"
    assert json.loads(events[-1])["type"] == "session.ended"


def test_too_little_declared_is_told_and_harms_nobody(tmp_path: Path) -> None:
    report = tried(declaring(frozenset({"textMessages"})), tmp_path, "text", "reasoning")
    assert verdicts(report) == {"text": "as declared", "reasoning": "undeclared"}
    assert report.ok
    assert report.evidence_folder is None


def test_what_the_drill_cannot_try_is_not_observed(tmp_path: Path) -> None:
    mute = declaring(ALL, probe_recipes=ProbeRecipes(prompts={"say": "echo {words}"}))
    report = tried(mute, tmp_path, "text", "reasoning")
    assert [row.observed for row in report.rows] == [True, None]
    assert report.drifts[0].observation == "the recipes have no prompt 'think'"


LAZY = dict.fromkeys((ADAPTER.probe_recipes or ProbeRecipes()).prompts, "echo nothing")
UNSEEN = {
    "streaming": "several deltas",
    "reasoning": "a reasoning item with the thought",
    "tool-call": "a tool_call item",
    "tool-result": "a tool_result item with 'heron'",
    "command": "a call with the command 'echo heron; exit 3'",
    "file-change": "a file_ref that writes or patches",
    "image": "an image part in a tool_result",
    "mcp": "a call of the server 'tiny'",
    "subagent": "an item with a subagent_id that says 'I found seven of them.'",
    "permission-accept": "permission.requested",
    "permission-always": "permission.requested",
    "permission-reject": "permission.requested",
    "question": "question.requested",
    "plan-mode": "a plan",
    "interrupt": "an interrupted turn",
    "status": "a status item",
    "error": "an error event",
}


def test_an_agent_that_only_echoes_is_seen_to_do_nothing_else(tmp_path: Path) -> None:
    lazy = declaring(ALL, probe_recipes=ProbeRecipes(prompts={**LAZY, "say": "echo {words}"}))
    report = tried(lazy, tmp_path, "text", *UNSEEN)
    assert [row.probe for row in report.rows if row.observed] == ["text"]
    assert {row.probe: row.expected for row in report.drifts} == UNSEEN


def test_a_message_that_leaves_no_event_must_be_known_as_noise(tmp_path: Path) -> None:
    deaf = msgspec.structs.replace(ADAPTER, ignored=())
    report = tried(deaf, tmp_path, "text")
    bind, begin = (lost.line for lost in report.unaccounted)
    assert bind.startswith('{"type":"bind","native_session_id":"mock-')
    assert begin == '{"type":"begin_turn","metadata":{"native_turn_id":"turn-1"}}'
    assert report.share.unaccounted == 2
    assert not report.ok
    assert (tmp_path / "text" / "transcript.jsonl").exists()


def _breaks(command: str) -> Block:
    raise LookupError(command)


def test_a_probe_that_breaks_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    """Before, an agent that never asked its model ended everything with an IndexError."""
    broken = ProbeRecipes(environ=lambda url, home: {}, run=_breaks, plan=lambda plan, request: ())
    report = tried(declaring(ALL, probe_recipes=broken), tmp_path, "text", "command", "plan-mode")
    assert [row.probe for row in report.rows] == ["text", "command", "plan-mode"]
    seen = {row.probe: (row.expected, row.observation) for row in report.drifts}
    assert seen["command"][1].startswith("it broke: LookupError(")
    assert seen["plan-mode"] == ("a request to the model", "none")


# --- What is refused ---


def test_an_unknown_probe_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no probe 'levitation'; known: text, "):
        tried(ADAPTER, tmp_path, "levitation")


def test_an_agent_without_a_drill_cannot_be_tried(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="has no drill"):
        tried(msgspec.structs.replace(ADAPTER, probe_recipes=None), tmp_path)


# --- Evidence ---


def _event(sequence: int, body: SessionStarted | TurnStarted) -> Event:
    return Event(
        event_id=f"evt_{sequence}",
        sequence=sequence,
        time="2026-01-01T00:00:00.000Z",
        session_id="s",
        synthetic=True,
        source="daemon",
        type=body.type,
        data=body,
    )


def test_a_broken_rule_names_its_probe() -> None:
    stream = (_event(1, SessionStarted()), _event(3, TurnStarted(turn_id="turn_1")))
    (breach,) = Evidence(probe="text", streams=(stream,), runs=()).breaches()
    assert (breach.probe, breach.rule) == ("text", "sequence_without_holes")


def test_what_an_agent_says_after_it_was_told_to_go_is_not_counted() -> None:
    said = Line(t=0.0, dir="out", data=b'{"type":"news"}')
    run = Run(meta=Meta(), entries=(said, Eof(t=0.1), said))
    evidence = Evidence(probe="text", streams=(), runs=(run,))
    assert evidence.share(ADAPTER).unaccounted == 1


# --- The MCP server ---


def test_a_home_holds_what_the_drill_puts_there(tmp_path: Path) -> None:
    probe_recipes = ProbeRecipes(files=lambda url: {".agent/config": f"model = {url}"})
    furnish(tmp_path, probe_recipes, "http://here")
    assert (tmp_path / ".agent" / "config").read_text() == "model = http://here"


def test_a_shared_process_worked_where_it_was_told_to(tmp_path: Path) -> None:
    told = Line(t=0, dir="in", data=json.dumps({"params": {"cwd": "/work/1"}}).encode())
    run = Run(meta=Meta(cwd="/"), entries=(told,))
    (tmp_path / "001.jsonl").write_bytes(dump((run,)))
    assert runs_in(tmp_path, Path("/work/1")) == [run]
    assert runs_in(tmp_path, Path("/work")) == []


def test_the_mcp_server_shouts() -> None:
    requests: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
         "params": {"name": "shout", "arguments": {"text": "hi"}}},
        {"jsonrpc": "2.0", "id": 4, "method": "resources/list"},
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.testing.conform.mcp_server"],
        input="\n".join(map(json.dumps, requests)),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    handshake, tools, shouted, unknown = map(json.loads, done.stdout.splitlines())
    assert handshake["result"]["protocolVersion"] == "x"
    assert [tool["name"] for tool in tools["result"]["tools"]] == ["shout"]
    assert shouted["result"]["content"] == [{"type": "text", "text": "HI"}]
    assert (unknown["id"], unknown["error"]["code"]) == (4, -32601)
