"""An MCP server on stdio with a few tools, in no more words than Claude Code needs."""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()
TOOLS = {
    "echo": "Repeats a text",
    "fail": "Always fails",
    "secret": "Tells how long its secret is",
    "paint": "Gives a picture and a word",
}


def called(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a tool gives back."""
    match name:
        case "echo":
            return _text(f"echo: {given.get('text', '')}")
        case "secret":
            return _text(f"length {len(os.environ.get('TINY_SECRET', ''))}")
        case "paint":
            image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
            return {"content": [{"type": "text", "text": "a pixel"}, image]}
        case _:
            return {**_text("it failed"), "isError": True}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    wanted = message.get("params") or {}
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": wanted["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"},
            }
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            return {
                "tools": [
                    {"name": name, "description": about, "inputSchema": schema}
                    for name, about in TOOLS.items()
                ]
            }
        case "tools/call":
            return called(wanted["name"], wanted.get("arguments") or {})
        case _:
            return {}


def main() -> None:
    """Answer until nobody asks."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
