import type { Pending, SessionInfo } from "dragoman-client";
import { expect, test } from "vitest";
import { crumbs, isBeneath, join, shortPath } from "../src/sessions/paths";
import { recent, whatWaits } from "../src/sessions/recent";
import { stepTo } from "../src/sessions/steps";

test("a path is said by its last two parts", () => {
  expect(shortPath("/home/me/projects/dragoman")).toBe("…/projects/dragoman");
  expect(shortPath("/srv/www")).toBe("/srv/www");
  expect(shortPath("/")).toBe("/");
});

test("crumbs lead from the root down", () => {
  expect(crumbs("/home/me/a/b", "/home/me")).toEqual([
    { name: "/home/me", path: "/home/me" },
    { name: "a", path: "/home/me/a" },
    { name: "b", path: "/home/me/a/b" },
  ]);
  expect(crumbs("/srv/x/", "/home/me").map(({ path }) => path)).toEqual(["/", "/srv", "/srv/x"]);
  expect(crumbs("/etc", "/").map(({ path }) => path)).toEqual(["/", "/etc"]);
});

test("a name that only begins alike is not beneath", () => {
  expect(isBeneath("/home/me2", "/home/me")).toBe(false);
  expect(isBeneath("/home/me/", "/home/me")).toBe(true);
  expect(join("/", "a")).toBe("/a");
  expect(join("/b/", "a")).toBe("/b/a");
});

test("steps stay within the list", () => {
  expect(stepTo("next", -1, 3)).toBe(0);
  expect(stepTo("next", 2, 3)).toBe(2);
  expect(stepTo("previous", -1, 3)).toBe(2);
  expect(stepTo("previous", 0, 3)).toBe(0);
  expect(stepTo("first", 2, 3)).toBe(0);
  expect(stepTo("last", 0, 3)).toBe(2);
  expect(stepTo("next", 0, 0)).toBe(-1);
});

test("recent is what changed last", () => {
  const sessions = [1, 3, 2].map((updatedAt) => ({ updatedAt }) as SessionInfo);
  expect(recent(sessions, 2).map(({ updatedAt }) => updatedAt)).toEqual([3, 2]);
});

test("what waits is said in a line", () => {
  const permission = (metadata: unknown) =>
    ({ permission_id: "p", action: "bash", status: "requested", metadata }) as never;
  const pending: Pending = {
    messages: [],
    permissions: [permission({ command: "make clean" }), permission(null)],
    questions: [],
  };
  expect(whatWaits(pending)).toBe("Wants to run a command: make clean and 1 more");
  expect(whatWaits({ ...pending, permissions: [permission(null)] })).toBe("Wants to use bash");
});
