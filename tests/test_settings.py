"""Flags over variables over the file, and a refusal that says what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import StartRefused, WrongSetting
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
    environ = {**home, "DRAGOMAN_ALLOW_HOST": "a, b:1,"}
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
        ("port", "99999", "a whole number from 0 to 65535"),
        ("port", "many", "a whole number from 0 to 65535"),
        ("log_level", "loud", "debug, info, warning or error"),
        ("synchronous", "off", "normal or full"),
        ("heartbeat_s", "0", "a number above 0"),
        ("max_body_bytes", "1", "a whole number from 1024 on"),
        ("turn_timeout_s", "-1", "a number from 0 on"),
        ("interrupt_deadline_s", "0", "a number above 0"),
        ("max_turns", "1.5", "a whole number from 0 on"),
        ("hitl_on_timeout", "accept", "reject or wait"),
        ("no_token", "maybe", "true or false"),
        ("allow_host", "bad host", "NAME[:PORT], or *"),
        ("cors_allow_origin", "app.example", "the origin of a page, e.g. http://localhost:5173"),
    ],
)
def test_a_wrong_value_is_refused_with_where_it_stands_and_what_is_right(
    home: dict[str, str], tmp_path: Path, name: str, value: str, right: str
) -> None:
    is_list = name in ("allow_host", "cors_allow_origin")
    file = tmp_path / "wrong.toml"
    file.write_text(f"{name} = {[value] if is_list else value!r}\n")
    told = f"cannot be {value!r}; right is {right}"
    for flags, environ, config, where in (
        ({name: [value] if is_list else value}, {}, None, f"--{name.replace('_', '-')}"),
        ({}, {f"DRAGOMAN_{name.upper()}": value}, None, f"DRAGOMAN_{name.upper()}"),
        ({}, {}, str(file), f"{name} in {file}"),
    ):
        with pytest.raises(WrongSetting) as refused:
            load(flags, {**home, **environ}, config)
        assert str(refused.value) == f"{where} {told}"


def test_a_wrong_value_that_something_is_laid_over_does_no_harm(home: dict[str, str]) -> None:
    assert load({"port": 1}, {**home, "DRAGOMAN_PORT": "tcp://10.0.0.1:2468"}).port == 1


def test_a_wrong_token_is_not_shown(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("token = 4711\n")
    with pytest.raises(
        WrongSetting, match=r"token in .* cannot be this; right is a text"
    ) as refused:
        load({}, home, str(tmp_path / "wrong.toml"))
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["*", "example.org", "my_host:8080", "[::1]", "[fd00::1]:443", "10.0.0.1", "a.b.:1"]
)
def test_a_host_may_be_a_name_or_an_address_with_or_without_a_port(
    home: dict[str, str], name: str
) -> None:
    assert load({"allow_host": [name]}, home).allow_host == (name,)


@pytest.mark.parametrize(
    "name",
    ["bad host", "http://example.org", "*.example.org", "a:port", "a:1:2", "b\u00fc.de", "a/b"],
)
def test_what_can_be_no_host_is_refused(home: dict[str, str], name: str) -> None:
    with pytest.raises(WrongSetting, match=r"--allow-host cannot be .*NAME\[:PORT\], or \*"):
        load({"allow_host": ["fine", name]}, home)


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
    for wrong, right in (
        ("data_dir = 5", "data_dir in .* cannot be 5; right is a text"),
        ("agents_dir = [1]", "right is a text"),
        ("allow_host = 'x'", "right is a list"),
        ("roots = []\nport = []", r"port in .* cannot be \[\]; right is a whole number"),
        ("agents = 5", "right is a table for each agent, with `command`"),
        ("[agents]\nmock = 5", "right is a table for each agent"),
    ):
        broken.write_text(wrong)
        with pytest.raises(WrongSetting, match=right):
            load({}, {**home, "DRAGOMAN_MOCK_COMMAND": "mock"}, str(broken))
    broken.write_text("prot = 1\n")
    with pytest.raises(WrongSetting, match=f"prot in {broken} is no setting"):
        load({}, home, str(broken))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_no_token_is_refused_where_others_can_reach(home: dict[str, str], host: str) -> None:
    with pytest.raises(StartRefused, match=r"drop --no-token, or bind to 127\.0\.0\.1"):
        load({"no_token": True, "host": host}, home)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_no_token_is_allowed_on_loopback(home: dict[str, str], host: str) -> None:
    assert load({"no_token": True, "host": host}, home).no_token


def test_a_token_that_is_given_wins_over_none_further_below(
    home: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "open.toml").write_text("no_token = true\n")
    file, variable = str(tmp_path / "open.toml"), {**home, "DRAGOMAN_NO_TOKEN": "1"}
    assert load({}, home, file).no_token
    for flags in ({"token": "x"}, {"token_file": "/x"}):
        assert not load(flags, home, file).no_token
        assert not load(flags, variable).no_token
    assert not load({}, {**home, "DRAGOMAN_TOKEN": "x"}, file).no_token
    assert load({"no_token": True}, {**home, "DRAGOMAN_TOKEN": "x"}).no_token


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
    with pytest.raises(WrongSetting, match="DRAGOMAN_MAX_STORE_BYTES is ") as caught:
        load({}, {**home, "DRAGOMAN_MAX_STORE_BYTES": size})
    assert "10485760" in str(caught.value)


@pytest.mark.parametrize("size", [0, 10 * 1024 * 1024])
def test_a_store_may_have_no_limit_or_one_with_room(home: dict[str, str], size: int) -> None:
    settings = load({}, {**home, "DRAGOMAN_MAX_STORE_BYTES": str(size)})
    assert settings.max_store_bytes == size


# --- Agents that need no code ---


def test_an_agent_can_be_made_by_three_lines(home: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text('[agents.mine]\nadapter = "acp"\ncommand = ["my agent", "--acp"]\n')
    table = load({}, home, str(file)).agents["mine"]
    assert (table.adapter, table.words) == ("acp", ("my agent", "--acp"))
    file.write_text("[agents.mine]\nadapter = 'acp'\ncommand = \"'my agent' --acp\"\n")
    assert load({}, home, str(file)).agents["mine"].words == ("my agent", "--acp")


def test_a_variable_names_an_agent_with_a_dash(home: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "dash.toml"
    file.write_text('[agents.my-own]\nadapter = "acp"\ncommand = "below"\nfs = true\n')
    agents = load({}, {**home, "DRAGOMAN_MY_OWN_COMMAND": "above"}, str(file)).agents
    assert list(agents) == ["my-own"]
    assert (agents["my-own"].words, agents["my-own"].fs) == (("above",), True)


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("adapter = 'mcp'", "agents.mine.adapter in {} cannot be 'mcp'; right is \"acp\""),
        ("fs = 'maybe'", "agents.mine.fs in {} cannot be 'maybe'; right is true or false"),
        ("command = []", "the command of agent 'mine' is empty; its first word is a program"),
        ("command = 5", "agents.mine.command in {} cannot be 5; right is a text, or a list of wo"),
        ("comand = 'x'", "agents.mine.comand in {} is no setting of an agent; known: adapter, co"),
        ("env = { A = 4711 }", "agents.mine.env in {} cannot be this; right is a table of texts"),
        ("env = { 'A-B' = 'x' }", "agents.mine.env in {} cannot be this; right is a table"),
    ],
)
def test_a_wrong_key_of_an_agent_is_named_and_its_variables_are_not_shown(
    home: dict[str, str], tmp_path: Path, line: str, refusal: str
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(f"[agents.mine]\n{line}\n")
    with pytest.raises(WrongSetting) as refused:
        load({}, home, str(file))
    assert str(refused.value).startswith(refusal.format(file))
    assert "4711" not in str(refused.value)
