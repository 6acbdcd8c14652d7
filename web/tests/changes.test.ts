import type { Event } from "dragoman-client";
import { describe, expect, test } from "vitest";
import {
  changesAmong,
  changesIn,
  isOpenAtFirst,
  linesOf,
  relativeTo,
  split,
} from "../src/inspect/changes";
import { type ChangeFact, compactFacts, factOf, lacksStart, turnsOf } from "../src/state/changes";
import { emptyView, fold } from "../src/state/fold";
import { message } from "./memory";

const DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n";

let count = 0;

function event(type: Event["type"], data: unknown): Event {
  count += 1;
  return { ...message(count), type, data } as Event;
}

const started = (id: string) => event("turn.started", { phase: "started", turn_id: id });
const ended = (id: string) => event("turn.ended", { phase: "ended", turn_id: id });
const diffed = (id: string, diff = DIFF) => event("turn.diff", { turn_id: id, diff });
const touched = (type: string, path: string, files?: number) =>
  event("sandbox.file", { type, path, timestamp: 1, ...(files && { count: files }) });
const said = (text: string) =>
  event("item.completed", {
    item: {
      item_id: `i${count}`,
      kind: "message",
      role: "user",
      content: [{ type: "text", text }],
      status: "completed",
    },
  });

const factsOf = (...events: Event[]) =>
  events.map(factOf).filter((fact): fact is ChangeFact => fact !== null);

/** What is known of the files of the only turn. */
function filesAfter(...changes: readonly (readonly [string, string])[]): unknown {
  const facts = factsOf(started("t"), ...changes.map(([type, path]) => touched(type, path)));
  return turnsOf(facts)[0]?.files.map(({ path, change }) => [change, path]);
}

describe("the files of a turn that runs", () => {
  test("several changes of a file are one", () => {
    expect(filesAfter(["create", "/a"], ["change", "/a"])).toEqual([["create", "/a"]]);
    expect(filesAfter(["change", "/a"], ["delete", "/a"])).toEqual([["delete", "/a"]]);
    expect(filesAfter(["delete", "/a"], ["create", "/a"])).toEqual([["change", "/a"]]);
    expect(filesAfter(["change", "/a"], ["change", "/a"], ["create", "/b"])).toEqual([
      ["change", "/a"],
      ["create", "/b"],
    ]);
  });

  test("one that was made and deleted is none", () => {
    expect(filesAfter(["create", "/a"], ["delete", "/a"])).toBeUndefined();
    expect(filesAfter(["create", "/a"], ["delete", "/a"], ["create", "/a"])).toEqual([
      ["create", "/a"],
    ]);
  });

  test("they have their diffs where the session tells them", () => {
    const diff = event("sandbox.file.diff", { path: "/a", diff: DIFF });
    const [turn] = turnsOf(factsOf(started("t"), touched("change", "/a"), diff));
    expect(turn?.files[0]?.diff).toBe(DIFF);
  });
});

describe("the turns of a session", () => {
  test("the newest first, named by what was asked first", () => {
    const turns = turnsOf(
      factsOf(
        ...[started("one"), said("Make\n it  friendlier"), said("and shorter")],
        ...[touched("change", "/a"), diffed("one"), ended("one")],
        ...[started("two"), said("Go on"), touched("create", "/b")],
      ),
    );
    expect(turns).toMatchObject([
      { turnId: "two", prompt: "Go on", isRunning: true, counts: null },
      {
        turnId: "one",
        prompt: "Make it friendlier",
        isRunning: false,
        counts: { files: 1, additions: 1, deletions: 1 },
        files: [],
      },
    ]);
  });

  test("those without changes are not among them, nor what happens between them", () => {
    const facts = factsOf(
      ...[touched("create", "/before"), started("one"), ended("one")],
      ...[touched("change", "/between"), started("two"), diffed("two"), ended("two")],
      touched("change", "/after"),
    );
    expect(turnsOf(facts)).toMatchObject([{ turnId: "two", files: [] }]);
  });

  test("one without a diff has its files, also when it has ended", () => {
    const facts = factsOf(started("t"), touched("change", "/ignored"), ended("t"));
    expect(turnsOf(facts)).toMatchObject([
      { turnId: "t", isRunning: false, counts: null, files: [{ path: "/ignored" }] },
    ]);
  });

  test("what is known may begin in the middle of a turn", () => {
    const facts = factsOf(touched("change", "/a"), ended("t"));
    expect(lacksStart(facts)).toBe(true);
    expect(turnsOf(facts)).toMatchObject([{ turnId: "t", startedAt: null, files: [{}] }]);
    expect(lacksStart(factsOf(touched("change", "/a"), started("t")))).toBe(false);
  });

  test("fewer facts say the same", () => {
    const facts = factsOf(
      ...[touched("change", "/early"), ended("zero"), touched("change", "/between")],
      ...[started("one"), said("1"), touched("create", "/a"), diffed("one"), ended("one")],
      ...[touched("change", "/between"), started("two"), touched("create", "/b")],
      ...[touched("change", "/b"), touched("create", "/c"), touched("delete", "/c"), ended("two")],
      ...[started("three"), touched("change", "/d"), touched("delete", "/d")],
      event("sandbox.file.diff", { path: "/d", diff: DIFF }),
    );
    const fewer = compactFacts(facts);
    expect(turnsOf(fewer)).toEqual(turnsOf(facts));
    expect(compactFacts(fewer)).toEqual(fewer);
    const files = fewer.filter(({ is }) => is === "file");
    expect(files.map((fact) => "path" in fact && fact.path)).toEqual(["/early", "/b", "/d"]);
    const later = factsOf(touched("create", "/d"), ended("three"));
    expect(turnsOf([...fewer, ...later])).toEqual(turnsOf([...facts, ...later]));
  });
});

test("a conversation has what a turn has changed at its end, and no line for a file", () => {
  const { order, entries } = fold(emptyView(), [
    ...[started("t"), touched("create", "/a"), event("file.changed", { path: ".", diff: DIFF })],
    ...[diffed("t"), ended("t"), started("u"), ended("u")],
  ]);
  expect(order.map((key) => entries.get(key))).toMatchObject([
    { kind: "turn", changes: { files: 1, additions: 1, deletions: 1 } },
    { kind: "turn", changes: null },
  ]);
});

describe("the files of a patch", () => {
  const PATCH = [
    "diff --git a/empty b/empty",
    "new file mode 100644",
    "index 000..111",
    "diff --git a/run.sh b/run.sh",
    "old mode 100644",
    "new mode 100755",
    "diff --git a/old.txt b/new.txt",
    "similarity index 100%",
    "rename from old.txt",
    "rename to new.txt",
    "Binary files a/this and that.png and b/this and that.png differ",
    "Binary files /dev/null and b/logo.png differ",
    "Binary files differ: a/latin.txt b/latin.txt",
    'diff --git "a/tab\\there" "b/tab\\there"',
    "deleted file mode 100644",
    '--- "a/tab\\there"',
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-Binary files a/x and b/x differ",
    "# left out, its diff has 2097152 bytes: data.csv",
    "# left out, its diff is too large: more.csv",
    "# left out: 12 more files",
    "",
  ].join("\n");

  test("each by its name, and why there are no lines of it", () => {
    const { files, notes, added, removed } = changesIn(PATCH);
    expect(files.map(({ status, path, note }) => [status, path, note])).toEqual([
      ["created", "empty", "The file is empty."],
      ["changed", "run.sh", "Its mode changed from 100644 to 100755."],
      ["renamed", "new.txt", "Renamed, and not changed otherwise."],
      ["changed", "this and that.png", expect.stringMatching(/^Not shown: it is binary/)],
      ["created", "logo.png", expect.stringMatching(/^Not shown: it is binary/)],
      ["changed", "latin.txt", expect.stringMatching(/^Not shown: it is binary/)],
      ["deleted", "tab\there", null],
      ["changed", "data.csv", "Left out: its diff has 2.0 MB."],
      ["changed", "more.csv", "Left out: its diff is too large."],
    ]);
    expect(files[2]?.from).toBe("old.txt");
    expect(notes).toEqual(["12 more files"]);
    expect([added, removed]).toEqual([0, 1]);
  });

  test("the parts of all files are the patch, but for what is said of the rest", () => {
    const { files } = changesIn(PATCH);
    const parts = files.map(({ diff }) => diff?.text ?? "").join("");
    expect(`${parts}# left out: 12 more files\n`).toBe(PATCH);
  });

  test("a part keeps the ends of its lines", () => {
    const diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\r\n+2\r\n";
    const [file] = changesIn(diff).files;
    expect(file?.diff?.text).toBe(diff);
    expect(file?.diff?.hunks[0]?.lines.map(({ text }) => text)).toEqual(["1", "2"]);
  });

  test("one that became a link is there twice, under two keys", () => {
    const { files } = changesIn(
      "diff --git a/a b/a\ndeleted file mode 100644\ndiff --git a/a b/a\nnew file mode 120000\n",
    );
    expect(new Set(files.map(({ key }) => key)).size).toBe(2);
  });

  test("a name that looks like two", () => {
    const [file] = changesIn("diff --git a/x b/y b/x b/y\nold mode 1\nnew mode 2\n").files;
    expect(file?.path).toBe("x b/y");
  });
});

describe("what is shown", () => {
  test("paths from the session's directory on", () => {
    expect(relativeTo("/home/ada/", "/home/ada/src/a.py")).toBe("src/a.py");
    expect(relativeTo("/home/ada", "/home/adam/a.py")).toBe("/home/adam/a.py");
    expect(relativeTo("/home/ada", "/home/ada")).toBe(".");
    expect(split("src/sub/a.py")).toEqual(["src/sub/", "a.py"]);
    expect(split("a.py")).toEqual(["", "a.py"]);
    expect(split("src/sub/")).toEqual(["src/", "sub/"]);
  });

  test("live files, with their diffs, and folders with many", () => {
    const { files, added } = changesAmong(
      [
        { path: "/w/a", change: "change", count: null, diff: DIFF },
        { path: "/w/b", change: "create", count: null, diff: null },
        { path: "/w/dist", change: "change", count: 1200, diff: null },
      ],
      "/w",
    );
    expect(files.map(({ path, status, note }) => [path, status, note])).toEqual([
      ["a", "changed", null],
      ["b", "created", null],
      ["dist/", "changed", "1,200 files in this folder."],
    ]);
    expect(added).toBe(1);
  });

  test("large files, and those among many, are folded at first", () => {
    const [small] = changesIn(DIFF).files;
    const lines = Array.from({ length: 500 }, (_, at) => `+${at}\n`).join("");
    const [large] = changesIn(`--- a/a\n+++ b/a\n@@ -0,0 +1,500 @@\n${lines}`).files;
    if (!small || !large) throw new Error("there are no files");
    expect(linesOf(large)).toBe(500);
    expect(isOpenAtFirst(small, 1, false)).toBe(true);
    expect(isOpenAtFirst(large, 1, false)).toBe(false);
    expect(isOpenAtFirst(small, 100, false)).toBe(false);
    expect(isOpenAtFirst(small, 10, true)).toBe(false);
  });
});
