"""Through the real daemon, with a process: what real agents do seldom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp_agent import ODD
from tests.daemon import Daemon, running
from tests.testing.story import Talk, items, of_type, outcome, parts, said


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with this agent."""
    with running(tmp_path_factory.mktemp("odd")) as made:
        assert made.request("POST", "/agents", {"id": "odd", "command": ODD}).status == 201
        yield made


def talk(daemon: Daemon, odd: str = "", **create: Any) -> Talk:
    return Talk(daemon, agent="odd", env={"ODD": odd}, **create)


def test_a_form_is_a_question(daemon: Daemon) -> None:
    session = talk(daemon)
    session.send("form")
    question = session.until("question.requested")
    assert question["data"]["questions"][0]["options"] == [{"label": "Red"}, {"label": "Blue"}]
    path = f"/questions/{question['data']['question_id']}/reply"
    assert session.post(path, {"answers": [["Blue"]]}).status == 204
    session.until("turn.ended")
    (answer,) = said(session.conforms())
    assert json.loads(answer) == {"action": "accept", "content": {"colour": "Blue"}}


def test_a_page_is_visited(daemon: Daemon) -> None:
    session = talk(daemon)
    session.send("page")
    question = session.until("question.requested")
    assert "https://a.example/login" in question["data"]["prompt"]
    path = f"/questions/{question['data']['question_id']}/reply"
    assert session.post(path, {"answers": [["Done"]]}).status == 204
    session.until("turn.ended")
    assert said(session.conforms()) == ['{"action": "accept"}']


def test_a_sound_and_a_resource_are_kept(daemon: Daemon) -> None:
    session = talk(daemon)
    events = session.turn("sound")
    sound, held = items(events, "message", "assistant")
    (file,) = parts(sound, "file_ref")
    assert Path(file["path"]).read_bytes() == b"RIFF"
    assert parts(held, "text") == [{"type": "text", "text": "Held."}]
    session.conforms()


@pytest.mark.parametrize(
    ("words", "asked"), [("ask", "permission.requested"), ("form", "question.requested")]
)
def test_a_stop_answers_what_is_open_and_an_error_then_is_none(
    daemon: Daemon, words: str, asked: str
) -> None:
    session = talk(daemon)
    session.send(words)
    session.until(asked)
    session.interrupt()
    session.until("turn.ended")
    events = session.conforms()
    assert outcome(events) == "interrupted"
    assert of_type(events, "error") == []
    assert said(session.turn("Still there?")) == ["Still there?"]


def test_an_agent_is_logged_in_where_that_needs_no_person(daemon: Daemon) -> None:
    assert said(talk(daemon, "login").turn("Hello")) == ["Hello"]


def test_another_version_of_the_protocol_fails_the_turn(daemon: Daemon) -> None:
    events = talk(daemon, "two").turn("Hello")
    (error,) = of_type(events, "error")
    assert (error["code"], outcome(events)) == ("protocol_version", "failed")


def test_an_agent_that_never_answers_can_be_interrupted(daemon: Daemon) -> None:
    session = talk(daemon, "hang")
    session.send("Hello")
    session.interrupt()
    session.until("turn.ended")
    assert outcome(session.conforms()) == "interrupted"
