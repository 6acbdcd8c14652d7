/** The scripted model, as a process: agents that are real get their answers from it. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const ROOT = resolve(import.meta.dirname, "../..");
const PYTHON = process.env.DRAGOMAN_PYTHON ?? join(ROOT, ".venv/bin/python");
const AGENTS = join(ROOT, ".agents");

/** Why an agent cannot be tested here, if so. Where everything is tested, it must be there. */
export function isMissing(agent: string): string | false {
  const folder = join(AGENTS, agent);
  const isThere = existsSync(folder) && readdirSync(folder).length > 0;
  return !isThere && !process.env.CI && `${agent} is not installed: run \`make agents\``;
}

const ENVIRON = `
import json, sys
from pathlib import Path
from dragoman.agents import adapters
from dragoman.testing.conform.context import furnish
agent, url, home = sys.argv[1:]
recipes = adapters()[agent].probe_recipes
furnish(Path(home), recipes, url)
print(json.dumps(dict(recipes.environ(url, home))))
`;

export class Model {
  readonly #folder = mkdtempSync(join(tmpdir(), "dragoman-model-"));
  readonly home = join(this.#folder, "home");
  #process: ChildProcess | null = null;
  url = "";

  /** Follow this script, a step for each request. */
  async start(steps: readonly unknown[]): Promise<void> {
    const script = join(this.#folder, "script.json");
    writeFileSync(script, JSON.stringify(steps));
    const child = spawn(PYTHON, ["-m", "dragoman.cli.main", "testing", "model", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const found = /listens on (http:\S+)/.exec(line);
      if (!found) continue;
      this.url = found[1] ?? "";
      child.stdout?.resume();
      return;
    }
    throw new Error("the scripted model did not start");
  }

  /** An agent's environment: nothing but this model, and a home with what it needs to know of it. */
  environ(agent: string): Record<string, string> {
    return JSON.parse(execFileSync(PYTHON, ["-c", ENVIRON, agent, this.url, this.home]).toString());
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child !== null && child.exitCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
