"""A model that follows a script, for agents of any API. See `docs/testing.md`."""

from __future__ import annotations

from dragoman.testing.model.requests import ModelRequest
from dragoman.testing.model.script import ScriptError, StepLike, load, parse
from dragoman.testing.model.server import ScriptedModel
from dragoman.testing.model.steps import (
    CustomTool,
    Gate,
    HttpError,
    Step,
    StreamError,
    Text,
    Thinking,
    Tool,
    Usage,
    When,
)

__all__ = [
    "CustomTool",
    "Gate",
    "HttpError",
    "ModelRequest",
    "ScriptError",
    "ScriptedModel",
    "Step",
    "StepLike",
    "StreamError",
    "Text",
    "Thinking",
    "Tool",
    "Usage",
    "When",
    "load",
    "parse",
]
