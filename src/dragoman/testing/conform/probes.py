"""Every probe there is: each feature that an adapter may declare has at least one."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import InvalidRequest
from dragoman.facts import Feature
from dragoman.testing.conform import lasting, people, speaking, working
from dragoman.testing.conform.probe import Probe, Trial

_TABLE: tuple[tuple[str, Feature | None, Trial], ...] = (
    ("text", "textMessages", speaking.text),
    ("item-started", "itemStarted", speaking.item_started),
    ("streaming", "streamingDeltas", speaking.streaming),
    ("reasoning", "reasoning", speaking.reasoning),
    ("tool-call", "toolCalls", working.tool_call),
    ("tool-result", "toolResults", working.tool_result),
    ("command", "commandExecution", working.command),
    ("file-change", "fileChanges", working.file_change),
    ("image", "images", working.image),
    ("mcp", "mcpTools", working.mcp),
    ("subagent", "subagents", working.subagent),
    ("permission-accept", "permissions", people.permission_accept),
    ("permission-always", "permissions", people.permission_always),
    ("permission-reject", "permissions", people.permission_reject),
    ("question", "questions", people.question),
    ("plan-mode", "planMode", people.plan_mode),
    ("interrupt", "interrupt", people.interrupt),
    ("queue", None, people.queue),
    ("steer", "steer", people.steer),
    ("attachment", "fileAttachments", speaking.attachment),
    ("status", "status", speaking.status),
    ("error", "errorEvents", speaking.error),
    ("usage", "usage", speaking.usage),
    ("lifecycle", "sessionLifecycle", lasting.lifecycle),
    ("resume", "resume", lasting.resume),
    ("fork", "fork", lasting.fork),
    ("variant", "variants", lasting.variant),
    ("shared-process", "sharedProcess", lasting.shared_process),
)

PROBES = {name: Probe(name=name, feature=feature, trial=trial) for name, feature, trial in _TABLE}
"""Every probe, by its name, in the order of the table."""


def chosen(only: Sequence[str]) -> list[Probe]:
    """The probes of these names, or all. Raise InvalidRequest."""
    unknown = [name for name in only if name not in PROBES]
    if unknown:
        known = ", ".join(PROBES)
        raise InvalidRequest(f"there is no probe {unknown[0]!r}; known: {known}", field="only")
    return [probe for probe in PROBES.values() if not only or probe.name in only]
