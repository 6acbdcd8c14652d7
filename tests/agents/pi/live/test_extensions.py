"""What a user's own extensions ask and show."""

from __future__ import annotations

from tests.agents.live import Bench, Live, calls
from tests.agents.pi.live.extensions import guarded
from tests.agents.pi.live.scripts import bash
from tests.agents.results import results, statuses
from tests.agents.watch import asked, ended, heard
from tests.cases.common import eventually
from tests.testing.story import Event, items, of_type, outcome, said, text


def session(pi: Bench, *commands: str, **create: object) -> Live:
    """A session whose model runs these commands, with an extension that watches them."""
    steps = [calls(bash(command)) for command in commands]
    given = {"permissionMode": "bypass", **create}
    return pi.session(*steps, "Done.", environ=guarded, **given)


def test_a_confirmation_is_a_permission(pi: Bench) -> None:
    live = session(pi, "echo danger one", "echo danger two", permissionMode="default")
    live.send("Go")
    for reply in ("once", "reject"):
        request = live.until("permission.requested")
        if request["data"]["action"] == "bash":  # ours is asked, too
            live.reply(request, "once")
            request = live.until("permission.requested")
        assert request["data"]["action"] == "Run it?"
        assert "danger" in request["data"]["metadata"]["message"]
        live.reply(request, reply)
    live.until("turn.ended")
    events = live.conforms()
    assert [each["status"] for each in results(events)] == ["completed", "failed"]
    assert "The guard says no." in asked(live, 3)


def test_bypass_says_yes_to_a_confirmation(pi: Bench) -> None:
    live = session(pi, "echo danger")
    events = live.turn("Go")
    (resolved,) = of_type(events, "permission.resolved")
    assert resolved["approver"]["rule"] == "mode:bypass"
    assert [each["status"] for each in results(events)] == ["completed"]
    live.conforms()


def test_a_choice_is_a_question(pi: Bench) -> None:
    live = session(pi, "echo choose")
    live.send("Go")
    request = live.until("question.requested")
    assert (request["data"]["prompt"], request["data"]["options"]) == (
        "Which way?", ["Left", "Right"],
    )  # fmt: skip
    live.answer(request, ["Right"])
    live.until("turn.ended")
    assert ("pi.extension.notice", "going Right") in statuses(live.conforms())


def test_a_choice_that_is_not_made(pi: Bench) -> None:
    live = session(pi, "echo choose")
    live.send("Go")
    request = live.until("question.requested")
    assert live.post(f"/questions/{request['data']['question_id']}/reject").status == 204
    live.until("turn.ended")
    assert ("pi.extension.notice", "going nowhere") in statuses(live.conforms())


def test_a_question_with_a_time_out_is_not_waited_for(pi: Bench) -> None:
    live = session(pi, "echo hurry")
    events = live.turn("Go")
    (requested,) = of_type(events, "question.requested")
    assert requested["metadata"]["timeout_s"] == 0.3
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["metadata"]["reason"]) == ("rejected", "deadline")
    assert ("pi.extension.notice", "it was missed") in statuses(events)
    assert (said(events), outcome(events)) == (["Done."], "completed")
    live.conforms()


def test_what_is_answered_after_its_time_out_is_too_late(pi: Bench) -> None:
    live = session(pi, permissionMode="default")
    live.send("/hurry")
    editor = heard(live, lambda event: event["data"].get("prompt") == "Edit this")

    def requests(end: str) -> list[Event]:
        types = (f"permission.{end}", f"question.{end}")
        return [event for event in live.events() if event["type"] in types]

    eventually(lambda: len(requests("resolved")) == 2, "both time-outs are told")
    requested, resolved = requests("requested"), requests("resolved")
    assert [each["data"]["metadata"].get("timeout_s") for each in requested] == [0.2, 0.2, None]
    assert [each["data"]["metadata"]["reason"] for each in resolved] == ["deadline", "deadline"]
    confirm, name = (event["data"] for event in requested[:2])
    late = (
        (f"/permissions/{confirm['permission_id']}/reply", {"reply": "once"}),
        (f"/questions/{name['question_id']}/reply", {"answers": [["Rumpel"]]}),
    )
    assert [live.post(*each).status for each in late] == [409, 409]
    live.answer(editor, ["second"])
    heard(live, ended())
    assert ("pi.extension.notice", "got false, undefined, second") in statuses(live.conforms())
    assert live.post("/terminate").status == 204
    assert [live.post(*each).status for each in late] == [410, 410]


def test_an_extension_that_fails_stops_its_tool(pi: Bench) -> None:
    live = session(pi, "echo boom")
    events = live.turn("Go")
    (result,) = results(events)
    assert result["status"] == "failed"
    assert "the guard exploded" in asked(live, 2)
    live.conforms()


def test_an_extension_that_fails_elsewhere_is_shown(pi: Bench) -> None:
    live = session(pi, env={"GUARD_FAILS": "1"})
    events = live.turn("Go")
    labels = dict(statuses(events))
    assert "the guard fell over" in str(labels["pi.extension.error"])
    assert (said(events), outcome(events)) == (["Done."], "completed")
    live.conforms()


def test_a_command_of_an_extension_is_a_turn_without_the_model(pi: Bench) -> None:
    live = session(pi)
    live.send("/name")
    request = live.until("question.requested")
    assert request["data"]["prompt"] == "What is your name?"
    assert request["data"]["metadata"]["placeholder"] == "type it"
    live.answer(request, ["Rumpel"])
    heard(live, ended())
    events = live.conforms()
    assert [text(item) for item in items(events, "message", "user")] == ["/name"]
    assert ("pi.extension.status", "hello Rumpel") in statuses(events)
    assert live.model.mains == []
    assert said(live.turn("And now?")) == ["Done."]


def test_an_editor_is_a_question_with_a_text_to_change(pi: Bench) -> None:
    live = session(pi)
    live.send("/edit")
    request = live.until("question.requested")
    assert request["data"]["metadata"]["prefill"] == "first\nsecond"
    live.answer(request, ["first\nthird"])
    heard(live, ended())
    assert ("pi.extension.notice", "got first\nthird") in statuses(live.conforms())


def test_what_an_extension_says_is_a_system_item(pi: Bench) -> None:
    live = session(pi)
    live.turn("/say hello")
    live.turn("Go on")
    events = live.conforms()
    assert "the guard says hello" in [text(item) for item in items(events, "system")]
    assert "the guard says hello" in asked(live, 1)


def test_what_an_extension_shows_is_told(pi: Bench) -> None:
    live = session(pi)
    live.turn("/show")
    shown = dict(statuses(live.conforms()))
    assert shown["pi.extension.widget"] == "one\ntwo"
    assert shown["pi.extension.title"] == "pi - guarded"
    assert shown["pi.extension.editor_text"] == "write here"
    assert shown["pi.extension.notice"] == "it failed"
    assert live.model.mains == []
