import { describe, expect, test } from "vitest";
import { countChanges, countLines } from "../src/state/changeCount";

describe("the count of a patch", () => {
  test("files, and lines within hunks only", () => {
    const patch = [
      "diff --git a/a b/a",
      "--- a/a",
      "+++ b/a",
      "@@ -1,2 +1,2 @@",
      "--- no header, but a removed line",
      "+++ added",
      " same",
      "diff --git a/b b/c",
      "rename from b",
      "rename to c",
      "",
    ].join("\n");
    expect(countLines(patch)).toEqual({ files: 2, additions: 1, deletions: 1 });
  });

  test("what is only named counts as a file", () => {
    const patch = [
      "diff --git a/a b/a",
      "@@ -1 +1 @@",
      "-1",
      "+2",
      "Binary files a/logo.png and b/logo.png differ",
      "# left out, its diff has 2097152 bytes: data.csv",
      "# left out: 12 more files",
      "",
    ].join("\n");
    expect(countLines(patch)).toEqual({ files: 3, additions: 1, deletions: 1 });
    expect(countLines("")).toEqual({ files: 0, additions: 0, deletions: 0 });
  });

  test("an event is counted once", () => {
    const data = { diff: "@@ -1 +1 @@\n+1\n" };
    expect(countChanges(data)).toBe(countChanges(data));
  });
});
