"""The mock agent's facts, and how it is started."""

from __future__ import annotations

import sys
from typing import get_args

import pytest

from dragoman.adapter import Spec
from dragoman.agents.mock import ADAPTER
from dragoman.facts import Feature


def spec(**changes: object) -> Spec:
    values = {"session_id": "s1", "agent": "mock", "agent_mode": "build", "directory": "/project"}
    return Spec(**{**values, **changes})  # type: ignore[arg-type]


def test_a_new_session_names_no_native_one() -> None:
    launch = ADAPTER.launch(spec(env={"A": "b"}), ("agent", "first"))
    assert launch.argv == ("agent", "first", "--mode=build", "--permission-mode=default")
    assert (launch.cwd, launch.env) == ("/project", {"A": "b"})


def test_a_confirmed_native_session_is_resumed() -> None:
    launch = ADAPTER.launch(spec(native_session_id="mock-1"), ("agent",))
    assert launch.argv[1] == "--session=mock-1"
    assert launch.argv[-1] == "--resume"


def test_a_fork_says_so() -> None:
    launch = ADAPTER.launch(spec(native_session_id="mock-1", fork=True), ("agent",))
    assert launch.argv[-2:] == ("--resume", "--fork")


@pytest.mark.parametrize("field", ["native_session_id", "model", "variant", "agent_mode"])
def test_a_value_never_starts_an_option(field: str) -> None:
    launch = ADAPTER.launch(spec(**{field: "--fork"}), ("agent",))
    assert "--fork" not in launch.argv


def test_runs_on_this_python_without_the_working_directory_on_its_path() -> None:
    assert ADAPTER.command == (sys.executable, "-P", "-m", "dragoman.testing.mock.agent")


def test_has_everything_but_a_shared_process_and_steering() -> None:
    missing = set(get_args(Feature)) - ADAPTER.capabilities.native
    assert missing == {"sharedProcess", "steer"}
    assert ADAPTER.capabilities.shown == ADAPTER.capabilities.native


def test_the_default_model_is_one_of_the_models() -> None:
    assert ADAPTER.default_model in {model.id for model in ADAPTER.models}
