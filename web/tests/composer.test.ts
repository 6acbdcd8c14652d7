import { DragomanClient } from "dragoman-client";
import { describe, expect, it } from "vitest";
import { continuationOf } from "../src/conversation/continuing";
import { Draft, obstacle } from "../src/conversation/draft";
import { newer, older, remembering, shown } from "../src/conversation/history";
import { numbered, safeName, Uploads } from "../src/conversation/uploads";
import { type Shelf, shelfIn } from "../src/state/shelf";

describe("history", () => {
  const entries = ["one", "two", "three"];

  it("goes back and forth, and stops at both ends", () => {
    const one = older({ entries, at: null });
    const two = older(one);
    const oldest = older(older(older(two)));
    expect([one, two, oldest].map(shown)).toEqual(["three", "two", "one"]);
    expect(shown(newer(two))).toBe("three");
    expect(shown(newer(newer(two)))).toBe("");
    expect(shown(older({ entries: [], at: null }))).toBe("");
  });

  it("keeps each once, the newest last, and not too many", () => {
    expect(remembering(entries, "one")).toEqual(["two", "three", "one"]);
    expect(remembering(entries, "  ")).toBe(entries);
    expect(remembering(entries, "x".repeat(30_000))).toBe(entries);
    const many = Array.from({ length: 200 }, (_, at) => `${at}`).reduce(remembering, [] as never);
    expect(many).toHaveLength(50);
    expect(many.at(-1)).toBe("199");
  });
});

describe("names of uploads", () => {
  it.each([
    ["notes.txt", "notes.txt"],
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\a b.png", "a b.png"],
    [".env", "env"],
    ["--rm.txt", "rm.txt"],
    ["a\u202Egnp.exe", "agnp.exe"],
    ["$(reboot)`x`.sh", "(reboot)x.sh"],
    ["\n\t", "file"],
    ["…é漢🐉.md", "…é漢🐉.md"],
  ])("%j becomes %j", (name, safe) => expect(safeName(name)).toBe(safe));

  it("has a bound", () => {
    expect(safeName(`${"x".repeat(500)}.png`)).toBe(`${"x".repeat(100)}.png`);
  });

  it("is numbered before its suffix", () => {
    expect(numbered("a.tar.gz", 1)).toBe("a.tar.gz");
    expect(numbered("a.png", 2)).toBe("a-2.png");
    expect(numbered("Makefile", 3)).toBe("Makefile-3");
  });
});

describe("an upload", () => {
  it("takes the next number where a name is taken, and replaces nothing", async () => {
    const asked: string[] = [];
    const client = clientOf(async (url, init) => {
      asked.push(`${init.method} ${url.pathname}`);
      if (!url.pathname.endsWith("/move")) return Response.json({ path: "/w/x", bytesWritten: 1 });
      const { to, overwrite } = JSON.parse(String(init.body));
      expect(overwrite).toBeUndefined();
      if (to !== ".dragoman-uploads/a-3.png") return problem(409, "conflict");
      return Response.json({ from: "x", to: `/w/${to}` });
    });
    const uploads = new Uploads(client, "s", () => client);
    const file = new File(["x"], "a.png");
    const path = await uploads.upload(file, () => {}, new AbortController().signal);
    expect(path).toBe("/w/.dragoman-uploads/a-3.png");
    expect(asked).toEqual(["PUT /v1/fs/file", ...Array(3).fill("POST /v1/fs/move")]);
  });

  it("leaves nothing behind where it has no place to go", async () => {
    const asked: string[] = [];
    const client = clientOf(async (url, init) => {
      asked.push(`${init.method} ${url.pathname}`);
      return url.pathname.endsWith("/move") ? problem(403, "permission_denied") : Response.json({});
    });
    const uploads = new Uploads(client, "s", () => client);
    const upload = uploads.upload(new File([], "a"), () => {}, new AbortController().signal);
    await expect(upload).rejects.toThrow("permission_denied");
    expect(asked.at(-1)).toBe("DELETE /v1/fs/entry");
  });
});

describe("a draft", () => {
  it("keeps everything on failure, and uses the same key until it changes", async () => {
    const keys: (string | null)[] = [];
    let isUp = false;
    const draft = draftWith(
      clientOf(async (_url, init) => {
        keys.push(new Headers(init.headers).get("Idempotency-Key"));
        if (!isUp) throw new TypeError("fetch failed");
        return new Response(null, { status: 204 });
      }),
    );
    draft.type("hello");
    expect(await draft.send("queue")).toBe(false);
    expect(draft.value.get()).toMatchObject({ text: "hello", sending: false });
    expect(draft.value.get().problem).toContain("cannot be reached");
    await draft.send("queue");
    draft.type("hello you");
    expect(draft.value.get().problem).toBeNull();
    isUp = true;
    expect(await draft.send("queue")).toBe(true);
    expect(draft.value.get()).toMatchObject({ text: "", sent: ["hello you"] });
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it("is sent once, however often one asks", async () => {
    let count = 0;
    const draft = draftWith(
      clientOf(async () => {
        count += 1;
        return new Response(null, { status: 204 });
      }),
    );
    draft.type("hello");
    await Promise.all([draft.send("queue"), draft.send("queue"), draft.send("steer")]);
    expect(count).toBe(1);
  });

  it("waits for its files, and sends their paths", async () => {
    const bodies: unknown[] = [];
    const draft = draftWith(
      clientOf(async (_url, init) => {
        bodies.push(JSON.parse(String(init.body)));
        return new Response(null, { status: 204 });
      }),
    );
    draft.attach([new File(["x"], "a.txt", { type: "text/plain" })]);
    expect(obstacle(draft.value.get())).toBe("Files are being uploaded.");
    expect(await draft.send("queue")).toBe(false);
    await until(() => obstacle(draft.value.get()) === null);
    expect(await draft.send("queue")).toBe(true);
    const attachment = { path: "/w/a.txt", mime: "text/plain", filename: "a.txt" };
    expect(bodies).toEqual([{ message: "", attachments: [attachment] }]);
    expect(draft.value.get().files).toEqual([]);
  });

  it("removes a file that was uploaded for nothing", async () => {
    const removed: string[] = [];
    const draft = draftWith(clientOf(unheard), memory(), removed);
    draft.attach([new File(["x"], "a.txt")]);
    await until(() => obstacle(draft.value.get()) === null);
    draft.detach(draft.value.get().files[0]?.id ?? "");
    expect(removed).toEqual(["/w/a.txt"]);
    expect(obstacle(draft.value.get())).toBe("There is nothing to send.");
  });

  it("outlives its page, and a memory that is full", async () => {
    const kept = memory();
    draftWith(clientOf(unheard), kept).type("half a thou");
    expect(draftWith(clientOf(unheard), kept).value.get().text).toBe("half a thou");
    const setItem = () => {
      throw new DOMException("", "QuotaExceededError");
    };
    const full = draftWith(
      clientOf(unheard),
      shelfIn(() => ({ ...kept, setItem })),
    );
    full.type("more");
    expect(full.value.get().text).toBe("more");
  });
});

describe("a session that goes on in a new one", () => {
  it("is as the old one was, but for servers whose secrets nobody tells", () => {
    const { request, left } = continuationOf({
      sessionId: "old",
      agent: "mock",
      agentMode: "plan",
      permissionMode: "ask-nobody",
      ended: true,
      eventCount: 9,
      createdAt: 1,
      updatedAt: 2,
      directory: "/w",
      status: "ended",
      pendingCount: 0,
      mcp: {
        open: { type: "local", command: "x", env: {} },
        closed: { type: "remote", url: "http://x", headers: { Authorization: "***" } },
        secret: { type: "remote", url: "http://x", oauth: { clientSecret: "***" } },
      },
    });
    expect(request.resume).toEqual({ sessionId: "old" });
    expect(request.permissionMode).toBeUndefined();
    expect(Object.keys(request.mcp ?? {})).toEqual(["open"]);
    expect(left).toEqual(["closed", "secret"]);
  });
});

type Answer = (url: URL, init: RequestInit) => Promise<Response>;

const clientOf = (answer: Answer) =>
  new DragomanClient({
    baseUrl: "http://d",
    fetch: (url, init = {}) => answer(new URL(String(url)), init),
  });

const unheard = () => Promise.reject(new TypeError("nobody listens"));

const problem = (status: number, title: string) =>
  Response.json({ type: `urn:dragoman:error:${title}`, title, status }, { status });

function memory(): Shelf {
  const kept = new Map<string, string>();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
  };
}

function draftWith(client: DragomanClient, kept = memory(), removed: string[] = []): Draft {
  const uploads = {
    upload: async (file: { name: string }) => `/w/${file.name}`,
    remove: async (path: string) => void removed.push(path),
  };
  return new Draft("s", client, uploads, kept);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve));
}
