/** Reads what terminals colour: text in, runs with a style each. Only colours are understood. */

export interface Styled {
  text: string;
  /** Names of classes, e.g. `ansi-red ansi-bold`. */
  look: string;
  /** A colour that has no name, as red, green, blue. */
  ink: readonly [number, number, number] | null;
}

interface Pen {
  ink: string | null;
  exact: readonly [number, number, number] | null;
  ground: string | null;
  on: ReadonlySet<string>;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const CLEAN: Pen = { ink: null, exact: null, ground: null, on: new Set() };
const ON: Readonly<Record<number, string>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "struck",
};
const OFF: Readonly<Record<number, readonly string[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["struck"],
};

// What is no colour stays in the text, and is shown as marks there.
const ESC = String.fromCharCode(27);
const SGR = new RegExp(`${ESC}\\[([\\d;:]*)m`, "g");

export function styled(text: string): Styled[] {
  const runs: Styled[] = [];
  let pen = CLEAN;
  let from = 0;
  const put = (until: number) => {
    if (until > from)
      runs.push({ text: text.slice(from, until), look: lookOf(pen), ink: pen.exact });
  };
  for (const match of text.matchAll(SGR)) {
    put(match.index);
    from = match.index + match[0].length;
    pen = after(pen, (match[1] ?? "").split(/[;:]/).map(Number));
  }
  put(text.length);
  return runs;
}

function lookOf({ ink, ground, on }: Pen): string {
  return [ink, ground && `on-${ground}`, ...on]
    .filter((name) => name !== null)
    .map((name) => `ansi-${name}`)
    .join(" ");
}

function after(pen: Pen, codes: readonly number[]): Pen {
  let now = pen;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(at + 1));
      at += used;
      if (code === 38) now = { ...now, ...colour };
      else now = { ...now, ground: colour.ink };
    } else {
      now = simple(now, code);
    }
  }
  return now;
}

function simple(pen: Pen, code: number): Pen {
  if (code === 0) return CLEAN;
  const name = ON[code];
  if (name) return { ...pen, on: new Set([...pen.on, name]) };
  const off = OFF[code];
  if (off) return { ...pen, on: new Set([...pen.on].filter((each) => !off.includes(each))) };
  if (code === 39) return { ...pen, ink: null, exact: null };
  if (code === 49) return { ...pen, ground: null };
  const colour = NAMES[code % 10];
  const tens = Math.floor(code / 10);
  if (colour && (tens === 3 || tens === 9)) return { ...pen, ink: colour, exact: null };
  if (colour && (tens === 4 || tens === 10)) return { ...pen, ground: colour };
  return pen;
}

/** A colour of 256, or of all, and how many numbers told it. */
function extended(codes: readonly number[]): [Pick<Pen, "ink" | "exact">, number] {
  const [kind, one = 0, two = 0, three = 0] = codes;
  if (kind === 2) return [{ ink: null, exact: [byte(one), byte(two), byte(three)] }, 4];
  if (kind === 5) return [indexed(byte(one)), 2];
  return [{ ink: null, exact: null }, 0];
}

function indexed(index: number): Pick<Pen, "ink" | "exact"> {
  if (index < 16) return { ink: NAMES[index % 8] ?? null, exact: null };
  if (index > 231) {
    const grey = 8 + (index - 232) * 10;
    return { ink: null, exact: [grey, grey, grey] };
  }
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  return {
    ink: null,
    exact: [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)],
  };
}

const byte = (value: number) => Math.min(255, Math.max(0, value || 0));
