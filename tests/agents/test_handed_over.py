"""The daemon dies after an agent was given a message, and before it could hear that it has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.testing.model import StepLike
from tests.agents.claude.live.agent import CLAUDE
from tests.agents.codex.live.agent import CODEX
from tests.agents.grok.live.agent import GROK
from tests.agents.handed_over import hits, survive, walled
from tests.agents.live import Block, LiveAgent, calls, capabilities_of, scripted
from tests.agents.pi.live.agent import PI
from tests.agents.watch import asked, done, ended, heard, outcomes
from tests.cases.common import eventually
from tests.testing.story import items, said, text

pytestmark = pytest.mark.parametrize(
    "agent", [CLAUDE, CODEX, GROK, PI], ids=lambda agent: agent.adapter.id
)


def once(agent: LiveAgent) -> Block:
    """What must not be done twice."""
    return calls(agent.shell("echo once >> hits.txt"))


@pytest.mark.parametrize("earlier", [["Hi"], []], ids=["later", "first"])
def test_a_message_that_an_agent_has_is_not_delivered_again(
    agent: LiveAgent, tmp_path: Path, earlier: list[str]
) -> None:
    if not earlier and agent is CLAUDE:
        # Whether it has kept the conversation cannot be asked: to begin it again and to resume it
        # are two flags, and the wrong one ends the process.
        pytest.skip("Claude Code does not begin a conversation that it has begun")
    if not earlier and not agent.keeps_unanswered:
        pytest.skip("this version stores nothing until its first answer")
    steps: list[StepLike] = [*("Hello." for _ in earlier), once(agent), "Done."]
    with scripted(agent, steps) as model, walled(agent, tmp_path, model) as (live, flag):
        for words in earlier:
            live.turn(words)
        flag.touch()
        live.send("Do it once")
        eventually(lambda: len(model.mains) == len(steps), "the model has done it")
        survive(live, flag)
        heard(live, ended("interrupted"))
        assert outcomes(live.events()) == [*("completed" for _ in earlier), "interrupted"]
        assert text(items(live.events(), "message", "user")[-1]) == "Do it once"
        model.script("I did.")
        assert said(live.turn("Did you?")) == ["I did."]
        assert hits(live) == 1
        assert asked(live, len(steps) + 1).count("Do it once") == 1
        live.conforms()


def test_a_message_that_has_joined_a_turn_is_not_delivered_again(
    agent: LiveAgent, tmp_path: Path
) -> None:
    if agent is CLAUDE:
        # It keeps one that joined as an attachment, `source_uuid` in a `queued_command`, and looks
        # for the id of a message only among its own messages (2.1.325).
        pytest.skip("Claude Code answers a message that joined again")
    if "steer" not in capabilities_of(agent.adapter).shown:
        pytest.skip("no message joins a turn of this version")
    wait = agent.shell("while [ ! -e go ]; do sleep .01; done")
    steps = (calls(wait), once(agent), "Done.")
    with scripted(agent, steps) as model, walled(agent, tmp_path, model) as (live, flag):
        live.send("Wait")
        heard(live, done("tool_call"))
        flag.touch()
        live.send("Do it once", delivery="steer")
        # Later it would cut what the model says next.
        eventually(lambda: flag.read_text() == "passed", "it is on its way into the turn")
        (live.workspace / "go").touch()
        eventually(lambda: len(model.mains) == len(steps), "the model has done it")
        survive(live, flag)
        heard(live, done("status"))
        model.script("I did.")
        assert said(live.turn("Did you?")) == ["I did."]
        assert outcomes(live.events()) == ["interrupted", "interrupted", "completed"]
        assert hits(live) == 1
        assert asked(live, len(steps) + 1).count("Do it once") == 1
        live.conforms()


def test_a_first_message_that_no_agent_heard_is_delivered_after_a_restart(
    agent: LiveAgent, tmp_path: Path
) -> None:
    steps = (once(agent), "Done.")
    with scripted(agent, steps) as model, walled(agent, tmp_path, model) as (live, flag):
        flag.write_text("lose")
        live.send("Do it once")
        eventually(lambda: flag.read_text() == "lost", "it is on its way, and does not arrive")
        survive(live, flag)
        heard(live, ended())
        assert hits(live) == 1
        assert outcomes(live.events()) == ["completed"]
        live.conforms()
