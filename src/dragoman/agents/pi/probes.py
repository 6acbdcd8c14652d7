"""How `dragoman conform` makes Pi act, and which of its messages leave no event."""

from __future__ import annotations

import msgspec

from dragoman.agents.pi.tools import REPLACED_FILE
from dragoman.facts import Block, IgnoredMessage, ProbeRecipes

# --- Probes: the tools that a scripted model calls ---

ASK_EXTENSION = """\
export default function (pi: any) {
  pi.registerTool({
    name: "ask_person",
    label: "Ask",
    description: "Ask the person a question.",
    annotations: { readOnlyHint: true },
    parameters: {
      type: "object",
      properties: {
        question: { type: "string" },
        options: { type: "array", items: { type: "string" } },
      },
      required: ["question", "options"],
    },
    async execute(_id: string, given: any, signal: any, _update: any, ctx: any) {
      const answer = await ctx.ui.select(given.question, given.options, { signal });
      return { content: [{ type: "text", text: answer ?? "No answer." }], details: {} };
    },
  });
}
"""
"""An extension that asks questions, as a user may have one: Pi has no tool for it."""


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {"HOME": home, "PI_CODING_AGENT_DIR": f"{home}/.pi/agent", "PI_OFFLINE": "1"}


def model(id: str, name: str, url: str) -> dict[str, object]:
    """A model at this URL, in Pi's own configuration."""
    return {
        "id": id,
        "name": name,
        "reasoning": True,
        "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1},
        "contextWindow": 200_000,
        "maxTokens": 8000,
    }


def files(url: str) -> dict[str, str]:
    """Pi's configuration: two models at this URL, few retries, and an extension that asks."""
    provider = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [model("one", "One", url), model("two", "Two", url)],
    }
    settings = {
        "defaultProvider": "scripted",
        "defaultModel": "one",
        # The provider's own library would try again first, and tell nobody (0.73.1).
        "retry": {
            "enabled": True,
            "maxRetries": 1,
            "baseDelayMs": 10,
            "provider": {"maxRetries": 0},
        },
    }
    return {
        ".pi/agent/models.json": _json({"providers": {"scripted": provider}}),
        ".pi/agent/settings.json": _json(settings),
        ".pi/agent/extensions/ask.ts": ASK_EXTENSION,
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _call(tool: str, **arguments: object) -> Block:
    return {"tool": tool, "input": arguments}


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    files=files,
    run=lambda command: _call("bash", command=command),
    write=lambda path, text: _call("write", path=path, content=text),
    look=lambda path: _call("read", path=path),
    ask=lambda question, options: _call("ask_person", question=question, options=list(options)),
    mcp=lambda server, tool, arguments: _call(f"mcp__{server}__{tool}", **arguments),
    variant="reasoning_effort",
    variants=("low", "high"),
)
"""What `dragoman conform` does with Pi."""


# --- Messages that leave no event ---


def _role(role: str, why: str) -> tuple[IgnoredMessage, ...]:
    return tuple(
        IgnoredMessage(where={"type": type, "message.role": role}, why=why)
        for type in ("message_start", "message_end")
    )


def _piece(kind: str, why: str) -> IgnoredMessage:
    return IgnoredMessage(
        where={"type": "message_update", "assistantMessageEvent.type": kind}, why=why
    )


_PART = "A text is a part of its message, which starts with the text's first piece."

IGNORED = (
    IgnoredMessage(where={"type": "turn_start"}, why="The model is asked: its message shows it."),
    IgnoredMessage(where={"type": "turn_end"}, why="Repeats a message and its tools' results."),
    IgnoredMessage(where={"type": "agent_start"}, why="A next run of the same turn."),
    IgnoredMessage(
        where={"type": "agent_end"}, why="Repeats messages; the turn ends when Pi settles."
    ),
    IgnoredMessage(
        where={"type": "queue_update"}, why="Repeats messages of people, which wait with Pi."
    ),
    IgnoredMessage(where={"type": "entry_appended"}, why="A line of Pi's own file."),
    IgnoredMessage(
        where={"type": "response", "success": True},
        why="Says yes to a command of ours, whose effect is shown.",
    ),
    IgnoredMessage(
        where={"type": "response", "command": "abort"}, why="The turn's end says what came of it."
    ),
    IgnoredMessage(
        where={"type": "extension_ui_request", "statusKey": REPLACED_FILE},
        why="Our extension tells what `write` replaces, for the diff of its result.",
    ),
    *_role("system", "Pi's own instructions to the model, with its tools."),
    *_role("toolResult", "Repeats the result that tool_execution_end gave."),
    *_role("user", "Repeats a person's message that was shown, with its start or before it."),
    *_role("bashExecution", "A command that a client of Pi ran; we run none."),
    IgnoredMessage(
        where={"type": "message_start", "message.role": "assistant"},
        why="The message's item starts with its first text or tool; thoughts come before it.",
    ),
    IgnoredMessage(
        where={"type": "message_end", "message.role": "assistant"},
        why="Completes a message's item; one that was only thought, or failed, has none.",
    ),
    IgnoredMessage(
        where={"type": "message_end", "message.role": "custom"}, why="Repeats its start."
    ),
    IgnoredMessage(
        where={"message.role": "custom", "message.display": False},
        why="An extension tells it to the model, and not to people.",
    ),
    IgnoredMessage(
        where={"type": "message_end", "message.role": "branchSummary"}, why="Repeats its start."
    ),
    IgnoredMessage(
        where={"type": "message_end", "message.role": "compactionSummary"},
        why="Repeats its start.",
    ),
    IgnoredMessage(
        where={"type": "message_update", "assistantMessageEvent.delta": ""}, why="An empty piece."
    ),
    _piece("start", "The message's own start came before it."),
    _piece("text_start", _PART),
    _piece("text_end", "Repeats a text whose pieces were shown."),
    _piece("toolcall_start", "Before 0.84.3: it does not always name the call yet."),
    IgnoredMessage(
        where={"type": "tool_execution_start"}, why="Its call was shown, with the same input."
    ),
    IgnoredMessage(
        where={"type": "tool_execution_update"}, why="Repeats the output that was shown."
    ),
    IgnoredMessage(
        where={"type": "thinking_level_changed"}, why="Repeats the level that was asked for."
    ),
    IgnoredMessage(
        where={"type": "auto_retry_end"}, why="The answer, or the error of the turn, shows it."
    ),
    IgnoredMessage(
        where={"type": "summarization_retry_attempt_start"}, why="Its announcement was shown."
    ),
    IgnoredMessage(
        where={"type": "summarization_retry_finished"}, why="The compaction's end shows it."
    ),
    IgnoredMessage(where={"type": "bash_execution_update"}, why="Of a command that we never give."),
)
"""What leaves no event, and why. Reviewed, and short."""
