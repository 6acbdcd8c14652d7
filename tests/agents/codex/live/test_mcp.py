"""MCP servers that are given with a session: their tools, and what they ask."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.agents.claude.live.test_mcp import remote
from tests.agents.codex.live import mcp_server
from tests.agents.codex.live.heard import told
from tests.agents.codex.live.scripts import mcp
from tests.agents.codex.live.watch import servers
from tests.agents.live import Bench, Live, calls
from tests.agents.results import called, output, result, results, statuses
from tests.agents.watch import kill
from tests.cases.common import eventually
from tests.testing.story import Event, items, of_type, parts, said

ROOT = str(Path(mcp_server.__file__).parents[4])


def tiny(**more: Any) -> dict[str, Any]:
    """A server that comes up."""
    env = {"PYTHONPATH": ROOT, **more.pop("env", {})}
    command = [sys.executable, "-m", mcp_server.__name__]
    return {"type": "stdio", "command": command, "env": env, **more}


def session(codex: Bench, *steps: Any, **create: Any) -> Live:
    """A session with the server."""
    return codex.session(*steps, mcp={"tiny": tiny()}, **create)


def ask(live: Live, name: str) -> Event:
    """Have one of its tools called that asks a person; the question."""
    live.model.script(calls(mcp("tiny", name)), "Done.")
    live.send("Ask me")
    live.reply(live.until("permission.requested"), "once")
    return live.until("question.requested")


def heard(live: Live) -> Any:
    """What the server was answered."""
    live.until("turn.ended")
    return json.loads(output(results(live.conforms())[-1]))


# --- Tools ---


def test_a_tool_of_an_mcp_server_is_called(codex: Bench) -> None:
    live = session(codex, calls(mcp("tiny", "echo", text="grün 🐉")), "Done.",
                   permissionMode="bypass")  # fmt: skip
    events = live.turn("Echo it")
    (call,) = called(events, "mcp__tiny__echo")
    assert call["server"] == "tiny"
    assert json.loads(parts(call, "tool_call")[0]["arguments"]) == {"text": "grün 🐉"}
    given = result(events, call)
    assert (given["status"], output(given)) == ("completed", "echo: grün 🐉")
    assert ("mcp.ready", "tiny") in statuses(live.conforms())
    assert "grün 🐉" in told(live)
    assert list(live.workspace.iterdir()) == []


def test_a_tool_of_an_mcp_server_fails(codex: Bench) -> None:
    live = session(codex, calls(mcp("tiny", "fail")), "So.", permissionMode="bypass")
    (given,) = results(live.turn("Fail"))
    assert (given["status"], output(given)) == ("failed", "it failed")
    live.conforms()


def test_a_tool_of_an_mcp_server_gives_more_than_text(codex: Bench) -> None:
    names = ("paint", "facts", "link", "slow")
    live = session(codex, *(calls(mcp("tiny", name)) for name in names), "Done.",
                   permissionMode="bypass")  # fmt: skip
    picture, facts, link, slow = results(live.turn("Call them"))
    (image,) = parts(picture, "image")
    assert (output(picture), image["mime"]) == ("a pixel", "image/png")
    assert Path(image["path"]).read_bytes().startswith(b"\x89PNG")
    assert output(facts) == "two facts"
    assert parts(facts, "json")[0]["json"] == {"a": 1, "b": [True, None]}
    assert parts(link, "json")[0]["json"]["uri"] == "file:///a.txt"
    assert output(slow) == "done"
    live.conforms()


def test_bytes_that_an_mcp_server_gives_are_a_file(codex: Bench) -> None:
    live = session(codex, calls(mcp("tiny", "bytes")), "Done.", permissionMode="bypass")
    (given,) = results(live.turn("Call it"))
    (file,) = parts(given, "file_ref")
    (about,) = parts(given, "json")
    assert file["action"] == "read"
    served = live.daemon.request("GET", f"{live.path}/files/{Path(file['path']).name}")
    assert served.body == b"PK\x03\x04 \xff"
    assert about["json"]["resource"] == {"uri": "file:///a.zip", "mimeType": "application/zip"}
    live.conforms()


def test_a_tool_of_an_mcp_server_is_asked_for(codex: Bench) -> None:
    echo = calls(mcp("tiny", "echo", text="one"))
    live = session(codex, echo, echo, echo, calls(mcp("tiny", "fail")), "Done.")
    live.send("Echo it")
    asked = live.until("permission.requested")
    about = asked["data"]["metadata"]
    assert asked["data"]["action"] == about["rule"] == "mcp__tiny__echo"
    assert (about["input"], about["permission"]) == ({"text": "one"}, "mcp_tool_call")
    assert about["description"] == "Repeats a text"
    (call,) = called(live.events(), "mcp__tiny__echo")
    assert about["item_id"] == call["item_id"]
    live.reply(asked, "once")
    live.reply(live.until("permission.requested"), "always")
    refused = live.until("permission.requested")
    assert refused["data"]["action"] == "mcp__tiny__fail"
    live.reply(refused, "reject")
    live.until("turn.ended")
    events = live.conforms()
    *echoed, failed = results(events)
    assert [output(given) for given in echoed] == ["echo: one"] * 3
    assert (failed["status"], failed["reason"]) == ("failed", "declined")
    assert len(of_type(events, "permission.requested")) == 3
    assert said(events) == ["Done."]


def test_always_still_holds_for_the_next_server(codex: Bench) -> None:
    echo = calls(mcp("tiny", "echo", text="one"))
    live = session(codex, echo, "Done.", echo, "Again.")
    live.send("Echo it")
    live.reply(live.until("permission.requested"), "always")
    live.until("turn.ended")
    kill(live)
    events = live.turn("Echo it again")
    (resolved,) = of_type(events, "permission.resolved")
    assert resolved["approver"]["rule"] == "always:mcp__tiny__echo"
    assert [output(given) for given in results(events)] == ["echo: one"]
    live.conforms()


# --- Servers ---


def test_a_server_that_does_not_start_is_told(codex: Bench) -> None:
    broken = {"type": "stdio", "command": [sys.executable, "-c", "raise SystemExit(3)"]}
    live = codex.session("Without it, then.", mcp={"broken": broken, "tiny": tiny()})
    live.turn("Hello")
    events = live.conforms()
    (failed,) = [item for item in items(events, "status") if item["status"] == "failed"]
    (part,) = parts(failed, "status")
    assert part["label"] == "mcp.failed"
    assert part["detail"].startswith("broken: MCP client for `broken` failed to start")
    assert said(events) == ["Without it, then."]
    assert ("mcp.ready", "tiny") in statuses(events)


def test_a_server_that_is_slower_than_the_turn_is_told_when_it_is_up(codex: Bench) -> None:
    quick = tiny()
    wait = 'while [ ! -e go ]; do sleep .05; done; exec "$@"'
    slow = {**quick, "command": ["sh", "-c", wait, "sh", *quick["command"]]}
    live = codex.session("Without it, then.", mcp={"slow": slow})
    live.turn("Hello")
    told = [label for label, _ in statuses(live.conforms())]
    assert [label for label in told if label.startswith("mcp")] == ["mcp.starting"]
    (live.workspace / "go").touch()
    eventually(lambda: ("mcp.ready", "slow") in statuses(live.events()), "it is up")
    live.conforms()


def test_a_server_that_is_switched_off_is_not_started(codex: Bench) -> None:
    live = codex.session("Hello.", mcp={"off": tiny(enabled=False)})
    live.turn("Hello")
    assert "off" not in [detail for _, detail in statuses(live.conforms())]


def test_a_servers_secret_is_on_no_command_line(codex: Bench) -> None:
    secret = "s3cr3t-$HOME-${PATH}"
    live = codex.session(
        calls(mcp("tiny", "secret")),
        {"text": ["I know", " how long it is."], "gate": "look"},
        mcp={"tiny": tiny(env={"TINY_SECRET": secret})},
        permissionMode="bypass",
    )
    live.send("How long?")
    live.model.wait_for_request(2)
    assert servers(live)
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert any(mcp_server.__name__.encode() in line for line in lines)
    assert not any(b"s3cr3t" in line for line in lines)
    live.model.open("look")
    live.until("turn.ended")
    (given,) = results(live.conforms())
    assert output(given) == f"length {len(secret)}"
    assert secret not in str(live.events(raw=True))


def test_a_server_at_an_address_is_called_with_its_headers(codex: Bench) -> None:
    with remote() as (url, shown):
        far = {
            "type": "remote",
            "url": url,
            "headers": {"X-Tiny": "s3cr3t two"},
            "bearerTokenEnvVar": "FAR_TOKEN",
        }
        live = codex.session(
            calls(mcp("far", "echo", text="hi")), "Done.",
            mcp={"far": far}, env={"FAR_TOKEN": "s3cr3t-three"}, permissionMode="bypass",
        )  # fmt: skip
        (given,) = results(live.turn("Echo it"))
        assert output(given) == "echo: hi"
        assert shown == {"/mcp?key=s3cr3t Bearer s3cr3t-three s3cr3t two"}
        live.conforms()
        live.terminate()


# --- What servers ask ---


def test_a_form_is_asked_for_field_by_field(codex: Bench) -> None:
    live = session(codex)
    asked = ask(live, "form")
    fields = {each["question_id"]: each for each in asked["data"]["questions"]}
    assert asked["data"]["metadata"]["server"] == "tiny"
    assert asked["data"]["metadata"]["required"] == ["name"]
    assert {each["header"] for each in fields.values()} == {"Who are you?"}
    assert fields["name"]["prompt"] == "Name: Yours"
    assert [option["label"] for option in fields["member"]["options"]] == ["Yes", "No"]
    assert [option["label"] for option in fields["colour"]["options"]] == ["Red", "Blue"]
    assert fields["sizes"]["multi_select"]
    assert (fields["age"]["allow_other"], fields["colour"]["allow_other"]) == (True, False)
    given = {
        "name": ["Ann 🐉"], "age": ["42"], "weight": ["1.5"], "member": ["No"],
        "colour": ["Blue"], "sizes": ["S", "L"], "note": [],
    }  # fmt: skip
    live.answer(asked, *(given[name] for name in fields))
    assert heard(live) == {
        "action": "accept",
        "content": {
            "name": "Ann 🐉", "age": 42, "weight": 1.5, "member": False, "colour": "blue",
            "sizes": ["S", "L"],
        },
    }  # fmt: skip


def test_a_form_is_not_filled_in(codex: Bench) -> None:
    live = session(codex)
    asked = ask(live, "form")
    assert live.post(f"/questions/{asked['data']['question_id']}/reject").status == 204
    assert heard(live) == {"action": "decline"}


def test_a_form_without_fields_asks_for_consent(codex: Bench) -> None:
    live = session(codex)
    asked = ask(live, "consent")
    assert (asked["data"]["prompt"], asked["data"]["options"]) == ("Shall I?", ["Yes", "No"])
    live.answer(asked, ["Yes"])
    assert heard(live) == {"action": "accept", "content": {}}
    live.answer(ask(live, "consent"), ["No"])
    assert heard(live) == {"action": "decline"}


def test_a_page_is_to_be_visited(codex: Bench) -> None:
    live = session(codex)
    asked = ask(live, "visit")
    assert asked["data"]["metadata"]["url"] == "https://example.com/sign-in"
    assert "https://example.com/sign-in" in asked["data"]["prompt"]
    live.answer(asked, ["Done"])
    assert heard(live)["action"] == "accept"
    live.answer(ask(live, "visit"), ["Decline"])
    assert heard(live) == {"action": "decline"}


def test_codex_itself_declines_where_nothing_may_be_asked(codex: Bench) -> None:
    live = session(codex, calls(mcp("tiny", "form")), "Done.", permissionMode="bypass")
    live.send("Ask me")
    assert heard(live) == {"action": "decline"}
    assert not of_type(live.events(), "question.requested")
