"""How `dragoman conform` makes Parakeet act: it has no model, but prompts."""

from __future__ import annotations

from dragoman.facts import ProbeRecipes

PROBE_RECIPES = ProbeRecipes(
    prompts={
        "say": "{words}",
        "stream": "slowly: one two three four five six seven eight nine ten",
        "work": "slowly: " + "again and " * 50 + "again",
        "fail": "fail",
    }
)
