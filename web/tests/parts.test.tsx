import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { styled } from "../src/parts/ansi";
import { beginning, ending, MOST_CHARACTERS } from "../src/parts/Cut";
import { coloured, languageOf } from "../src/parts/code";
import { Diff } from "../src/parts/Diff";
import { linksIn } from "../src/parts/links";
import { inPieces } from "../src/parts/long";
import { Markdown, safe } from "../src/parts/Markdown";
import { visible } from "../src/parts/marks";
import { Plain } from "../src/parts/Plain";
import { preview } from "../src/parts/Reasoning";
import { blocks } from "../src/parts/settle";
import { stepsOf } from "../src/parts/steps";
import { Terminal } from "../src/parts/Terminal";
import { Words } from "../src/parts/Words";

const html = (node: ReactNode) => renderToStaticMarkup(node);
const words = (node: ReactNode) => html(node).replace(/<[^>]*>/g, "");
const ESC = "\u001b";

describe("plain text", () => {
  test("newlines and tabs stay, and Windows line ends are newlines", () => {
    expect(visible("a\tb\nc\r\nd")).toBe("a\tb\nc\nd");
  });

  test.each([
    [`${ESC}[31m`, "␛[31m"],
    ["a\u0000b\u0007", "a␀b␇"],
    ["a\rb", "a␍b"],
    ["\u007f\u009b", "␡⟨U+009B⟩"],
    ["user\u202etxt.exe", "user⟨RLO⟩txt.exe"],
    ["\u2066x\u2069\u200f\u061c", "⟨LRI⟩x⟨PDI⟩⟨RLM⟩⟨ALM⟩"],
    ["pass\u200bword\ufeff", "pass⟨ZWSP⟩word⟨BOM⟩"],
    ["ad\u200dmin", "ad⟨ZWJ⟩min"],
    ["\u{e0041}", "⟨TAG A⟩"],
    ["x\ud800y", "x⟨U+D800⟩y"],
  ])("%j is shown as %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  test.each(["👩‍💻 🏳️‍🌈", "می‌خواهم", "क्‍ष", "grün 🐉", "שלום"])("%s is left alone", (text) => {
    expect(visible(text)).toBe(text);
  });

  test("a mark says what it stands for", () => {
    expect(html(<Plain text={"a\u202eb"} />)).toContain('title="right-to-left override U+202E"');
  });

  test("very many marks are no more elements", () => {
    const shown = html(<Plain text={"\u0000".repeat(10_000)} />);
    expect(shown).not.toContain("span");
    expect(shown).toContain("␀␀␀");
  });

  test("HTML is text", () => {
    expect(html(<Plain text="<b>x</b>" />)).toContain("&lt;b&gt;");
  });
});

describe("Markdown", () => {
  const shown = (text: string) => html(<Markdown text={text} />);

  test("HTML of the author is text", () => {
    const found = shown('<script>alert(1)</script>\n\nx <img src=x onerror="alert(1)"> y');
    expect(found).not.toMatch(/<script|<img/);
    expect(found).toContain("&lt;script&gt;");
  });

  test.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x", "/v1/sessions", "#here"])(
    "a link to %s leads nowhere",
    (url) => {
      expect(safe(url)).toBe("");
      expect(shown(`[x](${url})`)).not.toContain("href");
    },
  );

  test("where a link to a file would lead is shown, once", () => {
    const file = shown("See [app.ts](/tmp/p/a%20b/app.ts:12).");
    expect(file).toContain('title="/tmp/p/a b/app.ts:12"');
    expect(words(<Markdown text="See [app.ts](/tmp/p/app.ts:12)." />)).toBe(
      "See app.ts /tmp/p/app.ts:12.",
    );
    expect(words(<Markdown text="See [docs/x.md](docs/x.md)." />)).toBe("See docs/x.md.");
    expect(words(<Markdown text="![cat](cat.png)" />)).toBe("Image: cat cat.png");
    expect(shown("[x](a%E2%80%AEb)")).toContain("a⟨RLO⟩b");
    expect(shown("[x](a%FFb)")).toContain("a%FFb");
    expect(shown(`![x](data:image/png;base64,${"A".repeat(5_000)})`).length).toBeLessThan(1_000);
  });

  test("footnotes of two messages have ids of their own", () => {
    const note = "Text[^1].\n\n[^1]: A note.";
    const found = html(
      <>
        <Markdown text={note} />
        <Markdown text={note} />
      </>,
    );
    const ids = [...found.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
    expect(words(<Markdown text={note} />)).toContain("A note. ↩");
  });

  test("links leave the page alone", () => {
    const found = shown("[x](https://example.com)");
    expect(found).toContain('rel="noopener noreferrer nofollow"');
    expect(found).toContain('target="_blank"');
  });

  test("images are links", () => {
    const found = shown("![cat](https://example.com/cat.png)");
    expect(found).not.toContain("<img");
    expect(found).toContain("Image: cat");
  });

  test("code is coloured and kept", () => {
    const found = shown('```python\nprint("<b>")\n```');
    expect(found).toContain("hljs-string");
    expect(found.replace(/<[^>]*>/g, "")).toContain("print(&quot;&lt;b&gt;&quot;)");
  });

  test("controls are marks, in code too", () => {
    expect(shown("a\u202eb")).toContain("⟨RLO⟩");
    expect(shown("```\nx\u202ey\n```")).toContain("⟨RLO⟩");
  });

  test("a table scrolls by itself, and can be reached by keys", () => {
    expect(shown("| a |\n| --- |\n| b |")).toMatch(
      /<div [^>]*role="group" aria-label="Table" tabindex="0"><table>/i,
    );
  });

  test("a long block that grows is whole at first sight and when it is done", () => {
    const long = "word ".repeat(4_000).trim();
    expect(words(<Markdown text={long} growing />)).toBe(long);
    expect(words(<Markdown text={long} />)).toBe(long);
  });

  test("a very long block is read as Markdown only when it is whole, and a longer one never", () => {
    // The whole block was read anew with each piece, half a second for 200,000 characters.
    const long = `**bold** ${"word ".repeat(4_000).trim()}`;
    expect(shown(long)).toContain("<strong>bold</strong>");
    expect(renderToStaticMarkup(<Markdown text={long} growing />)).toContain("**bold**");
    expect(shown(`**bold** ${"word ".repeat(12_000)}`)).toContain("**bold**");
  });

  test("a huge text is cut, and no Markdown", () => {
    const found = shown("**x** ".repeat(MOST_CHARACTERS / 4));
    expect(found).toContain("Show all");
    expect(found.length).toBeLessThan(MOST_CHARACTERS * 1.1);
  });
});

describe("a long text in pieces", () => {
  const lines = "0123456789\n".repeat(10_000);
  const pieces = (...texts: string[]) =>
    inPieces(texts.map((text) => ({ text }))).map((piece) => piece.map((run) => run.text).join(""));

  test.each([
    ["lines", [lines]],
    ["one line", ["x".repeat(100_001)]],
    ["small runs", Array.from({ length: 30_000 }, (_, at) => (at % 9 === 8 ? "\n" : "run"))],
    ["emoji", [`a${"😀".repeat(40_000)}`]],
  ])("%s: nothing is lost, and no piece is too long", (_, texts) => {
    const found = pieces(...texts);
    expect(found.join("")).toBe(texts.join(""));
    expect(found.length).toBeGreaterThan(2);
    for (const piece of found) {
      expect(piece.length).toBeLessThanOrEqual(32_000);
      expect(() => encodeURIComponent(piece)).not.toThrow();
    }
  });

  test("it is cut between lines, where there are some", () => {
    for (const piece of pieces(lines)) expect(piece.endsWith("\n")).toBe(true);
    expect(pieces("short\ntext")).toEqual(["short\ntext"]);
    expect(pieces("")).toEqual([]);
  });
});

describe("blocks of Markdown that grows", () => {
  const text = [
    "# One\n\nSome text\nof two lines.\n\n",
    "- a\n\n- b\n\n  still b\n\n",
    "```py\nx = 1\n\n# no heading\n\ny = 2\n```\n\n",
    "~~~~\n```\n\nfence\n~~~~\n\nEnd.",
  ].join("");

  test("joined they are the text, wherever it is cut", () => {
    for (let end = 0; end <= text.length; end++) {
      expect(blocks(text.slice(0, end)).join("")).toBe(text.slice(0, end));
    }
  });

  test("all but the last stay as they are while the text grows", () => {
    let before: string[] = [];
    for (let end = 0; end <= text.length; end++) {
      const now = blocks(text.slice(0, end));
      expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      before = now;
    }
  });

  test("fences and lists are not torn", () => {
    const found = blocks(text);
    expect(found[1]).toContain("- a\n\n- b\n\n  still b\n\n");
    expect(found).toContain("```py\nx = 1\n\n# no heading\n\ny = 2\n```\n\n");
    expect(found.at(-1)).toBe("End.");
  });
});

describe("colours of terminals", () => {
  test("colours become looks, and their codes vanish", () => {
    const runs = styled(`${ESC}[1;31mbad${ESC}[0m fine ${ESC}[38;5;208mor${ESC}[38;2;1;2;3mange`);
    expect(runs.map(({ text }) => text).join("")).toBe("bad fine orange");
    expect(runs[0]?.look).toBe("ansi-red ansi-bold");
    expect(runs[1]?.look).toBe("");
    expect(runs[2]?.ink).toEqual([255, 135, 0]);
    expect(runs[3]?.ink).toEqual([1, 2, 3]);
  });

  test("hidden text is shown, and what is no colour stays as marks", () => {
    expect(styled(`${ESC}[8mx`)[0]?.text).toBe("x");
    const text = `${ESC}[2J${ESC}]8;;http://evil${ESC}\\x`;
    expect(words(<Terminal id="t" command="ls" output={text} running={false} />)).toContain(
      "␛[2J␛]8;;http://evil␛\\x",
    );
  });

  test("broken codes do no harm", () => {
    expect(styled(`${ESC}[38;5m${ESC}[999m${ESC}[;;mx`).map(({ text }) => text)).toEqual(["x"]);
  });
});

describe("long texts", () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}\n`).join("");

  test("the beginning and the end have whole lines", () => {
    expect(beginning(lines, 2)).toBe("line 0\nline 1\n");
    expect(ending(lines, 2)).toBe("line 98\nline 99\n");
    expect(beginning("short", 9)).toBe("short");
    expect(ending("short\nand\n", 9)).toBe("short\nand\n");
    expect(ending("a\n\nb", 2)).toBe("\nb");
  });

  test("one endless line is cut too, and no character in half", () => {
    const dragons = `x${"🐉".repeat(MOST_CHARACTERS)}`;
    expect(beginning(dragons, 1).length).toBeLessThanOrEqual(MOST_CHARACTERS);
    expect(visible(beginning(dragons, 1))).not.toContain("⟨");
    expect(ending(dragons, 1).length).toBeLessThanOrEqual(MOST_CHARACTERS);
    expect(visible(ending(dragons, 1))).not.toContain("⟨");
  });

  test("a terminal shows its end, and all on demand", () => {
    const shown = words(
      <Terminal id="t" command="seq" output={lines} running={false} exitCode={0} />,
    );
    expect(shown).toContain("Show all 100 lines");
    expect(shown).toContain("line 99");
    expect(shown).not.toContain("line 5\n");
  });
});

describe("plans", () => {
  test.each([
    [{ steps: [{ step: "a", status: "completed" }] }, [{ text: "a", state: "done" }]],
    [{ plan: [{ step: "a", status: "inProgress" }] }, [{ text: "a", state: "now" }]],
    [{ todos: [{ content: "a", status: "pending" }] }, [{ text: "a", state: "open" }]],
    [{ items: [{ text: "a", completed: true }] }, [{ text: "a", state: "done" }]],
    [{ steps: [] }, null],
    [{ steps: ["a"] }, null],
    ["text", null],
    [null, null],
  ])("%j", (value, steps) => {
    expect(stepsOf(value)).toEqual(steps);
  });
});

describe("what a person wrote", () => {
  test("keeps its lines and its marks, and is no Markdown", () => {
    const text = "* a\n    b\n\n# c **d** <b>";
    expect(html(<Words id="w" text={text} />)).toBe(
      `<bdi class="words">${text.replace("<b>", "&lt;b&gt;")}</bdi>`,
    );
    expect(words(<Words id="w" text={"a\u202eb"} />)).toBe("a⟨RLO⟩b");
  });

  test.each([
    ["see https://a.org/b, or", ["see ", { url: "https://a.org/b" }, ", or"]],
    ["(http://a.org/x)", ["(", { url: "http://a.org/x" }, ")"]],
    ["https://a.org/x_(y)", [{ url: "https://a.org/x_(y)" }]],
    ["javascript:alert(1) https:// x", ["javascript:alert(1) https:// x"]],
  ])("%s", (text, parts) => {
    expect(linksIn(text)).toEqual(parts);
  });
});

test("the preview of a thought is one line without marks", () => {
  expect(preview("**Look** at\nthat", false)).toBe("Look at");
  expect(preview("**Look** at\nthat", true)).toBe("that");
});

test("code keeps its text in any language", () => {
  const text = 'def f():\n    """one\n\n    two"""\n';
  for (const language of ["python", "nonsense", null]) {
    const lines = coloured(text, language);
    expect(lines.map((runs) => runs.map((run) => run.text).join("")).join("\n")).toBe(text);
  }
  expect(languageOf("/a/b/c.TSX")).toBe("tsx");
  expect(languageOf("/a/Makefile")).toBe("makefile");
  expect(languageOf("/a/none")).toBeNull();
});

test("what is no diff is shown as the text it is", () => {
  expect(words(<Diff diff="nothing of the kind" />)).toBe("nothing of the kind");
});
