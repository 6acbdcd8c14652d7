"""Every recording of every agent, translated and read by AG-UI's rules and by its own models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from ag_ui.core import Event as AguiModel
from msgspec import Struct
from pydantic import TypeAdapter

from dragoman.agui.frames import AguiFrame
from dragoman.agui.translate import Translator, translate
from dragoman.schema.events import Event, ItemCompleted, decode
from tests.agents.recordings import Case, cases
from tests.agui.stream import Json, decoded
from tests.agui.verifier import verify

_MODEL: TypeAdapter[Any] = TypeAdapter(AguiModel)
CASES = [case for case in cases() if case.golden is not None]
AGENTS = sorted({case.agent for case in CASES})


@pytest.fixture(params=AGENTS)
def recordings(request: pytest.FixtureRequest) -> list[Recording]:
    """All recordings of an agent; there are hundreds, and each is translated once."""
    return recordings_of(request.param)


class Recording(Struct, frozen=True):
    """A recording, and what becomes of it."""

    case: Case
    events: list[Event]
    frames: list[AguiFrame]
    shown: list[Json]


@cache
def recordings_of(agent: str) -> list[Recording]:
    return [_recording(case) for case in CASES if case.agent == agent]


def _recording(case: Case) -> Recording:
    assert case.golden is not None
    events = [decode(line) for line in case.golden.read_bytes().splitlines()]
    frames = list(translate(events, "thread", case.adapter))
    return Recording(case, events, frames, decoded(frames))


def test_recordings_are_streams_of_ag_ui(recordings: list[Recording]) -> None:
    for each in recordings:
        run_ids = [event["runId"] for event in each.shown if event["type"] == "RUN_STARTED"]
        assert verify(each.shown).runs == len(set(run_ids)), each.case


def test_recordings_fit_the_models_of_ag_ui(recordings: list[Recording]) -> None:
    for each in recordings:
        for event in each.shown:
            model = _MODEL.validate_python(event)
            again = model.model_dump(by_alias=True, exclude_none=True, mode="json")
            assert set(event) <= set(again), f"{each.case}: a client drops what no model names"


def test_every_call_has_one_result(recordings: list[Recording]) -> None:
    for each in recordings:
        calls = {e["toolCallId"] for e in each.shown if e["type"] == "TOOL_CALL_START"}
        results = [e["toolCallId"] for e in each.shown if e["type"] == "TOOL_CALL_RESULT"]
        assert sorted(results) == sorted(calls), each.case


def test_texts_and_thoughts_are_complete(recordings: list[Recording]) -> None:
    """Deltas add up to what the items hold, over all runs of a turn."""
    for each in recordings:
        shown: dict[str, str] = {}
        for event in each.shown:
            if event["type"] in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
                shown[event["messageId"]] = shown.get(event["messageId"], "") + event["delta"]
        assert shown == dict(_texts(each.events)), each.case


def _texts(events: list[Event]) -> Iterator[tuple[str, str]]:
    for event in events:
        match event.data:
            case ItemCompleted(item=item) if item.kind in ("message", "system"):
                if text := "".join(getattr(part, "text", "") for part in item.content):
                    yield item.item_id, text


def test_frames_are_the_same_however_they_are_read(recordings: list[Recording]) -> None:
    """Who reads live is told of a request that no rule answers; who reads later sees it."""
    for each in recordings:
        translator = Translator("thread", each.case.adapter)
        live = list[AguiFrame]()
        for event, after in zip(each.events, [*each.events[1:], None], strict=True):
            live += translator.receive(event)
            if after is None or not _is_ruled(after):
                live += translator.settle()
        live += translator.close()
        assert live == each.frames, each.case
        places = [frame.place for frame in live]
        assert places == sorted(set(places)), each.case


def _is_ruled(event: Event) -> bool:
    """Whether one of our rules gave the answer."""
    return bool(getattr(getattr(event.data, "approver", None), "rule", None))


def test_runs_name_the_agents_own_session(recordings: list[Recording]) -> None:
    for each in recordings:
        name = f"{each.case.adapter.event_prefix}.session-id"
        for run in runs(each.shown):
            ids = [event["value"]["sessionId"] for event in run if event.get("name") == name]
            assert len(ids) == len(set(ids)), each.case
            origins = [event["metadata"]["dragoman"] for event in run]
            assert ids or not any("nativeSessionId" in origin for origin in origins), each.case


def runs(events: list[Json]) -> list[list[Json]]:
    found: list[list[Json]] = []
    for event in events:
        if event["type"] == "RUN_STARTED":
            found.append([])
        found[-1].append(event)
    return found
