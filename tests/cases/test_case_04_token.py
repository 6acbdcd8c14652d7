"""Case 4: without a good token there is one answer, and guessing is slow; a good one never is."""

from __future__ import annotations

import select
import time
from contextlib import ExitStack
from pathlib import Path

from dragoman.http.auth.authenticator import FREE_FAILURES, MAX_DELAY_S
from tests.daemon import Daemon, running
from tests.http import Answer, connected, read_answer, request

from .wire import assert_refused, bearer, host, raw

WRONG = "Authorization: Bearer wrong"
OWN_HEADERS = ("x-request-id",)


def told(answer: Answer) -> tuple[object, ...]:
    headers = [each for each in answer.headers if each[0] not in OWN_HEADERS]
    return answer.status, headers, answer.body


def test_case_04_missing_wrong_and_revoked_tokens_get_the_same_answer(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        wanted = {"name": "gone", "scopes": ["read"]}
        gone = daemon.request("POST", "/tokens", wanted).json["token"]
        assert daemon.request("DELETE", "/tokens/gone").status == 204
        answers = [
            raw(daemon, "/v1/sessions", host(daemon), *lines)
            for lines in (
                (), (WRONG,), (f"Authorization: Bearer {gone}",), ("Authorization: Basic eDp5",),
                (f"Cookie: dragoman-{daemon.port}=wrong",),
            )
        ]  # fmt: skip
        assert_refused(answers[0], 401)
        assert len({repr(told(answer)) for answer in answers}) == 1


def test_case_04_guessing_is_slowed_and_the_good_token_never_waits(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        for _ in range(FREE_FAILURES + 10):
            with connected(daemon.port) as connection:
                connection.sendall(request("/v1/sessions", host(daemon), WRONG))
        with ExitStack() as stack:
            guessing = [stack.enter_context(connected(daemon.port)) for _ in range(20)]
            began = time.monotonic()
            for connection in guessing:
                connection.sendall(request("/v1/sessions", host(daemon), WRONG))
            assert raw(daemon, "/v1/sessions", host(daemon), bearer(daemon)).status == 200
            answered, _, _ = select.select(guessing, [], [], 0)
            for connection in guessing:
                assert_refused(read_answer(connection), 401)
        assert answered == []
        assert time.monotonic() - began >= MAX_DELAY_S


def test_case_04_guesses_hold_no_places(data_dir: Path) -> None:
    env = {"DRAGOMAN_MAX_CONNECTIONS": "8"}
    with running(data_dir, env=env) as daemon, ExitStack() as stack:
        for _ in range(60):
            guess = stack.enter_context(connected(daemon.port))
            guess.sendall(request("/v1/sessions", host(daemon), WRONG))
        assert raw(daemon, "/v1/sessions", host(daemon), bearer(daemon)).status == 200


def test_case_04_health_tells_of_life_and_nothing_else(daemon: Daemon) -> None:
    answer = raw(daemon, "/v1/health")
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')
