/** Where in the page one is: the part of the address after the #, which no server sees. */

import { Store } from "../state/store";

export const TABS = ["conversation", "changes", "events"] as const;

export type SessionTab = (typeof TABS)[number];

export type Route =
  | { at: "home" }
  | { at: "new" }
  | { at: "inbox" }
  | { at: "agents" }
  | { at: "requests" }
  | {
      at: "session";
      id: string;
      tab: SessionTab;
      /** The event that is looked at. */
      sequence: number | null;
      /** The turn whose changes are looked at; null: those of the whole session. */
      turn: string | null;
    };

export function parse(hash: string): Route {
  const [at, id, view, place] = hash.replace(/^#\/?/, "").split("/").map(decode);
  if (at === "new" || at === "inbox" || at === "agents" || at === "requests") return { at };
  if (at !== "sessions" || !id) return { at: "home" };
  const tab = TABS.find((each) => each === view) ?? "conversation";
  if (tab === "changes") return toChanges(id, place);
  const number = Number.parseInt(place ?? "", 10);
  return toSession(id, tab, Number.isNaN(number) ? undefined : number);
}

export function href(route: Route): string {
  if (route.at === "home") return "#/";
  if (route.at !== "session") return `#/${route.at}`;
  const parts: (string | number)[] = ["sessions", encodeURIComponent(route.id)];
  const place = route.turn === null ? route.sequence : encodeURIComponent(route.turn);
  if (route.tab !== "conversation" || place !== null) parts.push(route.tab);
  if (place !== null) parts.push(place);
  return `#/${parts.join("/")}`;
}

/** The address of a session, or of an event in it. */
export function toSession(id: string, tab: SessionTab = "conversation", sequence?: number): Route {
  return { at: "session", id, tab, sequence: sequence ?? null, turn: null };
}

/** The address of what has changed in a session, or during a turn of it. */
export function toChanges(id: string, turn?: string): Route {
  return { at: "session", id, tab: "changes", sequence: null, turn: turn || null };
}

export const route = new Store<Route>(parse(location.hash));

export function go(to: Route): void {
  location.hash = href(to);
  // At once: the browser tells it later, and the next key must lead on from here.
  route.set(parse(location.hash));
}

window.addEventListener("hashchange", () => route.set(parse(location.hash)));

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
