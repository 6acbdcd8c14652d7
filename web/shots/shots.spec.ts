/** Takes the pictures of docs/images: `make shots`. */

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DragomanClient } from "dragoman-client";
import type { Daemon } from "../e2e/daemon";
import { beginTurn, turnWith, write, writeUntil } from "../e2e/files";
import { expect, signIn, test } from "../e2e/test";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** A small working day, with something that waits. */
async function live(daemon: Daemon): Promise<void> {
  const { client } = daemon;
  const directory = join(daemon.files, "greeter");
  mkdirSync(directory);
  const day: readonly (readonly [string, string, readonly string[]])[] = [
    ["parser", "Refactor the parser", ["reasoning", "subagent", "usage"]],
    ["nightly", "Nightly run", ["error"]],
    ["database", "Pick a database", ["question"]],
    ["explore", "Explore the repository", ["tools", "status"]],
    ["greeting", "Make the greeting friendlier", ["markdown", "edit"]],
  ];
  for (const [id, title, prompts] of day) {
    await client.createSession(id, { agent: "mock", title, directory });
    for (const [at, prompt] of prompts.entries()) {
      await client.postMessage(id, prompt);
      const keeps = at === prompts.length - 1 && (id === "greeting" || id === "database");
      await settle(client, id, keeps);
    }
  }
}

/** Wait for the end of the turn, or for what it asks; say yes unless that shall stay. */
async function settle(client: DragomanClient, id: string, keeps: boolean): Promise<void> {
  await expect
    .poll(async () => {
      const { status, lastOutcome } = await client.getSession(id);
      if (status === "waiting" && !keeps) await agree(client, id);
      return status === "waiting" ? keeps : status === "idle" && lastOutcome !== undefined;
    })
    .toBe(true);
}

const API = `"""The forecast over HTTP."""

from weather.units import celsius


def forecast(city: str) -> dict[str, object]:
    """The forecast of a city."""
    today = fetch(city)
    return {"city": city, "high": celsius(today.high)}
`;
const CACHED = API.replace(
  `    today = fetch(city)
`,
  `    today = cache.get(city) or fetch(city)
    cache.put(city, today, seconds=600)
`,
).replace("from weather.units", "from weather import cache\nfrom weather.units");
const CACHE = `"""Keeps what was fetched for a while."""

from time import monotonic

_kept: dict[str, tuple[float, object]] = {}


def get(key: str) -> object | None:
    """What was put there, unless it is too old."""
    until, value = _kept.get(key, (0.0, None))
    return value if monotonic() < until else None


def put(key: str, value: object, *, seconds: float) -> None:
    """Keep a value for so long."""
    _kept[key] = (monotonic() + seconds, value)
`;

/** An agent that works on files: two turns are done, and one waits. */
async function change(daemon: Daemon): Promise<void> {
  const directory = join(daemon.files, "weather");
  write(directory, {
    "weather/api.py": API,
    "weather/units.py": "def celsius(kelvin: float) -> float:\n    return kelvin - 273\n",
    "weather/old_cache.py": CACHE.slice(0, 60),
    "docs/notes.md": "# Notes\n\nThe forecast is fetched.\n",
  });
  const session = { agent: "mock", title: "Cache the forecast", directory };
  await daemon.client.createSession("cache", session);
  await turnWith(daemon, "cache", () => {
    const exact = "def celsius(kelvin: float) -> float:\n    return kelvin - 273.15\n";
    write(directory, { "weather/units.py": exact });
    renameSync(join(directory, "docs/notes.md"), join(directory, "docs/forecast.md"));
  });
  await turnWith(daemon, "cache", () => {
    write(directory, { "weather/api.py": CACHED, "weather/cache.py": CACHE });
    write(directory, { "weather/icon.png": Buffer.from([0, 0, 0]) });
    rmSync(join(directory, "weather/old_cache.py"));
  });
  await beginTurn(daemon, "cache");
}

async function agree(client: DragomanClient, id: string): Promise<void> {
  const { permissions } = await client.getPending(id);
  for (const asked of permissions) await client.replyPermission(id, asked.permission_id, "once");
}

for (const scheme of ["light", "dark"] as const) {
  test(`pictures, ${scheme}`, async ({ browser, daemon }) => {
    await live(daemon);
    for (const [device, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
      const context = await browser.newContext({ colorScheme: scheme, viewport });
      const page = await context.newPage();
      await signIn(page, daemon);
      const picture = async (name: string, hash: string, sign: string) => {
        await page.goto(`${daemon.url}/ui/${hash}`);
        await expect(page.getByText(sign).first()).toBeVisible();
        await expect(page.locator(".banner")).toHaveCount(0);
        await page.screenshot({ path: join(IMAGES, `${name}-${scheme}-${device}.png`) });
      };
      await picture("conversation", "#/sessions/greeting", "Wants to change a file");
      await picture("tools", "#/sessions/explore", "Run the tests");
      await picture("events", "#/sessions/explore/events/20", "#20");
      await picture("new-session", "#/new", "Permission");
      await picture("inbox", "#/inbox", "Pick a database");
      await context.close();
    }
  });
}

for (const scheme of ["light", "dark"] as const) {
  test(`pictures of changes, ${scheme}`, async ({ browser, daemon }) => {
    await change(daemon);
    for (const [device, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
      const context = await browser.newContext({ colorScheme: scheme, viewport });
      const page = await context.newPage();
      await signIn(page, daemon);
      await page.goto(`${daemon.url}/ui/#/sessions/cache/changes`);
      await expect(page.getByRole("article", { name: /api\.py$/ }).first()).toBeVisible();
      await writeUntil(
        join(daemon.files, "weather"),
        { "weather/test_cache.py": "from weather import cache\n" },
        page.getByRole("navigation", { name: "Whose changes" }).getByText(/running/),
      );
      await expect(page.getByText(/^7 files/)).toBeVisible();
      await page.screenshot({ path: join(IMAGES, `changes-${scheme}-${device}.png`) });
      await context.close();
    }
  });
}
