"""A defect of ours costs a turn, which says so; never a message, and never the session."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Adapter, Spec
from dragoman.agents.mock import ADAPTER
from dragoman.agents.mock.convert import MockConverter
from dragoman.facts import Launch
from dragoman.files import FileService
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session.manager import SessionManager
from dragoman.schema.events import TurnEnded
from dragoman.schema.http import CreateSession, Message
from dragoman.settings import Settings
from dragoman.steps import Step
from dragoman.store import open_store
from tests.cases.common import assert_conforms


def broken(times: int) -> Adapter:
    """The mock agent, with a launch that has a defect so many times."""
    left = [times]

    def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
        left[0] -= 1
        if left[0] >= 0:
            raise KeyError("a defect")
        return ADAPTER.launch(spec, command)

    return msgspec.structs.replace(ADAPTER, launch=launch)


async def turns(data_dir: Path, adapter: Adapter, *prompts: str) -> list[dict[str, Any]]:
    """Send the prompts, and wait for as many turns; all events."""
    settings = Settings(data_dir=str(data_dir))
    store = open_store(data_dir)
    agents = Agents({"mock": adapter}, settings)
    sessions = SessionManager(store, agents, settings, FileService(settings))
    await sessions.create("s", CreateSession(agent="mock"), str(data_dir))
    for prompt in prompts:
        await sessions.send("s", Message(message=prompt), None)
    ended = 0
    async for batch in store.follow("s", 0):
        ended += batch.frames.count(f'"type":"{TurnEnded.type}"'.encode())
        if ended == len(prompts):
            break
    page = await store.read("s", 0, 10_000, raw=False)
    await sessions.stop()
    await store.close()
    events: list[dict[str, Any]] = msgspec.json.decode(b"[%b]" % page.events)
    return events


class Clumsy(MockConverter):
    """The mock agent's converter, with a defect in it."""

    def receive(self, message: bytes) -> Iterator[Step]:
        if b"mystery" in message:
            json.loads(b"")
        return super().receive(message)


def test_case_16_a_defect_of_a_converter_is_logged_with_its_place(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Before, its message became `agent.unparsed` without a trace of where the defect is.

    A flood of one defect is a few lines in the log, and none of them has what was said.
    """
    data_dir.mkdir()
    adapter = msgspec.structs.replace(ADAPTER, converter=Clumsy)
    with caplog.at_level(logging.WARNING):
        events = asyncio.run(turns(data_dir, adapter, *["unparsed"] * 5))
    assert_conforms(events)
    assert sum(event["type"] == "agent.unparsed" for event in events) == 5
    at = Clumsy.receive.__code__.co_firstlineno + 2
    records = [each for each in caplog.records if each.name.endswith(".adapter_defects")]
    assert [vars(record)["count"] for record in records] == [1, 2, 4]
    for record in records:
        assert record.levelno == logging.WARNING
        assert f"JSONDecodeError at {__file__}:{at};" in record.getMessage()
        assert "json/decoder.py" in vars(record)["traceback"]
        assert "payload" not in str(vars(record))


def test_a_message_that_a_defect_kept_from_the_agent_has_its_turn(data_dir: Path) -> None:
    data_dir.mkdir()
    events = asyncio.run(turns(data_dir, broken(2), "echo one", "echo two", "echo three"))
    assert_conforms(events)
    outcomes = [e["data"]["outcome"] for e in events if e["type"] == "turn.ended"]
    assert outcomes == ["failed", "failed", "completed"]
    codes = [event["data"]["code"] for event in events if event["type"] == "error"]
    assert codes == ["internal_error", "internal_error"]
    people = [
        event["data"]["item"]["content"][0]["text"]
        for event in events
        if event["type"] == "item.completed" and event["data"]["item"].get("message_id")
    ]
    assert people == ["echo one", "echo two", "echo three"]
