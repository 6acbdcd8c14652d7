/** Names with values, e.g. environment variables, as rows of a form. */

export interface Pair {
  key: number;
  name: string;
  value: string;
}

let keys = 0;

/** A key for a new row of the form. */
export const newKey = () => ++keys;

export const newPair = (): Pair => ({ key: newKey(), name: "", value: "" });

export function pairsOf(pairs: readonly Pair[]): Record<string, string> {
  const named = pairs.filter(({ name }) => name.trim() !== "");
  return Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
}
