/** A real daemon of its own for a test, started as a person starts it. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { DragomanClient } from "../src/index.js";

const ROOT = resolve(import.meta.dirname, "../../..");
const PYTHON = process.env.DRAGOMAN_PYTHON ?? join(ROOT, ".venv/bin/python");

export class Daemon {
  readonly #folder = mkdtempSync(join(tmpdir(), "dragoman-page-"));
  readonly data = join(this.#folder, "data");
  /** The root of the file API, and where sessions may work. */
  readonly files = join(this.#folder, "files");
  #process: ChildProcess | null = null;
  #port = 0;
  /** The address that it printed last, with a ticket. */
  address = "";

  constructor(
    readonly flags: readonly string[] = [],
    readonly env: Record<string, string> = {},
  ) {
    mkdirSync(this.files);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get token(): string {
    return readFileSync(join(this.data, "token"), "utf8").trim();
  }

  get client(): DragomanClient {
    return new DragomanClient({ baseUrl: this.url, token: this.token });
  }

  /** An address that signs a browser in, once. */
  async signIn(): Promise<string> {
    const { ticket } = await this.client.createTicket();
    return `${this.url}/ui/?ticket=${ticket}`;
  }

  async start(): Promise<void> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("DRAGOMAN_"));
    const child = spawn(
      PYTHON,
      ["-m", "dragoman.cli.main", "serve", "--data-dir", this.data, "--port", `${this.#port}`]
        .concat("--root", this.files)
        .concat(this.flags),
      {
        env: {
          ...Object.fromEntries(inherited),
          DRAGOMAN_AGENTS_DIR: join(ROOT, ".agents"),
          ...this.env,
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#process = child;
    const errors: string[] = [];
    child.stderr?.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const found = /listens on http:\/\/.*:(\d+)/.exec(line);
      if (found) this.#port = Number(found[1]);
      if (line.startsWith("Open ")) {
        this.address = line.split(" ")[1] ?? "";
        child.stdout?.resume();
        return;
      }
    }
    throw new Error(`the daemon did not start: ${errors.join("")}`);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  async remove(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
