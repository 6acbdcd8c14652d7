"""Speaks to a scripted model as an agent does, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from dragoman.testing.model import ScriptedModel
from dragoman.wire.sse import SseParser

PATHS = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
}
APIS = tuple(PATHS)
TOOLS = [{"name": "Bash"}]


def body(api: str, prompt: str = "go", *, stream: bool = True, main: bool = True) -> dict[str, Any]:
    """A request as an agent makes it."""
    said = [{"role": "user", "content": prompt}]
    made: dict[str, Any] = {"model": "some-model", "stream": stream}
    made["input" if api == "responses" else "messages"] = said
    if api == "chat":
        made["stream_options"] = {"include_usage": True}
    tools = [{"type": "function", "function": each} for each in TOOLS] if api == "chat" else TOOLS
    return made | ({"tools": tools} if main else {})


class Stream:
    """An answer that is being streamed."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.done = False
        """Whether Chat Completions said that it is done."""

    def events(self) -> Iterator[dict[str, Any]]:
        """The events as they come."""
        parser = SseParser()
        for chunk in self.response.iter_bytes():
            for _, data in parser.feed(chunk):
                self.done = data == b"[DONE]"
                if not self.done:
                    yield json.loads(data)


@contextmanager
def streaming(
    model: ScriptedModel, api: str, prompt: str = "go", headers: dict[str, str] | None = None
) -> Iterator[Stream]:
    """Ask for a stream."""
    url = model.url + PATHS[api]
    with httpx2.stream("POST", url, json=body(api, prompt), headers=headers) as response:
        yield Stream(response)


def answer(model: ScriptedModel, api: str, prompt: str = "go", **options: Any) -> httpx2.Response:
    """Ask for one document."""
    headers = options.pop("headers", None)
    asked = body(api, prompt, **({"stream": False} | options))
    return httpx2.post(model.url + PATHS[api], json=asked, headers=headers)


def events(model: ScriptedModel, api: str, prompt: str = "go") -> list[dict[str, Any]]:
    """A whole stream."""
    with streaming(model, api, prompt) as stream:
        return list(stream.events())


def text_of(event: dict[str, Any]) -> str:
    """The text in an event, in any of the APIs; mostly there is none."""
    if event.get("type") == "content_block_delta":
        return str(event["delta"].get("text", ""))
    if event.get("type") == "response.output_text.delta":
        return str(event["delta"])
    choices = event.get("choices") or [{"delta": {}}]
    return str(choices[0]["delta"].get("content") or "")


def said(model: ScriptedModel, api: str, prompt: str = "go") -> str:
    """All text of a stream."""
    return "".join(map(text_of, events(model, api, prompt)))
