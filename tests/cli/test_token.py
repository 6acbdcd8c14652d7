"""Tokens and the page, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.durations import ago, seconds
from tests.cases.wire import login
from tests.cli.conftest import Beside
from tests.daemon import Daemon, running


def test_a_token_is_shown_once_and_works(beside: Beside, real: Daemon) -> None:
    done = beside.run("token", "create", "--name", "ci", "--scope", "read", "--expires", "30d")
    token = done.stdout.strip()
    assert done.stdout == f"{token}\n"
    assert "not shown again" in done.stderr
    listed = beside.run("token", "list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["NAME", "ci"]
    assert "in 4w" in listed
    assert token not in listed
    beside.environ["DRAGOMAN_TOKEN"] = token
    assert beside.run("ls").stdout is not None
    refused = beside.run("send", "new", "--agent", "mock", "hi", code=4)
    assert "needs the scope 'write'" in refused.stderr
    del beside.environ["DRAGOMAN_TOKEN"]
    assert beside.run("token", "revoke", "ci").stdout == "ci is revoked.\n"
    beside.environ["DRAGOMAN_TOKEN"] = token
    assert "does not take this token" in beside.run("ls", code=4).stderr


def test_tokens_as_json(beside: Beside) -> None:
    words = ("--name", "both", "--scope", "write", "--scope", "approve", "--json")
    made = json.loads(beside.run("token", "create", *words).stdout)
    assert made["scopes"] == ["approve", "write"]
    (listed,) = json.loads(beside.run("token", "list", "--json").stdout)["tokens"]
    assert listed == {key: value for key, value in made.items() if key != "token"}
    gone = json.loads(beside.run("token", "revoke", "both", "--json").stdout)
    assert gone == {"name": "both", "revoked": True}
    assert beside.run("token", "list").stdout == "no tokens but the daemon's own\n"
    assert "there is no token 'both'" in beside.run("token", "revoke", "both", code=4).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--name", "x", "--scope", "all"), "known: read, write, approve, admin"),
        (("--name", "x", "--scope", "read", "--expires", "soon"), "right is e.g. 90m"),
        (("--scope", "read"), "--name"),
    ],
)
def test_what_makes_no_sense_is_usage(beside: Beside, words: tuple[str, ...], told: str) -> None:
    assert told in beside.run("token", "create", *words, code=2).stderr


def test_the_page_is_printed_with_a_ticket_that_works(beside: Beside, real: Daemon) -> None:
    address = beside.run("ui", "--print").stdout.strip()
    base, _, ticket = address.partition("?ticket=")
    assert base == f"http://127.0.0.1:{real.port}/ui/"
    assert login(real, ticket).status == 204
    again = json.loads(beside.run("ui", "--json").stdout)
    assert again["url"].startswith(f"{base}?ticket=")
    assert again["expiresInS"] == 60


def test_a_browser_is_opened_where_there_is_one(beside: Beside, real: Daemon) -> None:
    opened = beside.home / "opened"
    browser = beside.home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    beside.environ["BROWSER"] = f"{browser} %s"
    assert "opens in your browser" in beside.run("ui").stdout
    assert opened.read_text().startswith(f"http://127.0.0.1:{real.port}/ui/?ticket=")


def test_spans_are_as_people_write_them() -> None:
    assert [seconds(text, "") for text in ("90s", "5m", "12h", "30d", "8w")] == [
        90, 300, 43_200, 2_592_000, 4_838_400,
    ]  # fmt: skip
    times = (5_000, 180_000, 7_200_000, 172_800_000)
    assert [ago(0, now_ms) for now_ms in times] == ["5s", "3m", "2h", "2d"]


def test_the_token_is_found_in_the_file_that_the_daemon_was_told(tmp_path: Path) -> None:
    file = tmp_path / "its-token"
    file.write_text("tok3n\n")
    with running(tmp_path / "data", "--token-file", str(file)) as daemon:
        assert "no sessions" in Beside(tmp_path, daemon).run("ls").stdout
        assert "tok3n" not in (daemon.data_dir / "daemon.json").read_text()


@pytest.mark.parametrize(
    ("flags", "env"), [(("--token", "tok3n"), {}), ((), {"DRAGOMAN_TOKEN": "tok3n"})]
)
def test_where_the_daemon_was_given_its_token_a_person_is_told_to_give_it_too(
    tmp_path: Path, flags: tuple[str, ...], env: dict[str, str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("an-older-one")
    with running(tmp_path / "data", *flags, env=env) as daemon:
        beside = Beside(tmp_path, daemon)
        told = beside.run("ls", code=4).stderr
        assert "wants a token" in told
        assert "set DRAGOMAN_TOKEN" in told
        assert "--token or DRAGOMAN_TOKEN" in told
        assert "tok3n" not in (daemon.data_dir / "daemon.json").read_text()
        beside.environ["DRAGOMAN_TOKEN"] = "tok3n"
        beside.run("ls")
