"""What a scenario with Codex's server needs to see."""

from __future__ import annotations

from pathlib import Path

from tests.agents.live import Live
from tests.testing.story import lives


def servers(live: Live) -> list[int]:
    """The app servers of the session's environment, which others may use as well."""
    mark = f"CODEX_HOME={live.home}/.codex".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        agent = b"app-server" in words and b"record" not in words
        if mark in environ and agent and lives(int(entry.name)):
            found.append(int(entry.name))
    return found
