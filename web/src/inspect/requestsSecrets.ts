/** What is secret in a body is not shown: a screen is seen by others, and a command is passed on. */

/** Stands where a secret was. */
export const MASK = "•••";

/** What is secret whatever it is. */
const SECRETS = new Set(["clientSecret", "password", "secret", "ticket", "token"]);
/** Values under names: the names tell, and the values are secret. */
const PAIRS = new Set(["env", "environment", "headers"]);
/** Addresses, which may have secrets in them. */
const ADDRESSES = new Set(["source", "url"]);

/** The same JSON with a mask for each secret in it. */
export function masked(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json, mask));
  } catch {
    return json;
  }
}

function mask(key: string, value: unknown): unknown {
  if (value === null || value === "") return value;
  if (PAIRS.has(key) && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));
  }
  if (typeof value !== "string") return value;
  if (SECRETS.has(key)) return MASK;
  return ADDRESSES.has(key) ? withoutKeys(value) : value;
}

/** An address without the password, and without what its query says. */
function withoutKeys(address: string): string {
  return address
    .replace(/^([a-z][a-z+.-]*:\/\/)[^/?#@]*@/i, `$1${MASK}@`)
    .replace(/([?&][^=&#]*=)[^&#]+/g, `$1${MASK}`);
}
