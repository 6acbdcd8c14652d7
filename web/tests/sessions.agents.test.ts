import { type AgentProcess, DragomanError, type ProcessInfo } from "dragoman-client";
import { expect, test } from "vitest";
import { agentField, agentOf, EMPTY_AGENT } from "../src/inspect/agentDraft";
import { featuresOf, verdict } from "../src/inspect/features";
import { branches, busy, sampleOf } from "../src/inspect/tree";
import { uptime } from "../src/inspect/uptime";

const process = (pid: number, parentPid: number) => ({ pid, parentPid }) as ProcessInfo;

test("a tree is read from parents to children", () => {
  const tree = [process(10, 1), process(12, 10), process(11, 10), process(13, 12)];
  expect(branches(tree).map(({ process: { pid }, depth }) => [pid, depth])).toEqual([
    [10, 0],
    [12, 1],
    [13, 2],
    [11, 1],
  ]);
});

test("a loop loses no process", () => {
  const tree = [process(1, 1), process(2, 3), process(3, 2)];
  expect(branches(tree).map(({ process: { pid } }) => pid)).toEqual([1, 2, 3]);
});

test("how busy a process is needs two looks", () => {
  const seen = (cpuMs: number) => [{ pid: 7, cpuMs }] as AgentProcess[];
  const before = sampleOf(seen(100), 1000);
  const after = sampleOf(seen(600), 2000);
  expect(busy(7, before, after)).toBe(50);
  expect(busy(7, null, after)).toBe(null);
  expect(busy(8, before, after)).toBe(null);
});

test("features are named, also those that nobody knows yet", () => {
  const features = featuresOf([{ newThing: {}, steer: {} }, { textMessages: {} }]);
  expect(features.map(({ name }) => name)).toEqual([
    "Messages",
    "Steer a running turn",
    "New thing",
  ]);
});

test("native and shown are told apart", () => {
  expect(verdict({ native: true, shown: true }).word).toBe("yes");
  expect(verdict({ native: true, shown: false }).word).toBe("not shown");
  expect(verdict({ native: false, shown: true }).word).toBe("by Dragoman");
  expect(verdict({ native: false, shown: false }).word).toBe("no");
  expect(verdict(undefined).word).toBe("unknown");
});

test("a long time is said in its two largest units", () => {
  expect(uptime(0)).toBe("0 s");
  expect(uptime(59_000)).toBe("59 s");
  expect(uptime(3_600_000)).toBe("1 h 0 min");
  expect(uptime(90_061_000)).toBe("1 d 1 h");
});

test("what is left empty is not asked for when an agent is added", () => {
  const draft = { ...EMPTY_AGENT, id: " mine ", command: "mine --acp\n" };
  expect(agentOf(draft)).toEqual({ id: "mine", command: "mine --acp" });
  const env = [
    { key: 1, name: "KEY", value: "a value" },
    { key: 2, name: " ", value: "of nothing" },
  ];
  expect(agentOf({ ...draft, name: "Mine", env, fs: true, terminal: true })).toEqual({
    id: "mine",
    command: "mine --acp",
    name: "Mine",
    env: { KEY: "a value" },
    fs: true,
    terminal: true,
  });
});

test("a refused agent is about the field that the daemon names", () => {
  const refused = (status: number, field?: string) =>
    new DragomanError(status, { type: "urn:x", title: "", status, details: { field } as never });
  expect(agentField(refused(400, "command"))).toBe("command");
  expect(agentField(refused(400, "env[...]"))).toBe("env");
  expect(agentField(refused(409))).toBe("id");
  expect(agentField(refused(507))).toBe(null);
  expect(agentField(new Error("lost"))).toBe(null);
});
