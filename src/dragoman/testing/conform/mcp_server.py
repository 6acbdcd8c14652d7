"""A tiny MCP server over stdio with one tool, `shout`, for agents to call."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = [
    {
        "name": "shout",
        "description": "Gives a text back in capitals.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    }
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None: there is no such method."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            text = str(params.get("arguments", {}).get("text", "")).upper()
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        result = answer(request["method"], request.get("params") or {})
        if result is None:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
