"""An agent that does what real ones cannot be made to do; nothing but the standard library.

`ODD` says how it opens: `login` wants to be logged in, `two` speaks another version, `hang` never
answers. A prompt is what it then does: `form`, `page`, `sound`, `ask`, or any words.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

ODD = os.environ.get("ODD", "")
FORM = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["Red", "Blue"]}}}


def say(**message: Any) -> None:
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def chunk(block: dict[str, Any]) -> None:
    """Say a piece of the answer."""
    update = {"sessionUpdate": "agent_message_chunk", "content": block}
    say(method="session/update", params={"sessionId": "odd", "update": update})


def text(words: str) -> None:
    """Say words."""
    chunk({"type": "text", "text": words})


def ask(method: str, **params: Any) -> dict[str, Any] | None:
    """Ask, and wait for the answer; None: somebody cancels the turn, and the answer came first."""
    say(id="q1", method=method, params={"sessionId": "odd", **params})
    answer: dict[str, Any] | None = None
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if message.get("method") == "session/cancel":
            return None
        if message.get("id") == "q1":
            answer = message
            if answer["result"].get("action") == "cancel" or "cancelled" in str(answer["result"]):
                continue
            return answer
    return answer


def prompt(words: str) -> bool:
    """Act; False: it was cancelled."""
    if words == "form":
        answer = ask("elicitation/create", mode="form", message="Choose", requestedSchema=FORM)
    elif words == "page":
        about = {"mode": "url", "url": "https://a.example/login", "elicitationId": "e1"}
        answer = ask("elicitation/create", message="Log in", **about)
    elif words == "ask":
        call = {"toolCallId": "c1", "title": "rm a", "kind": "execute"}
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        answer = ask("session/request_permission", toolCall=call, options=options)
    elif words == "sound":
        data = base64.b64encode(b"RIFF").decode()
        chunk({"type": "audio", "data": data, "mimeType": "audio/wav"})
        held = {"uri": "file:///held.txt", "text": "Held."}
        chunk({"type": "resource", "resource": held})
        return True
    else:
        text(words)
        return True
    if answer is None:
        return False
    text(json.dumps(answer["result"]))
    return True


def main() -> None:
    """Serve one client, until stdin ends."""
    logged_in = False
    while line := sys.stdin.readline():
        message: dict[str, Any] = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize" and ODD != "hang":
            ways = [{"id": "api-key", "name": "API key", "type": "env_var"}] * (ODD == "login")
            version = 2 if ODD == "two" else 1
            say(id=id, result={"protocolVersion": version, "authMethods": ways})
        elif method == "authenticate":
            logged_in = True
            say(id=id, result={})
        elif method == "session/new" and ODD == "login" and not logged_in:
            say(id=id, error={"code": -32000, "message": "Authentication required"})
        elif method == "session/new":
            say(id=id, result={"sessionId": "odd"})
        elif method == "session/prompt":
            if prompt(message["params"]["prompt"][0]["text"]):
                say(id=id, result={"stopReason": "end_turn"})
            else:
                say(id=id, error={"code": -32603, "message": "aborted"})


if __name__ == "__main__":
    main()
