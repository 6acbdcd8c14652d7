import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { Diff } from "../src/parts/Diff";
import { readDiff } from "../src/parts/unified";

const PATCH = `diff --git a/old name.py b/new.py
rename from old name.py
rename to new.py
--- a/old name.py\t
+++ b/new.py\t
@@ -10,4 +10,4 @@ def f():
 same
--- a removed comment of SQL
+++ added
 same
\\ No newline at end of file
@@ -50 +50,0 @@
-gone
`;

describe("unified diffs", () => {
  test("names, numbers and kinds", () => {
    const [file] = readDiff(PATCH);
    expect(file).toMatchObject({
      path: "new.py",
      from: "old name.py",
      change: "renamed",
      added: 1,
      removed: 2,
    });
    expect(file?.hunks[0]?.heading).toBe("def f():");
    expect(file?.hunks[0]?.lines).toEqual([
      { kind: "same", before: 10, after: 10, text: "same" },
      { kind: "removed", before: 11, after: null, text: "-- a removed comment of SQL" },
      { kind: "added", before: null, after: 11, text: "++ added" },
      { kind: "same", before: 12, after: 12, text: "same" },
      { kind: "note", before: null, after: null, text: "No newline at end of file" },
    ]);
    expect(file?.hunks[1]?.lines).toEqual([
      { kind: "removed", before: 50, after: null, text: "gone" },
    ]);
  });

  test("several files, without git's header too", () => {
    const files = readDiff(
      "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-3\n",
    );
    expect(files.map(({ path, change }) => [path, change])).toEqual([
      ["x", "changed"],
      ["y", "deleted"],
    ]);
  });

  test("hunks without numbers", () => {
    const [file] = readDiff("@@\n same\n-old\n+new\n");
    expect(file?.hunks[0]?.lines.map((line) => line.kind)).toEqual(["same", "removed", "added"]);
  });

  test("an empty new file, and no diff at all", () => {
    expect(readDiff("diff --git a/e b/e\nnew file mode 100644\n")[0]).toMatchObject({
      path: "e",
      change: "new",
      hunks: [],
    });
    expect(readDiff("what is this")).toEqual([]);
    expect(readDiff("")).toEqual([]);
  });

  test("a long diff is folded, and says how much is left", () => {
    const lines = Array.from({ length: 100 }, (_, at) => `+line ${at}`).join("\n");
    const shown = renderToStaticMarkup(
      <Diff diff={`--- /dev/null\n+++ b/x\n@@ -0,0 +1,100 @@\n${lines}\n`} />,
    );
    expect(shown).toContain("+100");
    expect(shown).toContain("line 39");
    expect(shown).not.toContain("line 40");
    expect(shown).toContain("Show 60 more lines");
  });

  test("absolute paths keep the slash that a header has no room for", () => {
    // Of several files each stood under the name in the header: workspace/a.txt, as if relative.
    const diff =
      "diff --git a/workspace/a.txt b/workspace/a.txt\n--- a/workspace/a.txt\n" +
      "+++ b/workspace/a.txt\n@@ -1 +1 @@\n-a\n+A\n" +
      "diff --git a/workspace/c.txt b/workspace/d.txt\nrename from workspace/c.txt\n" +
      "rename to workspace/d.txt\ndiff --git a/e.txt b/e.txt\nnew file mode 100644\n";
    const paths = ["/workspace/a.txt", "/workspace/c.txt", "/workspace/d.txt"];
    const shown = renderToStaticMarkup(<Diff diff={diff} paths={paths} />);
    const names = [...shown.matchAll(/aria-label="Changes to ([^"]*)"/g)].map(([, name]) => name);
    expect(names).toEqual(["/workspace/a.txt", "/workspace/d.txt", "e.txt"]);
    expect(shown).toContain("from <bdi>/workspace/c.txt</bdi>");
  });

  test("hostile text in a diff is text with marks", () => {
    const shown = renderToStaticMarkup(
      <Diff
        diff={"--- a/x.ts\n+++ b/x.ts\n@@ -0,0 +1 @@\n+<script>\u202e\n"}
        paths={["/tmp/\u202ex.ts"]}
      />,
    );
    expect(shown).not.toContain("<script>");
    expect(shown).toContain("⟨RLO⟩");
  });
});

describe("the diffs of all recordings", () => {
  const diffs = recorded();

  test("there are some", () => expect(diffs.length).toBeGreaterThan(30));

  test.each(diffs)("%#: what is read adds up to what was written", (diff) => {
    const files = readDiff(diff);
    const bodies = files.flatMap((file) => file.hunks.flatMap((hunk) => hunk.lines));
    const written = diff.split("\n").filter((line) => /^[ +-]/.test(line) && !isName(line));
    expect(bodies.filter((line) => line.kind !== "note").map((line) => line.text)).toEqual(
      written.map((line) => line.slice(1)),
    );
  });
});

const isName = (line: string) => line.startsWith("--- ") || line.startsWith("+++ ");

function recorded(): string[] {
  const folder = resolve(import.meta.dirname, "../../tests/agents");
  const found = new Set<string>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith("events.jsonl")) continue;
    for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
      for (const match of line.matchAll(/"diff":("(?:diff --git|---)(?:[^"\\]|\\.)*")/g)) {
        found.add(JSON.parse(match[1] ?? '""') as string);
      }
    }
  }
  return [...found];
}
