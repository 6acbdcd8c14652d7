import type { Event, EventOf, Item } from "dragoman-client";
import { describe, expect, test } from "vitest";
import { compact, type Entry, emptyView, fold, type View } from "../src/state/fold";
import { type Recording, recordings } from "./recordings";

const ALL = recordings();

describe.each(ALL)("$name", ({ events }: Recording) => {
  const whole = fold(emptyView(), events);

  test("folds at once as event by event, and without what is repeated", () => {
    const stepped = events.reduce((view, event) => fold(view, [event]), emptyView());
    expect(stepped).toEqual(whole);
    expect(fold(emptyView(), compact(events))).toEqual(whole);
  });

  test("every item that completes is shown, once, as it completed", () => {
    const shown = itemsOf(whole);
    for (const { data } of completions(events)) {
      expect(shown.filter(({ item_id: id }) => id === data.item.item_id)).toEqual([data.item]);
    }
  });

  test("every line is in one place", () => {
    expect(placesOf(whole).sort()).toEqual([...whole.entries.keys()].sort());
  });

  test("what streamed adds up to what completes", () => {
    let view = emptyView();
    for (const event of events) {
      if (event.type === "item.completed") {
        const before = itemsOf(view).find(({ item_id: id }) => id === event.data.item.item_id);
        expect(streamed(before)).toEqual(streamed(event.data.item));
      }
      view = fold(view, [event]);
    }
  });

  test("from any event on, everything that completes later is shown, once", () => {
    for (let from = 1; from < events.length; from++) {
      const later = events.slice(from);
      const view = fold(emptyView(), later);
      expect(new Set(placesOf(view)).size).toBe(view.entries.size);
      expect(placesOf(view).length).toBe(view.entries.size);
      const shown = new Map(itemsOf(view).map((item) => [item.item_id, item]));
      for (const { data } of completions(later)) {
        expect(shown.get(data.item.item_id)).toEqual(data.item);
      }
    }
  });
});

test("the recordings hold what this is about", () => {
  const entries = ALL.flatMap(({ events }) => [...fold(emptyView(), events).entries.values()]);
  const tools = entries.filter((entry) => entry.kind === "tool");
  expect(new Set(entries.map((entry) => entry.kind))).toEqual(
    new Set(["item", "tool", "permission", "question", "note", "turn"]),
  );
  expect(tools.some((tool) => tool.requests.length > 0)).toBe(true);
  expect(tools.some((tool) => tool.children.length > 0)).toBe(true);
});

test("a call whose id was used before is another call", () => {
  const view = fold(emptyView(), [
    ...call(1, "itm_1", "first"),
    ...result(3, "itm_2", "one"),
    ...call(5, "itm_3", "second"),
    asked(7),
    ...result(8, "itm_4", "two"),
  ]);
  const tools = view.order.map((key) => view.entries.get(key)).filter((it) => it?.kind === "tool");
  expect(tools.map((tool) => [tool.call?.item_id, tool.result?.item_id])).toEqual([
    ["itm_1", "itm_2"],
    ["itm_3", "itm_4"],
  ]);
  expect(tools.map((tool) => tool.requests.length)).toEqual([0, 1]);
});

test("a view stays as it was when more is folded in", () => {
  const events = ALL.find(({ name }) => name === "mock/tools")?.events ?? [];
  const half = fold(emptyView(), events.slice(0, 20));
  const copy = structuredClone(half);
  fold(half, events.slice(20));
  expect(half).toEqual(copy);
});

test("an item that began earlier is known to lack its beginning, until it completes", () => {
  const events = ALL.find(({ name }) => name === "mock/tools")?.events ?? [];
  const start = events.findIndex(({ type }) => type === "item.delta");
  const delta = events[start] as EventOf<"item.delta">;
  const end = events.findIndex(
    (it) => it.type === "item.completed" && it.data.item.item_id === delta.data.item_id,
  );
  expect(fold(emptyView(), events.slice(start, end)).headless).toContain(delta.data.item_id);
  expect(fold(emptyView(), events.slice(start, end + 1)).headless.size).toBe(0);
});

function completions(events: readonly Event[]): EventOf<"item.completed">[] {
  return events.filter((event) => event.type === "item.completed");
}

function itemsOf(view: View): Item[] {
  return [...view.entries.values()].flatMap((entry) => {
    if (entry.kind === "item") return [entry.item];
    if (entry.kind === "tool") return [entry.call, entry.result].filter((item) => item !== null);
    return [];
  });
}

/** The keys of all lines, where they stand: by themselves, or below another one. */
function placesOf(view: View): string[] {
  const below = (entry: Entry) =>
    entry.kind === "tool" ? [...entry.requests, ...entry.children] : [];
  return [...view.order, ...[...view.entries.values()].flatMap(below)];
}

/** What of an item comes in pieces; an output's pieces are a preview. */
function streamed(item: Item | undefined): string | undefined {
  const texts = item?.content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    return part.type === "tool_call" ? part.arguments : "";
  });
  return texts?.join("");
}

function event(sequence: number, type: Event["type"], data: unknown): Event {
  const stamp = { event_id: `evt_${sequence}`, sequence, time: "2026-01-01T00:00:00Z" };
  return { ...stamp, type, data } as unknown as Event;
}

function both(sequence: number, item: Partial<Item>): Event[] {
  return [
    event(sequence, "item.started", { item: { ...item, status: "in_progress" } }),
    event(sequence + 1, "item.completed", { item: { ...item, status: "completed" } }),
  ];
}

function call(sequence: number, id: string, name: string): Event[] {
  const part = { type: "tool_call", name, arguments: "{}", call_id: "again" } as const;
  return both(sequence, { item_id: id, kind: "tool_call", content: [part] });
}

function result(sequence: number, id: string, output: string): Event[] {
  const part = { type: "tool_result", output, call_id: "again" } as const;
  return both(sequence, { item_id: id, kind: "tool_result", content: [part] });
}

function asked(sequence: number): Event {
  const metadata = { call_id: "again" };
  return event(sequence, "permission.requested", { permission_id: "p", action: "x", metadata });
}
