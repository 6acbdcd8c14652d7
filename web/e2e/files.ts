/** Turns of the mock agent during which a test changes files in the session's directory. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, type Locator } from "@playwright/test";
import type { Daemon } from "./daemon";

/** Write files into a session's directory, as an agent does. */
export function write(directory: string, files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

/** A turn that waits for a permission; gives the way to let it go on, to its end. */
export async function beginTurn(daemon: Daemon, id: string): Promise<() => Promise<string>> {
  const { client } = daemon;
  const { eventCount: offset } = await client.getSession(id);
  await client.postMessage(id, "permission");
  for await (const event of client.streamEvents(id, { offset })) {
    if (event.type !== "permission.requested") continue;
    return async () => {
      await client.replyPermission(id, event.data.permission_id, "once");
      for await (const { type, data } of client.streamEvents(id, { offset: event.sequence })) {
        if (type === "turn.ended") return data.turn_id ?? "";
      }
      throw new Error("the turn has no end");
    };
  }
  throw new Error("nothing was asked");
}

/** A turn that does this to files. */
export async function turnWith(daemon: Daemon, id: string, work: () => void): Promise<string> {
  const finish = await beginTurn(daemon, id);
  work();
  return finish();
}

/** Write files until the page shows this: what is written while a turn begins may be told late. */
export async function writeUntil(
  directory: string,
  files: Record<string, string>,
  shown: Locator,
): Promise<void> {
  await expect(async () => {
    write(directory, files);
    await expect(shown).toBeVisible({ timeout: 1_000 });
  }).toPass();
}
