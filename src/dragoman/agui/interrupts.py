"""Requests to people as AG-UI's interrupts."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from dragoman.agui.events import InterruptRequest
from dragoman.schema.events import PermissionRequested, Question, QuestionRequested

Request = PermissionRequested | QuestionRequested
_BINDING = "tanstack:interruptBinding"


def request_id(request: Request) -> str:
    """The id of a request, which is that of its interrupt."""
    if isinstance(request, PermissionRequested):
        return request.permission_id
    return request.question_id


def interrupt_of(
    request: Request, run_id: str, subagent_run_id: str | None, *, takes_updated_input: bool
) -> InterruptRequest:
    """A request, with the binding by which TanStack's client lets it be answered."""
    metadata = request.metadata if isinstance(request.metadata, dict) else {}
    call_id = metadata.get("call_id")
    if isinstance(request, PermissionRequested):
        schema = _permission_schema(takes_updated_input)
        reason = "tool_call" if isinstance(call_id, str) else "confirmation"
        message = f"May {request.action} be used?"
    else:
        schema, reason, message = _question_schema(request), "input_required", request.prompt
    return InterruptRequest(
        id=request_id(request),
        reason=reason,
        message=message,
        tool_call_id=call_id if isinstance(call_id, str) else None,
        response_schema=schema,
        metadata={
            "dragoman": {"type": request.type, **msgspec.to_builtins(request)},
            _BINDING: _binding(request_id(request), run_id, schema),
        },
        subagent_run_id=subagent_run_id,
    )


def _binding(interrupt_id: str, run_id: str, schema: dict[str, Any]) -> dict[str, Any]:
    # The client computes the hash over keys in order, without spaces, and refuses another one.
    canonical = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return {
        "v": 1,
        "kind": "generic",
        "interruptId": interrupt_id,
        "interruptedRunId": run_id,
        "generation": 0,
        "responseSchemaHash": f"sha256:{digest}",
    }


def _permission_schema(takes_updated_input: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "approved": {"type": "boolean"},
        "always": {"type": "boolean", "description": "For the rest of the session."},
        "message": {"type": "string", "description": "Told to the agent where it is refused."},
    }
    if takes_updated_input:
        properties["editedArgs"] = {"type": "object"}
    return {"type": "object", "properties": properties, "required": ["approved"]}


def _question_schema(request: QuestionRequested) -> dict[str, Any]:
    questions = request.questions or (Question(prompt=request.prompt),)
    answers: dict[str, Any] = {
        "type": "array",
        "description": "A list of answers for each question: "
        + " / ".join(question.prompt for question in questions),
        "items": {"type": "array", "items": {"type": "string"}},
    }
    labels = [option.label for option in questions[0].options] or list(request.options)
    if len(questions) == 1 and labels and not questions[0].allow_other:
        answers["items"]["items"]["enum"] = labels
    return {"type": "object", "properties": {"answers": answers}, "required": ["answers"]}
