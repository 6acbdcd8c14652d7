"""The table of all probes, by feature."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import InvalidRequest
from dragoman.facts import Feature
from dragoman.testing.conform import (
    interrupt_probes,
    lifecycle_probes,
    message_probes,
    request_probes,
    tool_probes,
)
from dragoman.testing.conform.probe import Probe, Trial

_TABLE: tuple[tuple[str, Feature | None, Trial], ...] = (
    ("text", "textMessages", message_probes.text),
    ("item-started", "itemStarted", message_probes.item_started),
    ("streaming", "streamingDeltas", message_probes.streaming),
    ("reasoning", "reasoning", message_probes.reasoning),
    ("tool-call", "toolCalls", tool_probes.tool_call),
    ("tool-result", "toolResults", tool_probes.tool_result),
    ("command", "commandExecution", tool_probes.command),
    ("file-change", "fileChanges", tool_probes.file_change),
    ("image", "images", tool_probes.image),
    ("mcp", "mcpTools", tool_probes.mcp),
    ("subagent", "subagents", tool_probes.subagent),
    ("permission-accept", "permissions", request_probes.permission_accept),
    ("permission-always", "permissions", request_probes.permission_always),
    ("permission-reject", "permissions", request_probes.permission_reject),
    ("question", "questions", request_probes.question),
    ("plan-mode", "planMode", request_probes.plan_mode),
    ("interrupt", "interrupt", interrupt_probes.interrupt),
    ("queue", None, interrupt_probes.queue),
    ("steer", "steer", interrupt_probes.steer),
    ("attachment", "fileAttachments", message_probes.attachment),
    ("status", "status", message_probes.status),
    ("error", "errorEvents", message_probes.error),
    ("usage", "usage", message_probes.usage),
    ("lifecycle", "sessionLifecycle", lifecycle_probes.lifecycle),
    ("resume", "resume", lifecycle_probes.resume),
    ("fork", "fork", lifecycle_probes.fork),
    ("variant", "variants", lifecycle_probes.variant),
    ("shared-process", "sharedProcess", lifecycle_probes.shared_process),
)

PROBES = {name: Probe(name=name, feature=feature, trial=trial) for name, feature, trial in _TABLE}
"""Every probe, by its name, in the order of the table."""


def select(only: Sequence[str]) -> list[Probe]:
    """The probes of these names, or all. Raise InvalidRequest."""
    unknown = [name for name in only if name not in PROBES]
    if unknown:
        known = ", ".join(PROBES)
        raise InvalidRequest(f"there is no probe {unknown[0]!r}; known: {known}", field="only")
    return [probe for probe in PROBES.values() if not only or probe.name in only]
