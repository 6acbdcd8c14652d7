"""Which agents there are: ours, those of the settings, those that were added, the catalogue."""

from __future__ import annotations

import asyncio
import logging
import stat
from pathlib import Path

import pytest

from dragoman.agents import adapters
from dragoman.agents.acp.known_agents import KNOWN_AGENTS, KnownAgent
from dragoman.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    StartRefused,
    StorageFull,
    UnsupportedAgent,
    WrongSetting,
)
from dragoman.runtime.provision.registry import MAX_ADDED, AgentRegistry
from dragoman.schema.http import AddAgent
from dragoman.settings import AgentSettings, Settings

ACP = AgentSettings(adapter="acp", command=("mine", "--acp"))


def registry(folder: Path, **tables: AgentSettings) -> AgentRegistry:
    named = {name.replace("__", "-"): table for name, table in tables.items()}
    return AgentRegistry(adapters(), Settings(data_dir=str(folder), agents=named))


def add(known: AgentRegistry, agent: str = "mine", command: str = "mine --acp") -> None:
    asyncio.run(known.add(AddAgent(id=agent, command=command)))


def test_ours_come_first_and_the_catalogue_last(tmp_path: Path) -> None:
    known = registry(tmp_path, mine=ACP)
    add(known, "other")
    sources = [each.source for each in known.all()]
    order = ["built-in", "settings", "api", "catalogue"]
    assert sources == sorted(sources, key=order.index)
    assert known.get("claude").source == "built-in"
    assert known.get("gemini").source == "catalogue"
    assert [known.get(each).source for each in ("mine", "other")] == ["settings", "api"]


def test_an_agent_of_the_settings_is_what_they_say(tmp_path: Path) -> None:
    table = AgentSettings(
        adapter="acp", command="mine 'two words'", name="My Own", env={"A": "b"}, fs=True
    )
    agent = registry(tmp_path, mine=table).get("mine")
    assert (agent.adapter.id, agent.adapter.name, agent.adapter.dialect) == (
        "mine", "My Own", "acp",
    )  # fmt: skip
    assert agent.adapter.command == ("mine", "two words")
    assert (agent.settings.env, agent.settings.fs, agent.settings.terminal) == (
        {"A": "b"}, True, False,
    )  # fmt: skip


def test_the_settings_may_start_one_of_the_catalogue_their_own_way(tmp_path: Path) -> None:
    own = AgentSettings(adapter="acp", command=("gemini", "--acp"))
    named = AgentSettings(name="My Qwen", env={"OPENAI_API_KEY": "k"})
    known = registry(tmp_path, gemini=own, qwen=named)
    gemini, qwen = known.get("gemini"), known.get("qwen")
    assert (gemini.source, gemini.adapter.name, gemini.settings.words) == (
        "settings", "Gemini CLI", ("gemini", "--acp"),
    )  # fmt: skip
    assert (qwen.source, qwen.adapter.name) == ("catalogue", "My Qwen")
    assert known.env_of("qwen") == {"OPENAI_API_KEY": "k"}


def test_a_variable_reaches_an_agent_with_a_dash(tmp_path: Path) -> None:
    known = registry(tmp_path, codex_acp=AgentSettings(command="mine"))
    assert known.get("codex-acp").settings.words == ("mine",)


@pytest.mark.parametrize(
    ("agent", "table", "refusal"),
    [
        ("mine", AgentSettings(command="x"), r"unknown agent 'mine'; known: .*claude.*qwen.*acp"),
        ("mine", AgentSettings(adapter="acp"), r"'mine' of the settings has no command"),
        ("Mine", ACP, "'Mine', and it must have 1 to 32 lower case"),
        ("m" * 33, ACP, "1 to 32"),
        ("-m", ACP, "1 to 32"),
        ("claude", ACP, "'claude' has an adapter of its own"),
        ("mock", AgentSettings(fs=True), "`fs` is for agents that speak ACP, and 'mock' is none"),
        ("mock", AgentSettings(name="M"), "`name` is for agents that speak ACP"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_what_would(
    tmp_path: Path, agent: str, table: AgentSettings, refusal: str
) -> None:
    with pytest.raises(WrongSetting, match=refusal):
        AgentRegistry(adapters(), Settings(data_dir=str(tmp_path), agents={agent: table}))


def test_what_was_added_is_there_after_a_restart_and_for_its_owner_only(tmp_path: Path) -> None:
    known = registry(tmp_path)
    wanted = AddAgent(
        id="mine", command=("mine",), name="Mine", env={"KEY": "value"}, fs=True, terminal=True
    )
    asyncio.run(known.add(wanted))
    assert stat.S_IMODE((tmp_path / "agents.json").stat().st_mode) == 0o600
    again = registry(tmp_path).get("mine")
    assert (again.source, again.adapter.name, again.settings.words) == ("api", "Mine", ("mine",))
    assert (again.settings.env, again.settings.fs, again.settings.terminal) == (
        {"KEY": "value"}, True, True,
    )  # fmt: skip


def test_what_was_removed_is_gone_also_after_a_restart(tmp_path: Path) -> None:
    known = registry(tmp_path)
    add(known)
    asyncio.run(known.remove("mine"))
    for each in (known, registry(tmp_path)):
        with pytest.raises(UnsupportedAgent):
            each.get("mine")
    with pytest.raises(NotFound, match=r"there is no agent 'mine'; known: .*claude"):
        asyncio.run(known.remove("mine"))


@pytest.mark.parametrize("taken", ["claude", "gemini", "set", "added"])
def test_an_id_that_is_taken_is_refused(tmp_path: Path, taken: str) -> None:
    known = registry(tmp_path, set=ACP)
    add(known, "added")
    with pytest.raises(Conflict, match=f"there is an agent '{taken}'.*choose another id"):
        add(known, taken)


@pytest.mark.parametrize(
    ("agent", "reason"),
    [("claude", "built in"), ("gemini", "catalogue"), ("set", "settings file; remove it there")],
)
def test_only_what_was_added_can_be_removed(tmp_path: Path, agent: str, reason: str) -> None:
    with pytest.raises(Conflict, match=f"'{agent}' cannot be removed: .*{reason}"):
        asyncio.run(registry(tmp_path, set=ACP).remove(agent))


@pytest.mark.parametrize("command", ["", "  ", "'open", ("",)])
def test_a_command_that_is_none_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        asyncio.run(registry(tmp_path).add(AddAgent(id="mine", command=command)))
    assert refused.value.details == {"field": "command"}


def test_there_are_not_without_end_many(tmp_path: Path) -> None:
    known = registry(tmp_path)
    for number in range(MAX_ADDED):
        add(known, f"a{number}")
    with pytest.raises(Conflict, match=f"there are {MAX_ADDED} agents"):
        add(known, "more")


def test_an_adapter_that_was_added_again_is_another_one_and_others_stay_the_same(
    tmp_path: Path,
) -> None:
    known = registry(tmp_path)
    add(known, "other")
    add(known)
    mine, other, qwen = (known.get(each).adapter for each in ("mine", "other", "qwen"))
    asyncio.run(known.remove("mine"))
    assert not known.is_current(mine)
    add(known)
    assert not known.is_current(mine)
    assert known.is_current(known.get("mine").adapter)
    assert known.is_current(other)
    assert known.is_current(qwen)


def test_the_settings_win_over_what_was_added(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(registry(tmp_path))
    with caplog.at_level(logging.WARNING):
        known = registry(tmp_path, mine=ACP)
    assert known.get("mine").source == "settings"
    assert "agent mine of" in caplog.text


def test_a_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "agents.json").write_text("{")
    with pytest.raises(StartRefused, match=r"agents.json: .*; repair it, or move it away"):
        registry(tmp_path)


def test_what_cannot_be_stored_is_not_there(tmp_path: Path) -> None:
    known = registry(tmp_path / "nowhere")
    with pytest.raises(StorageFull, match="nothing was changed"):
        add(known)
    assert not known.has("mine")


# --- The catalogue ---


@pytest.mark.parametrize("known", KNOWN_AGENTS, ids=lambda each: each.id)
def test_what_the_catalogue_has_can_be_installed_at_one_version(
    tmp_path: Path, known: KnownAgent
) -> None:
    package = registry(tmp_path).get(known.id).adapter.package
    assert package is not None
    assert "linux-x64" in package.names
    assert package.names.keys() == package.integrity.keys()
    assert all(each.startswith("sha512-") for each in package.integrity.values())


def test_opencode_over_acp_runs_what_opencode_is_installed_as(tmp_path: Path) -> None:
    adapter = registry(tmp_path).get("opencode-acp").adapter
    assert adapter.package is not None
    assert adapter.package.installed_as == "opencode"
    assert adapter.package.version == getattr(adapters()["opencode"].package, "version", None)
