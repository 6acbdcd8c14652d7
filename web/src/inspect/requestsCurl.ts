/** A call as a command line that does the same. */

import type { Call } from "dragoman-client";
import { masked } from "./requestsSecrets";

/** Quoted so that a shell takes it as it is. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The token is not in it: the page has none. `$DRAGOMAN_TOKEN` is taken when it runs. Other secrets
 * are left out.
 */
export function curlOf(call: Call): string {
  const isStream = new URL(call.url).pathname.endsWith("/sse");
  const parts = [
    `curl${isStream ? " -N" : ""}${call.method === "GET" ? "" : ` -X ${call.method}`} ${quoted(call.url)}`,
    '-H "Authorization: Bearer $DRAGOMAN_TOKEN"',
    ...bodyOf(call),
  ];
  return parts.join(" \\\n  ");
}

function bodyOf({ method, url, body }: Call): string[] {
  if (body !== null) {
    return ["-H 'Content-Type: application/json'", `--data-raw ${quoted(masked(body))}`];
  }
  // What was sent is not kept: it may be large.
  const { pathname } = new URL(url);
  if (method === "PUT") return ["--data-binary @FILE"];
  if (pathname.endsWith("/upload-batch")) {
    return ["-H 'Content-Type: application/x-tar'", "--data-binary @FILE"];
  }
  return [];
}
