"""Codex's own commands, and what it does by itself: compaction, reviews, plans, goals, hooks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.codex.live.scripts import configured, plan, run, tool
from tests.agents.live import Bench, Environ, calls
from tests.agents.watch import asked, goes_on, labels, spoken, statuses
from tests.testing.story import items, of_type, outcome, said, text

REVIEW = {
    "findings": [],
    "overall_correctness": "patch is correct",
    "overall_explanation": "All is well.",
    "overall_confidence_score": 0.9,
}

SUMMARY = "Another language model started to solve this problem"
"""What Codex says to the model before a summary."""


def test_compact_is_a_status_in_a_turn_of_its_own(codex: Bench) -> None:
    live = codex.session("Hello.")
    live.turn("Hi")
    events = live.turn("/compact")
    (compacting,) = statuses(events, "compacting")
    assert compacting["status"] == "completed"
    assert spoken(events)[0] == ("user", "/compact")
    assert outcome(events) == "completed"
    goes_on(live)
    assert SUMMARY in asked(live, 2)
    assert "Hello." not in asked(live, 2)


def test_a_full_window_is_compacted_in_between(codex: Bench) -> None:
    environ = configured({"model_auto_compact_token_limit": 1000})
    live = codex.session(
        {"text": "A lot.", "usage": {"input": 5000, "output": 10}},
        "Little.",
        environ=environ,
    )
    live.turn("Read it all")
    events = live.turn("And now?")
    (compacting,) = statuses(events, "compacting")
    assert compacting["status"] == "completed"
    assert outcome(events) == "completed"
    assert spoken(events) == [("user", "And now?"), ("assistant", "Little.")]
    assert items(events, "system") == []
    assert SUMMARY in asked(live, 2)
    goes_on(live)


def test_review_looks_at_what_is_not_committed(codex: Bench) -> None:
    live = codex.session(json.dumps(REVIEW), "Here I am.")
    events = live.turn("/review")
    assert [text(item) for item in items(events, "message", "user")] == ["/review"]
    assert len(statuses(events, "review.entered")) == 1
    (over,) = statuses(events, "review.exited")
    assert "All is well." in over["content"][0]["detail"]
    assert outcome(events) == "completed"
    goes_on(live)


def test_a_review_does_what_the_session_may_do_by_now(codex: Bench) -> None:
    live = codex.session("Hello.", permissionMode="bypass")
    live.turn("Hi")
    live.patch(permissionMode="plan")
    live.model.script(calls(run("touch made.txt")), "All is well.")
    live.turn("/review everything")
    assert not (live.workspace / "made.txt").exists()
    live.conforms()


def test_review_takes_instructions(codex: Bench) -> None:
    live = codex.session(json.dumps(REVIEW))
    events = live.turn("/review only the tests")
    (begun,) = statuses(events, "review.entered")
    assert "only the tests" in begun["content"][0]["detail"]
    assert "only the tests" in asked(live, 1)
    assert outcome(events) == "completed"
    goes_on(live)


def test_a_command_that_nobody_knows_is_for_the_model(codex: Bench) -> None:
    live = codex.session("What do you mean?")
    assert said(live.turn("/nonsense")) == ["What do you mean?"]
    assert "/nonsense" in asked(live, 1)
    live.conforms()


def test_the_plan_is_shown_whenever_it_changes(codex: Bench) -> None:
    live = codex.session(
        calls(plan(("Look", "in_progress"), ("Write", "pending"))),
        calls(plan(("Look", "completed"), ("Write", "in_progress"))),
        "Planned.",
    )
    events = live.turn("Plan it")
    first, second = statuses(events, "plan")
    assert first["content"][0]["detail"] == "[>] Look\n[ ] Write"
    assert second["content"][0]["detail"] == "[x] Look\n[>] Write"
    assert second["content"][1]["json"]["plan"][0] == {"step": "Look", "status": "completed"}
    live.conforms()


def test_a_goal_is_shown(codex: Bench) -> None:
    live = codex.session(
        calls(tool("create_goal", objective="Win the game")),
        calls(tool("update_goal", status="complete")),
        "Won.",
    )
    events = live.turn("Win it")
    goals = [item for item in items(events, "status") if labels(item)[0].startswith("goal.")]
    assert [labels(item) for item in goals] == [["goal.active"], ["goal.complete"]]
    assert goals[0]["content"][0]["detail"] == "Win the game"
    assert outcome(events) == "completed"
    live.conforms()


NOTE = ("UserPromptSubmit", "user_prompt_submit", "echo noted",
        "71617fdd2d504a90a688b43fb5f885575f7c1f0d79941380d6f7e754638936b8")  # fmt: skip
REFUSE = ("PreToolUse", "pre_tool_use", "echo no >&2; exit 2",
          "83931d7b806a8dabef97e02a814eb828fda5e8783be80f112cb942ce2505f9a4")  # fmt: skip
AGAIN = ("Stop", "stop", "[ -e stopped ] || { touch stopped; echo 'Check again.' >&2; exit 2; }",
         "329c9ccc6b365782a19219af90ec3572b5963e7b8de629c6ca6577cc78788a53")  # fmt: skip
"""Hooks: the event, Codex's name of it, the command, and the hash under which it is trusted."""


def hooked(hook: tuple[str, str, str, str]) -> Environ:
    """A home with a hook that its user trusts."""
    event, name, command, digest = hook

    def environ(url: str, home: Path) -> dict[str, str]:
        file = home / ".codex" / "hooks.json"
        trust = f'hooks.state."{file}:{name}:0:0".trusted_hash'
        env = configured({trust: f"sha256:{digest}"})(url, home)
        listed = {event: [{"hooks": [{"type": "command", "command": command}]}]}
        file.write_text(json.dumps({"hooks": listed}))
        return env

    return environ


def test_a_hook_is_a_status_while_it_runs(codex: Bench) -> None:
    live = codex.session("Hello.", environ=hooked(NOTE))
    events = live.turn("Hi")
    (hook,) = statuses(events, "hook")
    assert (hook["status"], hook["content"][0]["detail"]) == (
        "completed", "userPromptSubmit completed"
    )  # fmt: skip
    assert hook["content"][1]["json"]["entries"] == [{"kind": "context", "text": "noted"}]
    assert spoken(events) == [("user", "Hi"), ("assistant", "Hello.")]
    live.conforms()


def test_a_hook_that_refuses_a_command_is_shown(codex: Bench) -> None:
    steps = (calls(run("touch never.txt")), "It was refused.")
    live = codex.session(*steps, environ=hooked(REFUSE), permissionMode="bypass")
    events = live.turn("Touch it")
    (hook,) = statuses(events, "hook")
    assert hook["status"] == "failed"
    assert "blocked" in hook["content"][0]["detail"]
    assert not (live.workspace / "never.txt").exists()
    assert outcome(events) == "completed"
    live.conforms()


def test_a_hook_that_does_not_let_the_model_stop_is_heard(codex: Bench) -> None:
    live = codex.session("Done.", "Really done.", environ=hooked(AGAIN))
    events = live.turn("Do it")
    assert said(events) == ["Done.", "Really done."]
    assert [text(item) for item in items(events, "system")] == ["Check again."]
    assert [hook["status"] for hook in statuses(events, "hook")] == ["failed", "completed"]
    assert outcome(events) == "completed"
    live.conforms()


def test_a_model_that_codex_does_not_know_is_warned_of(codex: Bench) -> None:
    live = codex.session("Hello.", model="gpt-0")
    live.turn("Hi")
    warnings = statuses(live.conforms(), "warning")
    assert any("gpt-0" in item["content"][0]["detail"] for item in warnings)
    assert of_type(live.events(), "error") == []
