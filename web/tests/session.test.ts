import { execFileSync } from "node:child_process";
import type { Event, Usage } from "dragoman-client";
import { beforeAll, describe, expect, test } from "vitest";
import { add, apply, newState, type SessionState, statusOf } from "../src/state/session";
import { PYTHON, ROOT, recordings } from "./recordings";

interface Folded {
  recording: string;
  states: Record<string, unknown>[];
  status: string;
}

describe("the same fold as the daemon's", () => {
  const folded = new Map<string, Folded>();

  beforeAll(() => {
    const printed = execFileSync(PYTHON, ["-m", "tests.folded"], {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    for (const line of printed.trim().split("\n")) {
      const each: Folded = JSON.parse(line);
      folded.set(each.recording, each);
    }
  }, 60_000);

  test("knows every recording", () => {
    expect([...folded.keys()].sort()).toEqual(recordings().map(({ name }) => name));
    expect(folded.size).toBeGreaterThan(250);
  });

  test.each(recordings())("$name, after each event", ({ name, events }) => {
    let state = newState({ agentMode: "" });
    const states = events.map((event) => {
      state = apply(state, event);
      return inPython(state);
    });
    expect(states).toEqual(folded.get(name)?.states.map(touched));
    expect(statusOf(state)).toBe(folded.get(name)?.status);
  });
});

/** Our state in the daemon's words. */
function inPython(state: SessionState) {
  return {
    agent_mode: state.agentMode,
    permission_mode: state.permissionMode,
    model: state.model,
    variant: state.variant,
    title: state.title,
    turn_id: state.turnId,
    ended: state.ended,
    last_outcome: state.lastOutcome,
    continuity: state.continuity,
    usage: state.usage,
    tools: state.tools,
    changes: state.changes,
    permissions: state.permissions,
    questions: state.questions,
    rules: state.rules,
    queue: state.queue.map((message) => message.message_id),
  };
}

/** What the daemon learns elsewhere than from events, or the page does from the daemon. */
const ELSEWHERE = ["native_session_id", "confirmed", "tentative_id", "open_since", "preview"];

function touched(state: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !ELSEWHERE.includes(name)));
}

const NONE: Usage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
};

describe("the sum of usages", () => {
  test("adds counts and costs, and each model's", () => {
    const one: Usage = {
      ...NONE,
      input_tokens: 1,
      cost_usd: 0.1,
      cost_source: "reported",
      models: { a: { input_tokens: 1, cost_usd: 0.1 } },
    };
    const other: Usage = {
      ...NONE,
      input_tokens: 2,
      output_tokens: 5,
      cost_usd: 0.2,
      cost_source: "reported",
      models: { a: { output_tokens: 5, cost_usd: 0.2 }, b: { input_tokens: 2 } },
    };
    expect(add(one, other)).toEqual({
      ...NONE,
      input_tokens: 3,
      output_tokens: 5,
      cost_usd: 0.3,
      cost_source: "reported",
      models: {
        a: { input_tokens: 1, output_tokens: 5, cost_usd: 0.3 },
        b: { input_tokens: 2 },
      },
    });
  });

  test("a cost that is known for one of them stays what it is", () => {
    const known: Usage = { ...NONE, cost_usd: 0.25, cost_source: "reported" };
    expect(add(known, NONE)).toEqual(known);
    expect(add(NONE, NONE)).toEqual(NONE);
  });

  test("a sum that holds an estimate is one", () => {
    const reported: Usage = { ...NONE, cost_usd: 1, cost_source: "reported" };
    const estimated: Usage = { ...NONE, cost_usd: 1, cost_source: "estimated" };
    expect(add(reported, estimated).cost_source).toBe("estimated");
  });
});

test("a type that is not known yet changes nothing", () => {
  const state = newState();
  const later = { type: "moon.risen", data: {}, sequence: 1 } as unknown as Event;
  expect(apply(state, later)).toBe(state);
});
