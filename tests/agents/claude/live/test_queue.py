"""A message that Claude Code holds until its tool is done."""

from __future__ import annotations

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import asked, done, ended, heard, spoken

WAIT = "python3 -c \"import pathlib,time\nwhile not pathlib.Path('go').exists(): time.sleep(.01)\""


def test_a_message_that_claude_holds_cannot_be_taken_back(claude: Bench) -> None:
    live = claude.session(calls(bash(WAIT)), "Both done.", permissionMode="bypass")
    live.send("Wait for it")
    heard(live, done("tool_call"))
    message_id = live.send("And be quick", delivery="steer")
    (waiting,) = live.until("queue.updated")["data"]["messages"]
    assert waiting["message"] == "And be quick"
    assert live.daemon.request("DELETE", f"{live.path}/pending/{message_id}").status == 409
    (live.workspace / "go").touch()
    heard(live, ended())
    assert spoken(live.conforms()) == [
        ("user", "Wait for it"), ("user", "And be quick"), ("assistant", "Both done."),
    ]  # fmt: skip
    assert "And be quick" in asked(live, 2)
