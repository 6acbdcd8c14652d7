import { describe, expect, test } from "vitest";
import { toMarkdown } from "../src/inspect/export";
import { exported, nameOf } from "../src/inspect/exportLog";
import { emptyView, fold } from "../src/state/fold";
import { Memory, message } from "./memory";
import { recordings } from "./recordings";

const ABOUT = { sessionId: "s-1", agent: "mock", title: "A *title*", directory: "/work`shop" };
const ALL = recordings();

function markdownOf(name: string): string {
  const recording = ALL.find((each) => each.name === name);
  return toMarkdown(fold(emptyView(), recording?.events ?? []), ABOUT);
}

describe("a session as Markdown", () => {
  test("begins with what it is", () => {
    expect(toMarkdown(emptyView(), ABOUT)).toBe(
      "# A \\*title\\*\n\n- Session: `s-1`\n- Agent: `mock`\n- Directory: `` /work`shop ``\n",
    );
  });

  test("has what was said, and by whom", () => {
    const text = markdownOf("mock/text");
    expect(text).toContain("## You\n\n");
    expect(text).toContain("## Agent\n\n");
    expect(text).toMatch(/\*Turn completed · .* tokens in, \d+ out · \$[\d.]+\*/);
  });

  test("has tools with their arguments, results and diffs", () => {
    const text = markdownOf("mock/tools");
    expect(text).toMatch(/^### `\w+`/m);
    expect(text).toContain("```json\n");
    expect(text).toContain("```diff\ndiff --git");
    expect(text).toMatch(/exit code \d/);
  });

  test("has what was asked, and the answer", () => {
    const text = ALL.map(({ name }) => markdownOf(name)).join("\n");
    expect(text).toMatch(/\*\*Permission\*\* `.*`: allowed once/);
    expect(text).toMatch(/\*\*Permission\*\* .*: refused/);
    expect(text).toMatch(/\*\*Question\*\* .*\n(> )?\*\*Answer\*\* /);
    expect(text).toMatch(/\*\*Error\*\*/);
    expect(text).toMatch(/\*\*Not understood\*\*/);
  });

  test("leaves nothing out, and nothing strange in, of any recording", () => {
    for (const { name, events } of ALL) {
      const text = markdownOf(name);
      expect(text).not.toMatch(/undefined|\[object|NaN/);
      for (const event of events) {
        if (event.type !== "item.completed" || event.data.item.kind !== "message") continue;
        for (const part of event.data.item.content) {
          if (part.type !== "text" || part.text.includes("\n")) continue;
          expect(text).toContain(part.text.trim());
        }
      }
    }
  });

  test("a fence in a text does not end the block around it", () => {
    const call = {
      ...message(1),
      data: {
        item: {
          ...(message(1).data as { item: object }).item,
          kind: "tool_result",
          role: "tool",
          content: [{ type: "tool_result", call_id: "c", output: "a\n````\nb" }],
        },
      },
    } as unknown as Parameters<typeof fold>[1][number];
    const text = toMarkdown(fold(emptyView(), [call]), ABOUT);
    expect(text).toContain("`````\na\n````\nb\n`````");
  });
});

describe("a file", () => {
  const session = (memory: Memory) =>
    ({ ...ABOUT, eventCount: memory.events.length }) as Parameters<typeof exported>[1];

  test("has every event, one on each line", async () => {
    const memory = new Memory(2_500);
    const told: number[] = [];
    const telling = {
      signal: new AbortController().signal,
      onProgress: (done: number) => void told.push(done),
    };
    const file = await exported(memory.client, session(memory), "jsonl", telling);
    const lines = (await file.text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(memory.events);
    expect(told).toEqual([1_000, 2_000, 2_500]);
    expect(memory.asked.every((path) => path.includes("include_raw=false"))).toBe(true);

    await exported(memory.client, session(memory), "raw", telling);
    expect(memory.asked.at(-1)).toContain("include_raw=true");
  });

  test("of Markdown holds the whole session", async () => {
    const memory = new Memory(2_500);
    const telling = { signal: new AbortController().signal, onProgress: () => {} };
    const file = await exported(memory.client, session(memory), "markdown", telling);
    const text = await file.text();
    expect(text).toContain("line 1\n");
    expect(text).toContain("line 2500\n");
    expect(nameOf(session(memory), "markdown")).toBe("s-1.md");
    expect(nameOf(session(memory), "raw")).toBe("s-1.jsonl");
  });

  test("can be given up", async () => {
    const memory = new Memory(10);
    const stop = new AbortController();
    const client = memory.client;
    stop.abort();
    const telling = { signal: stop.signal, onProgress: () => {} };
    await expect(exported(client, session(memory), "jsonl", telling)).rejects.toThrow();
  });
});
