"""What the model is scripted to do, and extensions that a user of Pi may have."""

from __future__ import annotations

from typing import Any

from dragoman.agents.pi.probes import ASK_EXTENSION

ASKS = ASK_EXTENSION
"""A tool by which the model asks a person."""


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"tool": name, "input": given}


def bash(command: str) -> dict[str, Any]:
    """A command; it is asked for."""
    return tool("bash", command=command)


DIALOGS = """\
export default function (pi: any) {
  pi.on("tool_call", async (event: any, ctx: any) => {
    const command = String(event.input?.command ?? "");
    if (command.includes("danger")) {
      const sure = await ctx.ui.confirm("Run it?", command);
      if (!sure) return { block: true, reason: "The guard says no." };
    }
    if (command.includes("choose")) {
      const choice = await ctx.ui.select("Which way?", ["Left", "Right"]);
      ctx.ui.notify(`going ${choice ?? "nowhere"}`, "info");
    }
    if (command.includes("hurry")) {
      const choice = await ctx.ui.select("Quick?", ["Yes", "No"], { timeout: 300 });
      ctx.ui.notify(`it was ${choice ?? "missed"}`, "warning");
    }
    if (command.includes("boom")) throw new Error("the guard exploded");
    return undefined;
  });
  pi.on("turn_end", async () => {
    if (process.env.GUARD_FAILS) throw new Error("the guard fell over");
  });
  pi.registerCommand("name", {
    description: "Ask for a name.",
    handler: async (_words: string, ctx: any) => {
      const name = await ctx.ui.input("What is your name?", "type it");
      ctx.ui.setStatus("guard", `hello ${name}`);
    },
  });
  pi.registerCommand("edit", {
    description: "Ask for a text.",
    handler: async (_words: string, ctx: any) => {
      const text = await ctx.ui.editor("Edit this", "first\\nsecond");
      ctx.ui.notify(`got ${text}`, "info");
    },
  });
  pi.registerCommand("hurry", {
    description: "Ask in all the ways that may have a time-out; Pi itself has none for an editor.",
    handler: async (_words: string, ctx: any) => {
      const sure = await ctx.ui.confirm("Sure?", "Be quick.", { timeout: 200 });
      const name = await ctx.ui.input("Your name?", "type it", { timeout: 200 });
      const text = await ctx.ui.editor("Edit this", "first");
      ctx.ui.notify(`got ${sure}, ${name}, ${text}`, "info");
    },
  });
  pi.registerCommand("say", {
    description: "Add something to the conversation.",
    handler: async (words: string) => {
      pi.sendMessage({ customType: "guard", content: `the guard says ${words}`, display: true });
    },
  });
  pi.registerCommand("show", {
    description: "Show all kinds of things.",
    handler: async (_words: string, ctx: any) => {
      ctx.ui.setWidget("guard", ["one", "two"]);
      ctx.ui.setTitle("pi - guarded");
      ctx.ui.setEditorText("write here");
      ctx.ui.notify("it failed", "error");
    },
  });
}
"""
"""An extension that asks, shows and fails in all the ways that there are."""
