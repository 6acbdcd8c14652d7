"""How OpenCode's server is started."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.agents.opencode.launch import launch
from dragoman.errors import InvalidRequest

MCP = {"files": {"type": "local", "command": ["files"]}}
CONTENT = "OPENCODE_CONFIG_CONTENT"


def launched(content: str) -> str:
    """What becomes of a configuration in the environment of a session with an MCP server."""
    spec = Spec(session_id="s1", agent="opencode", agent_mode="build", directory="/project",
                env={CONTENT: content}, mcp=MCP)  # fmt: skip
    return launch(spec, ("opencode",)).env[CONTENT]


def test_mcp_servers_stand_beside_a_persons_own_configuration() -> None:
    config = msgspec.json.decode(launched('{"model":"some/one"}'))
    assert config["model"] == "some/one"
    assert config["mcp"]["files"]["command"] == ["files"]


@pytest.mark.parametrize("content", ["{", "[]", "null", '"text"'])
def test_a_configuration_that_is_no_object_is_refused_with_its_name(content: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{CONTENT} is no JSON object"):
        launched(content)
