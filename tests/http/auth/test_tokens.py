from __future__ import annotations

import base64
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import StartRefused
from dragoman.http.auth.authenticator import (
    FREE_FAILURES,
    MAX_DELAY_S,
    Authenticator,
    Caller,
    Credential,
)
from dragoman.http.auth.tokens import is_exposed, load_token, token_path
from dragoman.settings import Settings, load
from tests.http import (
    BEARER,
    TOKEN,
    Answer,
    House,
    assert_refused,
    connected,
    read_answer,
    request,
    standing,
)


@pytest.fixture(scope="module")
def shared_house() -> Iterator[House]:
    with standing() as it:
        yield it


@pytest.fixture
def house(shared_house: House) -> House:
    shared_house.room.visits.clear()
    return shared_house


def settings(folder: Path, **given: Any) -> Settings:
    return Settings(data_dir=str(folder / "data"), **given)


def caller_of(authenticator: Authenticator, authorization: bytes | None) -> Caller | None:
    entry = authenticator.check(authorization)
    return None if entry is None else entry.caller


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_first_start_makes_a_token_that_only_we_can_read(tmp_path: Path) -> None:
    token = load_token(settings(tmp_path))
    assert token is not None
    assert len(token) == 43
    path = tmp_path / "data" / "token"
    assert path.read_text().strip() == token
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == 0o700
    assert os.listdir(path.parent) == ["token"]


def test_second_start_finds_the_same_token(tmp_path: Path) -> None:
    assert load_token(settings(tmp_path)) == load_token(settings(tmp_path))


def test_two_folders_have_two_tokens(tmp_path: Path) -> None:
    assert load_token(settings(tmp_path / "a")) != load_token(settings(tmp_path / "b"))


def test_starts_at_the_same_time_agree_on_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(load_token, [settings(tmp_path)] * 64))
    assert len(tokens) == 1
    assert os.listdir(tmp_path / "data") == ["token"]


def test_a_loose_umask_does_not_open_the_token(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        load_token(settings(tmp_path))
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "data" / "token") == 0o600
    assert mode_of(tmp_path / "data") == 0o700


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    load_token(settings(tmp_path))
    assert mode_of(tmp_path / "data") == 0o755


def test_a_given_token_wins_and_no_file_is_made(tmp_path: Path) -> None:
    assert load_token(settings(tmp_path, token="given", token_file="x")) == "given"
    assert not (tmp_path / "data").exists()


def test_a_token_file_is_read_or_made_where_it_is_set(tmp_path: Path) -> None:
    elsewhere = tmp_path / "secrets" / "mine"
    chosen = settings(tmp_path, token_file=str(elsewhere))
    assert token_path(chosen) == elsewhere
    assert load_token(chosen) == elsewhere.read_text().strip()
    elsewhere.write_text("  written-by-hand\r\n")
    assert load_token(chosen) == "written-by-hand"
    assert not (tmp_path / "data").exists()


def test_without_a_token_there_is_none(tmp_path: Path) -> None:
    assert load_token(settings(tmp_path, no_token=True)) is None
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("content", ["", "\n", "two words", "two\nlines"])
def test_a_file_that_holds_no_token_refuses_the_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(StartRefused, match=f"{path} must hold one token"):
        load_token(settings(tmp_path, token_file=str(path)))
    assert path.read_text() == content


@pytest.mark.parametrize("token", ["", " ", "two words"])
def test_a_flag_that_holds_no_token_refuses_the_start(tmp_path: Path, token: str) -> None:
    with pytest.raises(StartRefused, match="--token or DRAGOMAN_TOKEN must hold one token"):
        load_token(settings(tmp_path, token=token))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_token_open_to_others_is_repaired_aloud(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(mode)
    assert load_token(settings(tmp_path, token_file=str(path))) == "secret"
    assert mode_of(path) == 0o600
    assert "was open to other users" in caplog.text
    assert "secret" not in caplog.text


def test_a_token_in_a_file_is_exposed_and_one_that_is_given_is_not(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('token = "secret-in-a-file"')
    assert is_exposed(settings(tmp_path))
    assert is_exposed(settings(tmp_path, token_file=str(tmp_path / "token")))
    assert is_exposed(settings(tmp_path, token="secret-in-a-file", config=str(config)))
    assert not is_exposed(settings(tmp_path, token="given-otherwise", config=str(config)))


def test_a_token_that_whoever_started_us_shows_is_exposed() -> None:
    ask = (
        "from dragoman.http.auth.tokens import is_exposed; from dragoman.settings import Settings; "
        "print(is_exposed(Settings(token=sys.stdin.read())))"
    )
    # The shell stays above, with what it was given.
    argv = ["sh", "-c", f'env -u SHOWN "{sys.executable}" -c "import sys; {ask}"; true']
    for token, told in (("secret-of-the-shell", "True"), ("secret-of-nobody", "False")):
        env = {**os.environ, "SHOWN": "secret-of-the-shell"}
        done = subprocess.run(
            argv, input=token, env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == told
        assert ("shows it in its command line" in done.stderr) == (told == "True")
        assert token not in done.stderr


def test_a_token_that_cannot_be_closed_to_others_refuses_the_start(tmp_path: Path) -> None:
    # A file of the kernel is readable by all, and nobody can change that.
    with pytest.raises(StartRefused, match=r"open to other users .* chmod 600"):
        load_token(settings(tmp_path, token_file="/proc/self/comm"))


def test_a_token_file_that_cannot_be_read_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="cannot use the token file"):
        load_token(settings(tmp_path, token_file=str(tmp_path)))
    (tmp_path / "file").touch()
    with pytest.raises(StartRefused, match="cannot use the token file"):
        load_token(settings(tmp_path, token_file=str(tmp_path / "file" / "token")))


def test_bytes_that_are_no_text_are_no_token_of_anybody(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"\xff \xfe")
    path.chmod(0o600)
    with pytest.raises(StartRefused, match="must hold one token"):
        load_token(settings(tmp_path, token_file=str(path)))


def test_a_guard_without_a_token_knows_everybody_by_another_name() -> None:
    assert caller_of(Authenticator(None), None) == Caller(token="none")


def test_only_what_no_agent_can_read_is_a_secret() -> None:
    named = Credential(Caller("phone", ("approve",)), b"digest")
    for authenticator, own in (
        (Authenticator("t"), False),
        (Authenticator("t", is_exposed=False), True),
    ):
        entry = authenticator.check(b"Bearer t")
        assert entry is not None
        assert authenticator.has_secret(entry) is own
        assert authenticator.has_secret(Credential(entry.caller, entry.token, login=b"cookie"))
        assert authenticator.has_secret(named)
    nobody = Authenticator(None, is_exposed=False).check(None)
    assert nobody is not None
    assert not Authenticator(None, is_exposed=False).has_secret(nobody)


def test_a_guard_refuses_an_empty_token() -> None:
    with pytest.raises(StartRefused, match="empty token"):
        Authenticator("")


def test_a_token_beyond_ascii_is_compared_as_utf8() -> None:
    assert caller_of(Authenticator("žluť"), "Bearer žluť".encode()) == Caller()
    assert Authenticator("žluť").check("Bearer žlut".encode()) is None


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def test_failures_are_slowed_within_bounds() -> None:
    authenticator = Authenticator("good", clock=Clock())
    delays = []
    for header in [None, b"Bearer wrong"] * FREE_FAILURES * 2:
        authenticator.check(header)
        delays.append(authenticator.delay_s())
    assert delays[:FREE_FAILURES] == [0.0] * FREE_FAILURES
    assert delays[FREE_FAILURES] > 0
    assert delays == sorted(delays)
    assert delays[-1] == MAX_DELAY_S


def test_a_good_token_does_not_hide_the_guesses_around_it() -> None:
    authenticator = Authenticator("good", clock=Clock())
    for _ in range(FREE_FAILURES + 5):
        authenticator.check(b"Bearer wrong")
        assert caller_of(authenticator, b"Bearer good") == Caller()
    assert authenticator.delay_s() == pytest.approx(0.5)


def test_failures_are_forgotten_after_a_quiet_minute() -> None:
    clock = Clock()
    authenticator = Authenticator("good", clock=clock)
    for _ in range(100):
        authenticator.check(None)
    clock.now += 61
    authenticator.check(None)
    assert authenticator.delay_s() == 0


# --- Case 4: tokens ---

WRONG = [
    "Authorization: Bearer wrong",
    "Authorization: Bearer",
    "Authorization: Bearer ",
    "Authorization: ",
    f"Authorization: {TOKEN}",
    f"Authorization: Bearer{TOKEN}",
    f"Authorization: Bearer {TOKEN}x",
    f"Authorization: Bearer {TOKEN[:-1]}",
    f"Authorization: Bearer {TOKEN.upper()}",
    f"Authorization: Digest {TOKEN}",
    f"Authorization: Basic {TOKEN}",
    "Authorization: Basic " + base64.b64encode(TOKEN.encode()).decode(),
    "Authorization: Basic " + base64.b64encode(f"{TOKEN}:".encode()).decode(),
    f"Cookie: token={TOKEN}",
]


def test_case_04_missing_and_wrong_tokens_get_the_same_answer() -> None:
    with standing() as house:
        missing = house.ask("/v1/x", house.host)
        assert_refused(house, missing, 401)
        assert missing.problem["title"] == "Token Invalid"
        assert missing.header("www-authenticate") == "Bearer"
        for wrong in WRONG[: FREE_FAILURES - 1]:
            answer = house.ask("/v1/x", house.host, wrong)
            assert (answer.status, answer.body) == (401, missing.body), wrong
            assert _undated(answer) == _undated(missing)


@pytest.mark.parametrize("wrong", WRONG)
def test_case_04_wrong_token_is_refused(wrong: str) -> None:
    assert Authenticator(TOKEN).check(wrong.partition(": ")[2].encode()) is None


def test_case_04_two_tokens_are_refused() -> None:
    with standing() as house:
        assert_refused(house, house.ask("/v1/x", house.host, BEARER, BEARER), 401)


@pytest.mark.parametrize(
    "right",
    [
        f"Bearer {TOKEN}",
        f"bearer {TOKEN}",
        f"BEARER  {TOKEN}",
        f"Token {TOKEN}",
        f"token {TOKEN}",
        "Basic " + base64.b64encode(f"anybody:{TOKEN}".encode()).decode(),
        "basic " + base64.b64encode(f":{TOKEN}".encode()).decode(),
    ],
)
def test_case_04_good_token_comes_in(house: House, right: str) -> None:
    assert house.ask("/v1/x", house.host, f"Authorization: {right}").status == 200
    assert house.room.visits == [("GET", "/v1/x", Caller(token="default", scopes=("admin",)))]


def test_case_04_health_is_open_to_everybody(house: House) -> None:
    evil = ("Host: evil.com", "Origin: https://evil.com", "Sec-Fetch-Site: cross-site")
    assert house.ask("/v1/health", *evil).status == 200
    assert house.ask("/v1/health").status == 200
    for near in ("/v1/health/", "/v1/healthy", "/v1/health%2f..%2fsessions", "//v1/health"):
        assert house.ask(near, *evil).status == 403


def test_case_04_good_token_is_never_locked_out_nor_delayed() -> None:
    with standing() as house:
        for _ in range(FREE_FAILURES + 1000):
            house.authenticator.check(b"Bearer wrong", "127.0.0.1")
        assert house.authenticator.delay_s("127.0.0.1") == 1.0
        with connected(house.port) as guessing:
            guessing.sendall(request("/v1/x", house.host, "Authorization: Bearer wrong"))
            assert house.ask("/v1/x", house.host, BEARER).status == 200
            guessing.setblocking(False)
            with pytest.raises(BlockingIOError):
                guessing.recv(1)
            guessing.settimeout(10)
            assert read_answer(guessing).status == 401


# --- Case 6, and no token at all ---


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com"])
def test_case_06_no_token_beyond_loopback_is_refused(host: str) -> None:
    with pytest.raises(StartRefused, match="drop --no-token, or bind to 127"):
        load({"host": host, "no_token": True}, {"HOME": "/nowhere"})


def test_without_a_token_the_other_checks_stay() -> None:
    with standing(token=None) as house:
        assert house.ask("/v1/x", house.host).status == 200
        assert house.ask("/v1/x", "Host: evil.com").status == 403
        assert house.ask("/v1/x", house.host, "Origin: https://evil.com").status == 403


def _undated(answer: Answer) -> list[tuple[str, str]]:
    return [(name, value) for name, value in answer.headers if name != "date"]
