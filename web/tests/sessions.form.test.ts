import { type AgentInfo, DragomanError } from "dragoman-client";
import { describe, expect, test } from "vitest";
import { EMPTY, fieldOf, firstAgent, newSkill, requestOf } from "../src/sessions/draft";
import { newServer, rowsOf, serversOf } from "../src/sessions/mcp";
import { recall, recallFor, remember } from "../src/sessions/memory";
import { newPair } from "../src/sessions/pairs";
import { quote, words } from "../src/sessions/shell";
import { shelfIn } from "../src/state/shelf";

const local = { ...newServer(), name: "docs", line: `npx -y "docs server" --port=1` };

describe("the words of a command line", () => {
  test.each([
    ["npx -y server", ["npx", "-y", "server"]],
    [`run "a b" 'c "d"' e\\ f`, ["run", "a b", 'c "d"', "e f"]],
    [`--name="a b"c`, ["--name=a bc"]],
    [`say "it \\"is\\"" ''`, ["say", 'it "is"', ""]],
    [`open "never closed`, ["open", "never closed"]],
    ["   ", []],
  ])("%s", (line, expected) => {
    expect(words(line)).toEqual(expected);
  });

  test("what is quoted is read back", () => {
    const all = ["plain", "a b", "it's", "", '"', "$HOME", "a\\b", "ü"];
    expect(words(all.map(quote).join(" "))).toEqual(all);
  });
});

describe("MCP servers", () => {
  test("become what the daemon wants", () => {
    const remote = {
      ...newServer(),
      name: " issues ",
      kind: "remote" as const,
      url: "https://example.com/mcp ",
      pairs: [{ ...newPair(), name: "Authorization", value: "Bearer x" }, newPair()],
    };
    expect(serversOf([local, remote, newServer()])).toEqual({
      docs: { type: "local", command: ["npx", "-y", "docs server", "--port=1"] },
      issues: {
        type: "remote",
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer x" },
      },
    });
  });

  test("are read from JSON, and nothing of them is lost", () => {
    const servers = {
      a: { type: "local", command: ["a", "b c"], env: { KEY: "x" }, cwd: "/tmp" },
      b: { type: "remote", url: "https://b", headers: { H: "y" }, oauth: { clientId: "c" } },
    };
    expect(serversOf(rowsOf(JSON.stringify(servers)))).toEqual(servers);
  });

  test("are read from the files of others", () => {
    const json = `{"mcpServers": {"x": {"command": "node", "args": ["my server.js"]}}}`;
    expect(serversOf(rowsOf(json))).toEqual({
      x: { type: "local", command: ["node", "my server.js"] },
    });
  });

  test.each([
    ["[]", /must be an object/],
    ["{", /not JSON/],
    [`{"x": 1}`, /x must be an object/],
    [`{"x": {"type": "local"}}`, /x needs a command/],
    [`{"x": {}}`, /x needs a url/],
  ])("%s is refused", (json, message) => {
    expect(() => rowsOf(json)).toThrow(message);
  });
});

describe("the request", () => {
  test("leaves out what is empty", () => {
    const request = requestOf({ ...EMPTY, agent: "mock", title: "  ", env: [newPair()] });
    expect(JSON.parse(JSON.stringify(request))).toEqual({
      agent: "mock",
      permissionMode: "default",
    });
  });

  test("holds what was filled in", () => {
    const request = requestOf({
      ...EMPTY,
      agent: "claude",
      mode: "plan",
      model: " opus ",
      skills: [
        { ...newSkill(), type: "github", source: "a/b", skills: "one, two", ref: "v1" },
        newSkill(),
      ],
      env: [{ ...newPair(), name: "KEY", value: " kept " }],
    });
    expect(request).toMatchObject({
      agentMode: "plan",
      model: "opus",
      skills: { sources: [{ type: "github", source: "a/b", skills: ["one", "two"], ref: "v1" }] },
      env: { KEY: " kept " },
    });
  });

  test.each([
    ["directory", "directory"],
    ["mcp[...]", "mcp"],
    ["skills.sources[0].type", "skills"],
    ["agentMode", "mode"],
    ["something", null],
  ])("a problem with %s is shown at %s", (field, expected) => {
    const problem = { type: "urn:x", title: "Invalid", status: 400, details: { field } as never };
    expect(fieldOf(new DragomanError(400, problem))).toBe(expected);
    expect(fieldOf(new TypeError("no network"))).toBe(null);
  });
});

describe("the agent to begin with", () => {
  const agent = (id: string, installed: boolean, credentialsAvailable: boolean) =>
    ({ id, installed, credentialsAvailable }) as AgentInfo;
  const mock = agent("mock", true, true);

  test("is the last one, where it is still there", () => {
    expect(firstAgent([agent("a", true, true), agent("b", false, false), mock], "b")).toBe("b");
    expect(firstAgent([agent("a", true, true), mock], "gone")).toBe("a");
  });

  test("is the mock where no other is ready", () => {
    expect(firstAgent([agent("a", false, true), agent("b", true, false), mock], "")).toBe("mock");
  });
});

describe("the last choice", () => {
  const newShelf = () => {
    const kept = new Map<string, string>();
    return {
      kept,
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    };
  };
  const draft = {
    ...EMPTY,
    agent: "claude",
    model: "opus",
    mode: "plan",
    permissionMode: "acceptEdits" as const,
    directory: "/home/me",
    title: "Only once",
    mcp: [
      {
        ...local,
        pairs: [{ ...newPair(), name: "KEY", value: "secret-1" }],
        rest: { cwd: "/tmp", oauth: { clientSecret: "secret-2" }, envHeaders: { A: "secret-3" } },
      },
    ],
    env: [{ ...newPair(), name: "TOKEN", value: "secret-4" }],
  };

  test("comes back, each agent's for itself", () => {
    const shelf = newShelf();
    remember(draft, shelf);
    remember({ ...draft, agent: "mock", model: "mock-large", mode: "" }, shelf);
    expect(recall(shelf)).toMatchObject({
      agent: "mock",
      model: "mock-large",
      permissionMode: "acceptEdits",
      directory: "/home/me",
      title: "",
      env: [],
    });
    expect(recallFor("claude", shelf)).toEqual({ model: "opus", variant: "", mode: "plan" });
    expect(serversOf(recall(shelf).mcp)).toEqual({
      docs: { ...serversOf([local]).docs, cwd: "/tmp" },
    });
  });

  test("holds no secret", () => {
    const shelf = newShelf();
    remember(draft, shelf);
    expect([...shelf.kept.values()].join()).not.toContain("secret");
  });

  test("does not preselect that nobody is asked", () => {
    const shelf = newShelf();
    remember({ ...draft, permissionMode: "bypass" }, shelf);
    expect(recall(shelf).permissionMode).toBe("default");
  });

  test("may be out of reach, and does no harm", () => {
    const closed = shelfIn(() => {
      throw new DOMException("no", "SecurityError");
    });
    remember(draft, closed);
    expect(recall(closed)).toEqual(EMPTY);
  });

  test("may be anything, and does no harm", () => {
    for (const kept of ["", "null", "17", "{", "[]"]) {
      expect(recall({ getItem: () => kept, setItem: () => {} })).toEqual(EMPTY);
    }
  });
});
