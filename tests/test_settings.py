"""Flags over variables over the file, and a refusal that says what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import StartRefused
from dragoman.settings import child_environ, default_config, default_data_dir, load


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home."""
    return {"HOME": str(tmp_path)}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A settings file."""
    path = tmp_path / "settings.toml"
    path.write_text(
        'port = 1001\nhost = "localhost"\nlog_level = "error"\nallow_host = ["file"]\n'
        '[agents.one]\ncommand = "file-one"\n[agents.two]\ncommand = "file-two"\n'
    )
    return path


def test_the_defaults_are_loopback_with_a_token(home: dict[str, str]) -> None:
    settings = load({}, home)
    assert (settings.host, settings.port) == ("127.0.0.1", 2468)
    assert not settings.no_token
    assert settings.data_dir == str(default_data_dir(home))


def test_flags_win_over_variables_and_those_over_the_file(
    home: dict[str, str], config: Path
) -> None:
    environ = {**home, "DRAGOMAN_PORT": "1002", "DRAGOMAN_HOST": "127.0.0.1"}
    settings = load({"port": 1003, "host": None}, environ, str(config))
    assert settings.port == 1003
    assert settings.host == "127.0.0.1"
    assert settings.log_level == "error"


def test_the_file_can_be_named_by_a_variable_or_lie_where_it_belongs(
    home: dict[str, str], config: Path
) -> None:
    assert load({}, {**home, "DRAGOMAN_CONFIG": str(config)}).port == 1001
    usual = default_config(home)
    usual.parent.mkdir(parents=True)
    usual.write_text("port = 1004\n")
    assert load({}, home).port == 1004


def test_the_file_that_was_read_is_remembered_and_names_no_other(
    home: dict[str, str], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load({}, home).config is None
    monkeypatch.chdir(config.parent)
    assert load({}, home, config.name).config == str(config)
    assert load({}, {**home, "DRAGOMAN_CONFIG": str(config)}).config == str(config)
    usual = default_config(home)
    usual.parent.mkdir(parents=True)
    usual.write_text('config = "/elsewhere"\n')
    with pytest.raises(StartRefused, match="cannot name another one"):
        load({}, home)
    usual.write_text("")
    assert load({}, home).config == str(usual)


def test_an_empty_repeatable_flag_does_not_hide_what_is_below(
    home: dict[str, str], config: Path
) -> None:
    assert load({"allow_host": []}, home, str(config)).allow_host == ("file",)
    environ = {**home, "DRAGOMAN_ALLOW_HOST": "a,b:1"}
    assert load({"allow_host": ()}, environ, str(config)).allow_host == ("a", "b:1")
    assert load({"allow_host": ["flag"]}, environ, str(config)).allow_host == ("flag",)


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_switch_can_be_a_variable(home: dict[str, str], value: str) -> None:
    assert load({"no_token": None}, {**home, "DRAGOMAN_NO_TOKEN": value}).no_token


def test_the_data_folder_becomes_absolute(home: dict[str, str]) -> None:
    assert load({"data_dir": "here"}, home).data_dir == str(Path("here").absolute())
    environ = {**home, "XDG_DATA_HOME": "/data"}
    assert load({}, environ).data_dir == "/data/dragoman"


def test_agents_lie_in_the_data_folder_unless_another_is_named(home: dict[str, str]) -> None:
    assert load({"data_dir": "/data"}, home).agents_dir == "/data/agents"
    environ = {**home, "DRAGOMAN_AGENTS_DIR": "here"}
    assert load({"data_dir": "/data"}, environ).agents_dir == str(Path("here").absolute())
    assert load({"agents_dir": "/other"}, environ).agents_dir == "/other"


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("DRAGOMAN_PORT", "99999", "65535"),
        ("DRAGOMAN_PORT", "many", "int"),
        ("DRAGOMAN_LOG_LEVEL", "loud", "log_level"),
        ("DRAGOMAN_SYNCHRONOUS", "off", "synchronous"),
        ("DRAGOMAN_HEARTBEAT_S", "0", "heartbeat_s"),
        ("DRAGOMAN_MAX_BODY_BYTES", "1", "1024"),
        ("DRAGOMAN_TURN_TIMEOUT_S", "-1", "turn_timeout_s"),
        ("DRAGOMAN_INTERRUPT_DEADLINE_S", "0", "interrupt_deadline_s"),
        ("DRAGOMAN_MAX_TURNS", "1.5", "max_turns"),
        ("DRAGOMAN_HITL_ON_TIMEOUT", "accept", "hitl_on_timeout"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_right(
    home: dict[str, str], name: str, value: str, right: str
) -> None:
    with pytest.raises(StartRefused, match=right):
        load({}, {**home, name: value})


def test_nothing_is_limited_unless_it_is_set(home: dict[str, str], tmp_path: Path) -> None:
    names = ("turn_timeout_s", "idle_process_s", "hitl_timeout_s",
             "max_sessions", "max_processes", "max_turns")  # fmt: skip
    settings = load({}, home)
    assert [getattr(settings, name) for name in names] == [0] * 6
    (tmp_path / "limits.toml").write_text("\n".join(f"{name} = 3" for name in names))
    settings = load({}, {**home, "DRAGOMAN_MAX_TURNS": "0"}, str(tmp_path / "limits.toml"))
    assert [getattr(settings, name) for name in names] == [3, 3, 3, 3, 3, 0]


def test_a_wrong_file_is_refused(home: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="cannot read"):
        load({}, home, str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("port = ")
    with pytest.raises(StartRefused, match="not valid TOML"):
        load({}, home, str(broken))
    for wrong in ("data_dir = 5", "agents_dir = [1]", "agents = 5", "[agents]\nmock = 5"):
        broken.write_text(wrong)
        with pytest.raises(StartRefused, match="a setting is wrong"):
            load({}, {**home, "DRAGOMAN_MOCK_COMMAND": "mock"}, str(broken))
    broken.write_text("prot = 1\n")
    with pytest.raises(StartRefused, match="prot"):
        load({}, home, str(broken))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_no_token_is_refused_where_others_can_reach(home: dict[str, str], host: str) -> None:
    with pytest.raises(StartRefused, match=r"drop --no-token, or bind to 127\.0\.0\.1"):
        load({"no_token": True, "host": host}, home)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_no_token_is_allowed_on_loopback(home: dict[str, str], host: str) -> None:
    assert load({"no_token": True, "host": host}, home).no_token


def test_an_agents_command_comes_from_file_and_variable(home: dict[str, str], config: Path) -> None:
    environ = {**home, "DRAGOMAN_TWO_COMMAND": "variable --flag", "DRAGOMAN_NEW_COMMAND": "new"}
    agents = load({}, environ, str(config)).agents
    assert {name: table.command for name, table in agents.items()} == {
        "one": "file-one",
        "two": "variable --flag",
        "new": "new",
    }


def test_a_variable_that_is_no_setting_does_no_harm(home: dict[str, str]) -> None:
    assert load({}, {**home, "DRAGOMAN_URL": "http://x"}) == load({}, home)


def test_agents_inherit_nothing_of_ours() -> None:
    environ = {"PATH": "/bin", "DRAGOMAN_TOKEN": "secret", "DRAGOMAN_DATA_DIR": "/x", "KEY": "k"}
    assert child_environ(environ) == {"PATH": "/bin", "KEY": "k"}


def test_agents_inherit_the_daemons_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_TOKEN", "secret")
    monkeypatch.setenv("ORDINARY", "1")
    inherited = child_environ()
    assert inherited["ORDINARY"] == "1"
    assert "DRAGOMAN_TOKEN" not in inherited


@pytest.mark.parametrize("size", ["1", "1000000", str(10 * 1024 * 1024 - 1)])
def test_a_store_that_could_hold_nothing_is_refused(home: dict[str, str], size: str) -> None:
    with pytest.raises(StartRefused, match="max_store_bytes") as caught:
        load({}, {**home, "DRAGOMAN_MAX_STORE_BYTES": size})
    assert "10485760" in str(caught.value)


@pytest.mark.parametrize("size", [0, 10 * 1024 * 1024])
def test_a_store_may_have_no_limit_or_one_with_room(home: dict[str, str], size: int) -> None:
    settings = load({}, {**home, "DRAGOMAN_MAX_STORE_BYTES": str(size)})
    assert settings.max_store_bytes == size
