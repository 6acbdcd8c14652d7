/** Brings files of the person to where the agent can read them: below the session's directory. */

import { type DragomanClient, DragomanError } from "dragoman-client";
import { randomWord } from "./random";

const FOLDER = ".dragoman-uploads";
const LONGEST_NAME = 100;
const MOST_NUMBERS = 1_000;

/** A file name without what means something to a shell, a path or a terminal. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const plain = last.replace(/[\p{C}\p{Zl}\p{Zp}"'`$*?<>|:;&]/gu, "").replace(/^[.\s-]+/, "");
  const trimmed = plain.trim();
  if (trimmed === "") return "file";
  const { stem, suffix } = split(trimmed);
  return [...stem].slice(0, LONGEST_NAME).join("") + suffix.slice(0, 20);
}

/** The first is the name itself; others have a number before the suffix. */
export function numbered(name: string, number: number): string {
  if (number === 1) return name;
  const { stem, suffix } = split(name);
  return `${stem}-${number}${suffix}`;
}

function split(name: string): { stem: string; suffix: string } {
  const dot = name.lastIndexOf(".");
  return dot <= 0
    ? { stem: name, suffix: "" }
    : { stem: name.slice(0, dot), suffix: name.slice(dot) };
}

export type Telling = (onProgress: (part: number) => void) => DragomanClient;

/** Uploads for one session. */
export class Uploads {
  constructor(
    readonly client: DragomanClient,
    readonly sessionId: string,
    /** A client that tells how much of a body has gone out. */
    readonly telling: Telling,
  ) {}

  /** Write a file under a name that nothing has yet; gives its absolute path. */
  async upload(
    file: Blob & { name: string },
    onProgress: (part: number) => void,
    signal: AbortSignal,
  ): Promise<string> {
    // To move never replaces anything, to write would: so it is written aside first.
    const aside = `${FOLDER}/.incoming-${randomWord()}`;
    const where = { sessionId: this.sessionId };
    await this.telling(onProgress).files.write(aside, file, { ...where, signal });
    try {
      signal.throwIfAborted();
      return await this.#place(aside, safeName(file.name));
    } catch (error) {
      await this.remove(aside);
      throw error;
    }
  }

  /** Remove what was uploaded. It is no harm where it stays. */
  async remove(path: string): Promise<void> {
    await this.client.files.remove(path, { sessionId: this.sessionId }).catch(() => {});
  }

  async #place(aside: string, name: string): Promise<string> {
    for (let number = 1; number < MOST_NUMBERS; number++) {
      const to = `${FOLDER}/${numbered(name, number)}`;
      try {
        const moved = await this.client.files.move(
          { from: aside, to },
          { sessionId: this.sessionId },
        );
        return moved.to;
      } catch (error) {
        if (!(error instanceof DragomanError && error.status === 409)) throw error;
      }
    }
    throw new Error(`There are too many files named ${name}.`);
  }
}
