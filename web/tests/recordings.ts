/** The recordings that the daemon itself is tested on. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Event } from "dragoman-client";

export const ROOT = resolve(import.meta.dirname, "../..");
export const PYTHON = process.env.DRAGOMAN_PYTHON ?? join(ROOT, ".venv/bin/python");
const AGENTS = join(ROOT, "tests/agents");

export interface Recording {
  /** Its folder, e.g. `mock/tools`. */
  name: string;
  events: Event[];
}

export function recordings(): Recording[] {
  return readdirSync(AGENTS, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("/events.jsonl"))
    .sort()
    .map((path) => ({
      name: path.replace("/events.jsonl", ""),
      events: parseLines(readFileSync(join(AGENTS, path), "utf8")),
    }));
}

function parseLines(text: string): Event[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
