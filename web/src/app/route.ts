/** Where in the page one is: the part of the address after the #, which no server sees. */

import { Store } from "../state/store";

export type SessionTab = "conversation" | "events";

export type Route =
  | { at: "home" }
  | { at: "new" }
  | { at: "inbox" }
  | { at: "agents" }
  | { at: "requests" }
  | { at: "session"; id: string; tab: SessionTab; sequence: number | null };

export function parse(hash: string): Route {
  const [at, id, tab, sequence] = hash.replace(/^#\/?/, "").split("/").map(decode);
  if (at === "new" || at === "inbox" || at === "agents" || at === "requests") return { at };
  if (at !== "sessions" || !id) return { at: "home" };
  const number = Number.parseInt(sequence ?? "", 10);
  return {
    at: "session",
    id,
    tab: tab === "events" ? "events" : "conversation",
    sequence: Number.isNaN(number) ? null : number,
  };
}

export function href(route: Route): string {
  if (route.at === "home") return "#/";
  if (route.at !== "session") return `#/${route.at}`;
  const parts: (string | number)[] = ["sessions", encodeURIComponent(route.id)];
  if (route.tab === "events" || route.sequence !== null) parts.push(route.tab);
  if (route.sequence !== null) parts.push(route.sequence);
  return `#/${parts.join("/")}`;
}

/** The address of a session, or of an event in it. */
export function toSession(id: string, tab: SessionTab = "conversation", sequence?: number): Route {
  return { at: "session", id, tab, sequence: sequence ?? null };
}

export const route = new Store<Route>(parse(location.hash));

export function go(to: Route): void {
  location.hash = href(to);
}

window.addEventListener("hashchange", () => route.set(parse(location.hash)));

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
