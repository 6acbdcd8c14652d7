"""How probes make the mock agent act: it has no model, but prompts for everything."""

from __future__ import annotations

from dragoman.facts import ProbeRecipes

PROBE_RECIPES = ProbeRecipes(
    prompts={
        "say": "echo {words}",
        "stream": "slow 30",
        "work": "slow 100",
        "think": "reasoning",
        "run": "tool",
        "write": "tool",
        "mcp": "tool",
        "look": "image",
        "change": "permission",
        "ask": "question",
        "delegate": "subagent",
        "plan": "status",
        "retry": "status",
        "fail": "error",
        "leave": "end",
    }
)
"""What `dragoman conform` does with the mock agent."""
