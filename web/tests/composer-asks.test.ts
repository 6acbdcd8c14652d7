import { DragomanError, type Question } from "dragoman-client";
import { describe, expect, it } from "vitest";
import {
  addressIn,
  endOf,
  outcomeOf,
  questionsOf,
  receiptOf,
  refusalOf,
  wantedBy,
  wishOf,
} from "../src/conversation/asks";
import {
  answersOf,
  firstNumber,
  NO_CHOICE,
  noChoices,
  optionAt,
  picking,
  saying,
  takesOther,
} from "../src/conversation/choices";
import { bySession, linesAfter, settledBy } from "../src/inspect/inboxLines";
import { whatWaits } from "../src/sessions/recent";
import type { Waiting } from "../src/state/sessions";
import { recordings } from "./recordings";

describe("what is wanted", () => {
  it("is read from whatever the agent says, and nothing is made up", () => {
    expect(wantedBy({ action: "Bash", metadata: null })).toMatchObject({
      command: null,
      paths: [],
      input: null,
      rule: "Bash",
    });
    expect(
      wantedBy({ action: "x", metadata: { path: "/a", input: { n: 1 }, command: 7 } }),
    ).toMatchObject({ command: null, paths: ["/a"], input: '{\n  "n": 1\n}' });
  });
});

describe("what is wanted, in words", () => {
  // Approvals spoke in the names of tools: "Wants to use fileChange", "Wants to use commandExecution".
  const file = (name: string, lines: string) =>
    `diff --git a/${name} b/${name}\n${lines}--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-a\n+b\n`;
  const gone = (name: string) =>
    `diff --git a/${name} b/${name}\ndeleted file mode 100644\n--- a/${name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n`;
  const paths = ["/w/a", "/w/b"];

  it.each([
    ["commandExecution", { command: "make clean" }, "run a command"],
    ["fileChange", { diff: file("a", "") + file("b", ""), paths }, "change 2 files"],
    ["Edit", { diff: file("a", "") }, "change a file"],
    ["Write", { diff: "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n" }, "create a file"],
    ["fileChange", { diff: gone("a") + gone("b"), paths }, "delete 2 files"],
    ["fileChange", { diff: gone("a") + file("b", ""), paths }, "change 2 files"],
    ["Edit", { diff: "not a diff", paths }, "change 2 files"],
    ["Read", { paths: ["/w/a"] }, "use Read"],
    ["mcp__tiny__echo", null, "use mcp__tiny__echo"],
  ])("%s %j", (action, metadata, wish) => {
    expect(wishOf(action, wantedBy({ action, metadata }))).toBe(wish);
  });

  it("is one line on a receipt, and where it waits", () => {
    const asked = {
      action: "fileChange",
      metadata: { diff: file("a", "") + file("b", ""), paths },
    };
    expect(receiptOf("fileChange", wantedBy(asked))).toBe("Change 2 files: /w/a, /w/b");
    const run = { permission_id: "1", action: "bash", metadata: { command: "make clean" } };
    expect(whatWaits({ messages: [], permissions: [run], questions: [] })).toBe(
      "Wants to run a command: make clean",
    );
    expect(receiptOf("Task", wantedBy({ action: "Task", metadata: null }))).toBe("Use Task");
  });

  it("never names a tool of Codex where it runs or changes something", () => {
    const codex = recordings().filter(({ name }) => name.startsWith("codex/"));
    const wishes = codex
      .flatMap(({ events }) => events)
      .filter((event) => event.type === "permission.requested")
      .map(({ data }) => wishOf(data.action, wantedBy(data)));
    expect(wishes.filter((wish) => /commandExecution|fileChange/.test(wish))).toEqual([]);
    expect(wishes).toContain("change 4 files");
  });
});

describe("what became of it", () => {
  it("is said of oneself as of oneself", () => {
    // One's own answer was told as that of a token: "by the token default".
    const approver = { token: "default", scope: "admin" };
    expect(outcomeOf({ status: "accept", approver }, "default").by).toBe("by you");
    expect(outcomeOf({ status: "accept", approver }, "phone").by).toBe("by the token default");
    expect(outcomeOf({ status: "accept", approver }).by).toBe("by the token default");
    expect(endOf(null, "once", "default")).toMatchObject({ word: "Allowed once", by: "by you" });
    const error = new DragomanError(409, {
      type: "x",
      title: "Already Resolved",
      status: 409,
      details: { winner: { status: "accept", approver } as never },
    });
    expect(refusalOf(error, "default")).toBe("You had answered before: allowed once.");
  });

  const token = { token: "phone", scope: "approve" };

  it.each([
    [{ status: "accept", approver: token }, "Allowed once", "by the token phone", null],
    [
      { status: "accept_for_session", approver: token },
      "Always allowed",
      "by the token phone",
      null,
    ],
    [
      { status: "reject", approver: token, metadata: { message: "No." } },
      "Rejected",
      "by the token phone",
      "No.",
    ],
    [
      { status: "reject", metadata: { reason: "restart" } },
      "Withdrawn",
      null,
      "the daemon restarted",
    ],
    [{ status: "reject", metadata: { reason: "else" } }, "Withdrawn", null, "else"],
    [
      { status: "accept", approver: { rule: "always:Bash(a:b)" } },
      "Allowed",
      "by an earlier Always: Bash(a:b)",
      null,
    ],
    [
      { status: "accept", approver: { rule: "mode:bypass" } },
      "Allowed",
      "by the permission mode bypass",
      null,
    ],
    [
      { status: "rejected", approver: { rule: "deadline" } },
      "Rejected",
      "since nobody answered in time",
      null,
    ],
    [{ status: "answered", approver: token }, "Answered", "by the token phone", null],
  ])("%j", (settled, word, by, why) => {
    expect(outcomeOf(settled)).toMatchObject({ word, by, why });
  });

  it("names the winner of an answer that came too late", () => {
    const late = (winner: unknown) =>
      refusalOf(
        new DragomanError(409, {
          type: "x",
          title: "Already Resolved",
          status: 409,
          details: { winner: winner as never },
        }),
      );
    expect(late({ status: "accept", approver: token })).toBe(
      "Somebody else was first: allowed once, by the token phone.",
    );
    expect(late({ status: "answered", answers: [["Red"], ["A", "B"]], approver: token })).toBe(
      "Somebody else was first: answered: Red; A, B, by the token phone.",
    );
    expect(late({ status: "reject", reason: "interrupt" })).toBe(
      "It was over before your answer came: withdrawn, the turn was interrupted.",
    );
    expect(refusalOf(new TypeError("x"))).toBe("Not answered: The daemon cannot be reached.");
  });
});

describe("questions", () => {
  const colour: Question = { prompt: "Colour?", options: [{ label: "Red" }, { label: "Blue" }] };
  const fruit: Question = {
    prompt: "Fruit?",
    options: [{ label: "Apple" }, { label: "Pear" }],
    multi_select: true,
    allow_other: false,
  };
  const name: Question = { prompt: "Name?", allow_other: false };
  const all = [colour, fruit, name];

  it("takes one answer, or several, or words", () => {
    const one = picking(colour, picking(colour, NO_CHOICE, "Red"), "Blue");
    const two = picking(fruit, picking(fruit, NO_CHOICE, "Pear"), "Apple");
    expect(answersOf(all, [one, two, saying(NO_CHOICE, "Ada")])).toEqual([
      ["Blue"],
      ["Apple", "Pear"],
      ["Ada"],
    ]);
    expect(answersOf(all, noChoices(all))).toEqual([[], [], []]);
    expect(picking(fruit, two, "Pear").picked).toEqual(["Apple"]);
  });

  it("has words of one's own in place of one option, and beside several", () => {
    const own = saying(picking(colour, NO_CHOICE, "Red"), "Green");
    expect(answersOf([colour], [own])).toEqual([["Green"]]);
    expect(answersOf([colour], [picking(colour, own, "Red")])).toEqual([["Red"]]);
    expect(answersOf([fruit], [saying(picking(fruit, NO_CHOICE, "Pear"), "Fig")])).toEqual([
      ["Pear", "Fig"],
    ]);
  });

  it("does not count a blank as words of one's own", () => {
    const red = picking(colour, NO_CHOICE, "Red");
    expect(answersOf([colour], [saying(NO_CHOICE, "  ")])).toEqual([[]]);
    expect(answersOf([colour], [saying(red, " ")])).toEqual([["Red"]]);
    expect(answersOf([colour], [saying(saying(red, "Green"), "")])).toEqual([["Red"]]);
    expect(answersOf([fruit], [saying(NO_CHOICE, " ")])).toEqual([[]]);
  });

  it("takes words where it says so, says nothing, or has nothing to choose from", () => {
    expect(all.map(takesOther)).toEqual([true, false, true]);
  });

  it("numbers the options of all questions", () => {
    expect(optionAt(all, 2)).toEqual({ question: 0, label: "Blue" });
    expect(optionAt(all, 3)).toEqual({ question: 1, label: "Apple" });
    expect(optionAt(all, 5)).toBeNull();
    expect(all.map((_, at) => firstNumber(all, at))).toEqual([1, 3, 5]);
  });

  it("is read from an older daemon too", () => {
    expect(questionsOf({ question_id: "q", prompt: "Which?", options: ["A"] })).toEqual([
      { prompt: "Which?", options: [{ label: "A" }] },
    ]);
  });

  it("leads only where a browser should go", () => {
    expect(addressIn({ url: "https://example.com" })).toBe("https://example.com");
    expect(addressIn({ url: "javascript:alert(1)" })).toBeNull();
    expect(addressIn(null)).toBeNull();
  });
});

describe("the inbox", () => {
  const session = (sessionId: string) => ({ sessionId }) as Waiting["session"];
  const waiting = (...ids: readonly [string, ...string[]][]): ReadonlyMap<string, Waiting> =>
    new Map(
      ids.map(([id, ...requests]) => [
        id,
        {
          session: session(id),
          pending: {
            messages: [],
            permissions: requests.map((permission_id) => ({ permission_id, action: "bash" })),
            questions: [],
          },
          since: requests[0] ?? "",
        },
      ]),
    );

  it("keeps what is over in its place, and adds what is new to its session", () => {
    const before = linesAfter([], waiting(["b", "2"], ["a", "1"]));
    const after = linesAfter(before, waiting(["b", "2"], ["a", "3"]));
    expect(after.map(({ id, isOver }) => [id, isOver])).toEqual([
      ["1", true],
      ["3", false],
      ["2", false],
    ]);
    expect(bySession(after).map((group) => group.map(({ id }) => id))).toEqual([["1", "3"], ["2"]]);
  });

  it("leaves a session where it stands when the oldest of its requests is gone", () => {
    // Sessions stood in the order of their oldest request, so to answer one moved its session down.
    const before = linesAfter([], waiting(["a", "1", "3"], ["b", "2"]));
    const answered = linesAfter(before, waiting(["a", "3"], ["b", "2"]));
    const gone = answered.filter(({ isOver }) => !isOver);
    const after = linesAfter(gone, waiting(["a", "3"], ["b", "2"]));
    expect(bySession(after).map((group) => group.map(({ id }) => id))).toEqual([["3"], ["2"]]);
  });

  it("learns from the events how a request ended", () => {
    const [line] = linesAfter([], waiting(["a", "1"]));
    if (!line) throw new Error("there is a line");
    const resolved = (permission_id: string) => ({
      event_id: "e",
      sequence: 1,
      time: "2026-01-01T00:00:00Z",
      session_id: "a",
      native_session_id: null,
      raw: null,
      synthetic: true,
      source: "daemon" as const,
      type: "permission.resolved" as const,
      data: { permission_id, action: "bash", status: "accept" as const },
    });
    expect(settledBy(line, [resolved("9"), resolved("1")])).toMatchObject({
      resolvedAt: "2026-01-01T00:00:00Z",
      resolved: { permission_id: "1" },
    });
    expect(settledBy(line, [resolved("9")])).toBe(line);
  });
});
