/** The scripted model, as a process: agents that are real get their answers from it. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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

export class Model {
  readonly #folder = mkdtempSync(join(tmpdir(), "dragoman-model-"));
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

  /** Claude Code's environment: nothing but this model, and nothing of ours. */
  claude(): Record<string, string> {
    return {
      HOME: this.#folder,
      CLAUDE_CONFIG_DIR: join(this.#folder, ".claude"),
      ANTHROPIC_BASE_URL: this.url,
      ANTHROPIC_API_KEY: "sk-ant-fake",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "1",
    };
  }

  /** Codex's environment, and the configuration in it. */
  codex(): Record<string, string> {
    const home = join(this.#folder, ".codex");
    mkdirSync(home, { recursive: true });
    const code =
      "import sys; from dragoman.agents.codex.probes import config; print(config(sys.argv[1]))";
    writeFileSync(join(home, "config.toml"), execFileSync(PYTHON, ["-c", code, this.url]));
    const key = "from dragoman.agents.codex.probes import KEY; print(KEY, end='')";
    const name = execFileSync(PYTHON, ["-c", key], { encoding: "utf8" });
    return { HOME: this.#folder, CODEX_HOME: home, [name]: "sk-fake" };
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
