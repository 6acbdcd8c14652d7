"""An MCP server in the words that most agents' configurations have for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Hide = Callable[[str, str], str]
"""Makes of the name and value of something that may be secret what stands in the configuration."""


def mcp_server(config: dict[str, Any], hide: Hide = lambda name, value: value) -> dict[str, Any]:
    """`url` and `headers` of a remote server; `command`, `args` and `env` of a local one."""
    if config["type"] in ("remote", "http"):
        headers = {name: hide(name, value) for name, value in (config.get("headers") or {}).items()}
        for name, variable in (config.get("envHeaders") or {}).items():
            headers[name] = f"${{{variable}}}"
        if config.get("bearerTokenEnvVar"):
            headers["Authorization"] = f"Bearer ${{{config['bearerTokenEnvVar']}}}"
        return {"url": hide("url", config["url"]), "headers": headers}
    command = config["command"]
    words = [command] if isinstance(command, str) else list(command)
    environment = {**(config.get("environment") or {}), **(config.get("env") or {})}
    return {
        "command": words[0],
        "args": [*words[1:], *(config.get("args") or ())],
        "env": {name: hide(name, value) for name, value in environment.items()},
    }


def into_environment(server: str, env: dict[str, str]) -> Hide:
    """Puts the values of a server into an environment: a command line is for all to see.

    Variables are numbered, since two names may differ only in characters that no variable has.
    """

    def hide(name: str, value: str) -> str:
        letters = (c if c.isascii() and c.isalnum() else "_" for c in f"{server}_{name}")
        variable = f"MCP_{len(env)}_{''.join(letters).upper()}"
        env[variable] = value
        return f"${{{variable}}}"

    return hide
