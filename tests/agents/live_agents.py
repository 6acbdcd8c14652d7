"""The real agents that play the scenarios."""

from __future__ import annotations

from tests.agents.amp.live.agent import AMP
from tests.agents.claude.live.agent import CLAUDE
from tests.agents.codex.live.agent import CODEX
from tests.agents.grok.live.agent import GROK
from tests.agents.live import LiveAgent
from tests.agents.opencode.live.agent import OPENCODE
from tests.agents.opencode_acp.live.agent import OPENCODE_ACP
from tests.agents.pi.live.agent import PI
from tests.agents.qwen.live.agent import QWEN

AGENTS: tuple[LiveAgent, ...] = (AMP, CLAUDE, CODEX, GROK, OPENCODE, OPENCODE_ACP, PI, QWEN)
