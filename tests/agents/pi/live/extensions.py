"""Homes in which Pi finds extensions and settings of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tests.agents.pi.live.agent import PI
from tests.agents.pi.live.scripts import DIALOGS

_AGENT = ".pi/agent"


def guarded(url: str, home: Path) -> dict[str, str]:
    """Pi's environment, with an extension that asks in all the ways that there are."""
    env = PI.environ(url, home)
    (home / _AGENT / "extensions/guard.ts").write_text(DIALOGS)
    return env


def configure(home: Path, **settings: Any) -> None:
    """Change the user's settings."""
    file = home / _AGENT / "settings.json"
    file.write_bytes(msgspec.json.encode({**msgspec.json.decode(file.read_bytes()), **settings}))
