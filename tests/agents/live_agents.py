"""The real agents that play the scenarios."""

from __future__ import annotations

from tests.agents.amp.live.agent import AMP
from tests.agents.claude.live.agent import CLAUDE
from tests.agents.codex.live.agent import CODEX
from tests.agents.live import LiveAgent
from tests.agents.opencode.live.agent import OPENCODE
from tests.agents.pi.live.agent import PI

AGENTS: tuple[LiveAgent, ...] = (AMP, CLAUDE, CODEX, OPENCODE, PI)
