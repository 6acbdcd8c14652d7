"""What Grok adds to ACP: its own updates and requests, and what it says in `_meta`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.grok import native, notices, requests
from dragoman.agents.grok.tools import ToolUpdates
from dragoman.agents.grok.usage import UsageMeter, usage_of
from dragoman.dialects.acp.native import Envelope, SessionResult, ToolUpdate
from dragoman.dialects.acp.profile import NoExtension, SessionAccess
from dragoman.schema.commands import PermissionMode
from dragoman.schema.events import Context, Outcome, Usage
from dragoman.schema.items import ItemStatus
from dragoman.steps import Notify, Report, Step

_UPDATES = ("_x.ai/session_notification", "_x.ai/task_backgrounded", "_x.ai/task_completed")
_QUIET = frozenset({
    "background_tasks", "interaction_resolved", "model_changed", "pending_interaction",
    "response_completed", "response_started", "session_summary_generated", "subagent_progress",
    "task_backgrounded",
})  # fmt: skip
"""Updates that say nothing that is not told otherwise (`probes.IGNORED`)."""
_QUIET_METHODS = (
    "_x.ai/session/setup", "_x.ai/session/prompt_complete",
    "_x.ai/sessions/", "_x.ai/queue/", "_x.ai/mcp/servers_updated", "_x.ai/mcp/tools_changed",
    "_x.ai/models/", "_x.ai/settings/", "_x.ai/announcements/", "_x.ai/fs", "_x.ai/git",
)  # fmt: skip
"""How methods begin that say nothing about the conversation."""
_OUTCOMES: dict[str, Outcome] = {"end_turn": "completed", "cancelled": "interrupted"}


class GrokExtension(NoExtension):
    """Grok's own, for one session."""

    def __init__(self, spec: Spec) -> None:
        self._usage = UsageMeter()
        self._tools = ToolUpdates()
        self._servers = notices.ServerNotices()
        self._has_servers = any(each.get("enabled") is not False for each in spec.mcp.values())
        self._calls: dict[tuple[str, int], tuple[str, str]] = {}
        """Calls whose arguments are being written: session and place → id and tool."""

        self._known_ids: set[str] = set()
        """The messages that a session had before it was opened again."""
        self._streams: dict[str, Any] = {}
        """The answer of the model that each session streams, by when it began."""
        self._void_streams: set[Any] = set()
        """Answers that were begun anew; pieces of them may still come (1.0.41)."""

    # --- Methods ---

    def receive(self, message: Envelope, session: SessionAccess) -> Iterator[Step] | None:
        """A method of Grok's own."""
        if message.method in _UPDATES:
            params = native.read(message.params, native.UpdateParams)
            return self._on_update(native.kind_of(params.update), params, session)
        match message.method:
            case "_x.ai/ask_user_question" if message.key is not None:
                asked = native.read(message.params, native.QuestionParams)
                return requests.ask(message.key, asked, session)
            case "_x.ai/exit_plan_mode" if message.key is not None:
                plan = native.read(message.params, native.PlanParams)
                return requests.approve(message.key, plan, session)
            case "_x.ai/session/update":
                return self._on_history(native.read(message.params, native.UpdateParams))
            case "_x.ai/queue/changed":
                queue = native.read(message.params, native.QueueParams)
                return session.hear(queue.session_id) if queue.entries else iter(())
            case "_x.ai/mcp/init_progress":
                self._servers.note(native.read(message.params, native.ServerProgress))
                return iter(())
            case "_x.ai/mcp_initialized":
                return self._servers.initialized(session)
            case "_x.ai/mcp/server_status":
                server = native.read(message.params, native.ServerStatus)
                return self._servers.changed(server, session)
            case method if message.key is None and method.startswith(_QUIET_METHODS):
                return iter(())
        return None

    def _on_update(
        self, kind: str, params: native.UpdateParams, session: SessionAccess
    ) -> Iterator[Step]:
        update = params.update
        match kind:
            case "tool_call_delta_chunk":
                piece = native.read(update, native.CallPiece)
                return self._on_piece(params.session_id, piece, session)
            case "subagent_spawned":
                return self._on_spawned(native.read(update, native.SubagentSpawned), session)
            case "subagent_finished":
                return _on_finished(native.read(update, native.SubagentFinished), session)
            case "turn_completed":
                turn = native.read(update, native.TurnCompleted)
                return self._on_turn_end(params.session_id, turn, session)
            case "retry_state":
                state = native.read(update, native.RetryState)
                if (stream := self._streams.pop(params.session_id, None)) is not None:
                    self._void_streams.add(stream)
                return notices.retry(params.session_id, state, session)
            case "task_completed":
                return notices.task(native.read(update, native.TaskCompleted), session)
            case "interaction_resolved":
                resolved = native.read(update, native.InteractionResolved)
                return session.withdraw(resolved.tool_call_id)
            case "image_dropped":
                notes = native.read(update, native.DroppedImages).notes
                return session.status("image dropped", "\n".join(notes), status="failed")
            case "last_turn_summary":
                line = native.read(update, native.TurnSummary).summary
                return session.status("summary", line)
            case _ if kind.startswith("auto_compact_"):
                return notices.compaction(kind, native.read(update, native.Compaction), session)
            case _ if kind in _QUIET:
                return iter(())
        return session.status(kind, None, msgspec.json.decode(bytes(update)))

    def _on_history(self, params: native.UpdateParams) -> Iterator[Step]:
        """What a session that is opened again holds beside updates of the protocol: the end of each
        turn, also of one in which the agent died."""
        if native.kind_of(params.update) == "turn_completed":
            turn = native.read(params.update, native.TurnCompleted)
            self._known_ids.add(turn.prompt_id or "")
        return iter(())

    def _on_piece(
        self, session_id: str, piece: native.CallPiece, session: SessionAccess
    ) -> Iterator[Step]:
        place = session_id, piece.tool_index
        if piece.tool_call_id is not None:
            self._calls[place] = piece.tool_call_id, piece.name or "tool"
        if place in self._calls:
            call_id, name = self._calls[place]
            yield from session.stream_call(session_id, call_id, name, piece.arguments_delta)

    # --- Subagents ---

    def _on_spawned(
        self, spawned: native.SubagentSpawned, session: SessionAccess
    ) -> Iterator[Step]:
        call_id = self._tools.spawn_of(spawned.description)
        title = spawned.description or spawned.subagent_type
        return session.begin_subagent(spawned.child_session_id, call_id, title)

    # --- Turns ---

    def _on_turn_end(
        self, session_id: str, turn: native.TurnCompleted, session: SessionAccess
    ) -> Iterator[Step]:
        if not session.is_main(session_id):
            return
        self._usage.note(turn.usage)
        outcome = _OUTCOMES.get(turn.stop_reason, "failed")
        if session.in_own_turn and outcome == "failed":
            message = turn.agent_result or f"the turn ended with {turn.stop_reason!r}"
            yield Report(message=message, code=turn.stop_reason)
        yield from session.end_own_turn(outcome, usage_of(turn.usage), turn.stop_reason)

    def turn_id(self, meta: Any) -> str | None:
        """Each update of a turn names it."""
        name = meta.get("promptId") if isinstance(meta, dict) else None
        return name if isinstance(name, str) else None

    def usage(self, meta: Any) -> Usage | None:
        """What a turn has used."""
        return self._usage.of_turn(meta)

    def context(self, meta: Any) -> Context | None:
        """How full the window is."""
        return self._usage.context(meta)

    def end_turn(self) -> None:
        """Forget what belonged to the turn."""
        self._usage.end_turn()
        self._tools.end_turn()
        self._calls.clear()
        self._void_streams.clear()

    # --- The rest ---

    def permission(self, mode: PermissionMode, session_id: str) -> Iterator[Step]:
        """It asks, or it does not; all else is the daemon's."""
        params = {"sessionId": session_id, "yolo_mode": mode == "bypass"}
        yield Notify(method="_x.ai/yolo_mode_changed", params=params)

    def opened(self, result: SessionResult) -> None:
        """The models, each with its window."""
        self._usage.opened(result.models)

    def has_message(self, message_id: str) -> bool:
        """Whether it has had a turn of that name."""
        return message_id in self._known_ids

    def is_ready(self) -> bool:
        """It begins without MCP servers that are not up yet, so it is told nothing before."""
        return self._servers.are_up or not self._has_servers

    def reset(self) -> None:
        """Forget what belonged to the process."""
        self._servers = notices.ServerNotices()
        self._streams.clear()

    def refusal(self, reason: str) -> dict[str, Any]:
        """By this the model hears the reason, and goes on; else a refusal ends the turn."""
        return {"_meta": {"followup_message": reason}}

    def tool(self, update: ToolUpdate) -> ToolUpdate:
        """What is told of a tool call."""
        return self._tools.read(update)

    def is_replay(self, meta: Any) -> bool:
        """It marks what it repeats; what came of an answer that was begun anew is no better."""
        if not isinstance(meta, dict):
            return False
        stream, event = meta.get("streamStartMs"), meta.get("eventId")
        if stream in self._void_streams and "chunkId" in meta:
            return True
        if stream is not None and isinstance(event, str):
            self._streams[event.rpartition("-")[0]] = stream
        return meta.get("isReplay") is True


def _on_finished(finished: native.SubagentFinished, session: SessionAccess) -> Iterator[Step]:
    is_done = finished.status == "completed"
    reason = None if is_done else finished.error or finished.status
    status: ItemStatus = "completed" if is_done else "failed"
    return session.end_subagent(finished.child_session_id, status, reason)
