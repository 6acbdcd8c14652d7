"""Webhooks, from the command line."""

from __future__ import annotations

import json

from dragoman.cli.hooks import trouble
from dragoman.schema.webhooks import WebhookInfo
from tests.cli.conftest import Beside
from tests.daemon import Daemon
from tests.runtime.webhooks.receiver import receiving


def test_a_webhook_is_added_shown_switched_tested_and_removed(beside: Beside, real: Daemon) -> None:
    with receiving() as receiver:
        assert beside.run("hooks").stdout == "no webhooks\n"
        words = ("--type", "turn.ended", "--type", "permission.*")
        added = beside.run("hooks", "add", receiver.url, *words)
        secret = added.stdout.strip()
        assert secret.startswith("whsec_")
        assert added.stdout == f"{secret}\n"
        hook = added.stderr.split()[-1]
        assert f"dragoman hooks test {hook}" in added.stderr
        listed = beside.run("hooks", "list").stdout.splitlines()
        assert listed[0].split() == ["ID", "STATE", "PENDING", "DELIVERED", "TYPES", "URL"]
        row = [hook, "delivering", "0", "never", "turn.ended,permission.*", receiver.url]
        assert listed[1].split() == row
        assert "answered 204 after" in beside.run("hooks", "test", hook).stdout
        assert beside.run("hooks", "disable", hook).stdout == f"{hook} is disabled; 0 wait.\n"
        real.create("s")
        real.turn("s", "echo hi")
        assert " disabled  1 " in beside.run("hooks").stdout
        assert beside.run("hooks", "enable", hook).stdout.startswith(f"{hook} is enabled")
        receiver.wait_for(2)
        receiver.kill()
        refused = beside.run("hooks", "test", hook, code=1)
        assert "Not delivered: the receiver cannot be reached" in refused.stderr
        assert beside.run("hooks", "remove", hook).stdout == f"{hook} is removed.\n"
        assert "there is no webhook" in beside.run("hooks", "remove", hook, code=4).stderr


def test_webhooks_as_json(beside: Beside) -> None:
    with receiving() as receiver:
        added = json.loads(beside.run("hooks", "add", receiver.url, "--json").stdout)
        secret = added.pop("secret")
        assert secret.startswith("whsec_")
        hook = added["id"]
        assert json.loads(beside.run("hooks", "--json").stdout) == {"webhooks": [added]}
        switched = json.loads(beside.run("hooks", "disable", hook, "--json").stdout)
        assert switched == {**added, "enabled": False}
        receiver.answers = [500]
        sent = json.loads(beside.run("hooks", "test", hook, "--json", code=1).stdout)
        assert (sent["delivered"], sent["status"]) == (False, 500)
        gone = json.loads(beside.run("hooks", "remove", hook, "--json").stdout)
        assert gone == {"id": hook, "removed": True}


def test_what_is_wrong_is_told_with_what_would_be_right(beside: Beside) -> None:
    assert "must begin with https://" in beside.run("hooks", "add", "there", code=4).stderr
    words = ("hooks", "add", "http://127.0.0.1", "--type", "turn.begun")
    assert "known: session.started" in beside.run(*words, code=4).stderr


def test_one_that_fails_tells_why_and_when_it_is_tried_again() -> None:
    hook = WebhookInfo(
        id="hook_1", url="http://127.0.0.1", types=(), enabled=True, created_at=0, position=1,
        pending=7, more_pending=True, failing_since=1_000_000, attempts=9,
        next_attempt_at=1_420_000, last_error="the receiver answered 500\x1b[31m",
    )  # fmt: skip
    assert trouble(hook, 1_300_000) == (
        "hook_1: the receiver answered 500; for 5m, tried 9 times, again in 2m"
    )
