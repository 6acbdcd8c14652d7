"""An MCP server on stdio whose tools also ask the person, tell how far they are, and more."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from tests.agents.claude.live import mcp_server as tiny

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Yours"},
        "age": {"type": "integer"},
        "weight": {"type": "number"},
        "member": {"type": "boolean"},
        "colour": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
        "sizes": {"type": "array", "items": {"type": "string", "enum": ["S", "M", "L"]}},
        "note": {"type": "string"},
    },
    "required": ["name"],
}
ASKS: dict[str, dict[str, Any]] = {
    "form": {"mode": "form", "message": "Who are you?", "requestedSchema": FORM},
    "consent": {
        "mode": "form",
        "message": "Shall I?",
        "requestedSchema": {"type": "object", "properties": {}},
    },
    "visit": {
        "mode": "url",
        "message": "Sign in, please.",
        "url": "https://example.com/sign-in",
        "elicitationId": "visit-1",
    },
}
TOOLS = {
    **tiny.TOOLS,
    "form": "Asks for a form",
    "consent": "Asks for consent",
    "visit": "Asks for a visit",
    "slow": "Tells how far it is",
    "facts": "Gives structured content",
    "link": "Gives a resource",
    "bytes": "Gives what is no text",
}


def called(name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """What a tool gives back."""
    match name:
        case "form" | "consent" | "visit":
            told = asked(ASKS[name])
            return {"content": [{"type": "text", "text": json.dumps(told, sort_keys=True)}]}
        case "slow":
            token = (wanted.get("_meta") or {}).get("progressToken")
            about = {"progressToken": token, "progress": 1, "total": 2, "message": "half way"}
            say({"method": "notifications/progress", "params": about})
            return {"content": [{"type": "text", "text": "done"}]}
        case "facts":
            words = [{"type": "text", "text": "two facts"}]
            return {"content": words, "structuredContent": {"a": 1, "b": [True, None]}}
        case "link":
            link = {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"}
            return {"content": [link]}
        case "bytes":
            data = base64.b64encode(b"PK\x03\x04 \xff").decode()
            about = {"uri": "file:///a.zip", "mimeType": "application/zip", "blob": data}
            return {"content": [{"type": "resource", "resource": about}]}
        case _:
            return tiny.called(name, wanted.get("arguments") or {})


def asked(question: dict[str, Any]) -> Any:
    """What a person answers."""
    say({"id": "ask", "method": "elicitation/create", "params": question})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "ask":
            return message.get("result") or message.get("error")
    return None


def say(message: dict[str, Any]) -> None:
    """Tell the client something."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    match message["method"]:
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            listed = [
                {"name": name, "description": about, "inputSchema": schema}
                for name, about in TOOLS.items()
            ]
            return {"tools": listed}
        case "tools/call":
            return called(message["params"]["name"], message["params"])
        case _:
            return tiny.answer(message)


def main() -> None:
    """Answer until nobody asks."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            say({"id": message["id"], "result": answer(message)})


if __name__ == "__main__":
    main()
