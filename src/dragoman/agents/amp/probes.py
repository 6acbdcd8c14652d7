"""How `dragoman conform` makes Amp act, and which of its messages leave no event."""

from __future__ import annotations

from dragoman.agents.amp.launch import QUIET
from dragoman.facts import Block, IgnoredMessage, ProbeRecipes


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a server on loopback, with an empty home."""
    return {
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "AMP_URL": url,
        "AMP_API_KEY": "scripted-key",
        **QUIET,
    }


def _call(tool: str, **arguments: object) -> Block:
    return {"tool": tool, "input": arguments}


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    run=lambda command: _call("shell_command", command=command),
    write=lambda path, text: _call("create_file", path=path, content=text),
    look=lambda path: _call("Read", path=path),
    mcp=lambda server, tool, arguments: _call(f"mcp__{server}__{tool}", **arguments),
    variant="model",
    variants=("low", "high"),
)
"""What `dragoman conform` does with Amp. Its server stands between it and the models, so the
scripted model is that server, and a request to it names the mode of the thread as its model."""

IGNORED = (
    IgnoredMessage(
        where={"type": "system", "subtype": "init"},
        why="Names the thread, which every event does; a server that is not connected is shown.",
    ),
    IgnoredMessage(
        where={"type": "user", "message.content.0.type": "text"},
        why="Repeats a person's message that was shown when it was sent.",
    ),
    IgnoredMessage(
        where={"type": "user", "message.content": []},
        why="The same of a message that has only images, which are left out.",
    ),
)
"""What leaves no event, and why. Reviewed, and short."""
