import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Daemon } from "./daemon.js";

const run = promisify(execFile);
const PACKAGE = resolve(import.meta.dirname, "..");
const README = readFileSync(join(PACKAGE, "README.md"), "utf8");
const daemon = new Daemon();

beforeAll(async () => {
  await run("npm", ["run", "build"], { cwd: PACKAGE });
  await daemon.start();
}, 120_000);

afterAll(() => daemon.remove());

test("what is published is what was built, and the README", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: PACKAGE,
  });
  const paths = (JSON.parse(stdout) as [{ files: { path: string }[] }])[0].files.map(
    (file) => file.path,
  );
  expect(paths).toContain("dist/index.js");
  expect(paths).toContain("dist/index.d.ts");
  expect(paths).toContain("dist/openapi.d.ts");
  expect(paths.filter((path) => !path.startsWith("dist/")).sort()).toEqual([
    "README.md",
    "package.json",
  ]);
}, 60_000);

test("plain Node can use it, and it has no dependencies", async () => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  expect(manifest.dependencies).toBeUndefined();
  const names = await inNode(
    'import * as all from "dragoman-client"; console.log(Object.keys(all).sort().join(" "))',
  );
  expect(names.trim()).toBe(
    "DEFAULT_URL DragomanClient DragomanError Files HistoryDiverged Http NoAnswer Position isTemporary",
  );
});

test("the README's examples run, one after the other", async () => {
  const examples = [...README.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1] ?? "");
  const printed: string[] = [];
  for (const example of examples) printed.push(await inNode(example));
  expect(printed[0]).toContain("Hello, world");
  expect(printed[1]).toMatch(/^session\.started \d+\n\[ 3, 4, 5 \] true\n$/);
  expect(printed[2]).toMatch(/^connecting\nopen\n1 session\.started\n/);
  expect(printed[3]).toBe("");
  expect(printed[4]).toBe("404 session_not_found\n");
  expect(printed).toHaveLength(5);
}, 60_000);

/** What a program prints, where it is run by Node itself beside the built package. */
async function inNode(program: string): Promise<string> {
  const { stdout } = await run("node", ["--input-type=module", "--eval", program], {
    cwd: PACKAGE,
    env: { ...process.env, DRAGOMAN_URL: daemon.url, DRAGOMAN_TOKEN: daemon.token },
  });
  return stdout;
}
