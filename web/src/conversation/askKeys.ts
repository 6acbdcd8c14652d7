/** The keys that answer: they act on the request that has the focus, else on the first one. */

import { type RefObject, useEffect, useRef } from "react";
import { type Shortcut, shortcuts } from "../app/keys";
import { Store, useStore } from "../state/store";

export type AskKind = "permission" | "question";

interface Ask {
  id: string;
  kind: AskKind;
  element: HTMLElement;
  press: (key: string) => void;
  /** Whether it has been there long enough to be seen. */
  ripe: boolean;
}

/** A key that was meant for something else must not answer what has just come. */
const UNRIPE_MS = 300;

const open = new Set<Ask>();
/** Those that took the focus when they came: they do so once. */
const greeted = new Set<string>();
/** Of each kind, the one that the keys are about. */
const current = new Store<Readonly<Record<AskKind, Ask | null>>>({
  permission: null,
  question: null,
});

const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

const KEYS: readonly Shortcut[] = [
  { key: "y", does: "Allow once", act: () => press("permission", "y") },
  { key: "a", does: "Allow always", act: () => press("permission", "a") },
  { key: "n", does: "Reject", act: () => press("permission", "n") },
  ...DIGITS.map((key, at) => ({
    key,
    does: "Choose an answer, 1 to 9",
    act: () => press("question", key),
    unlisted: at > 0,
  })),
];

/** Let keys answer a request while it is open. Says whether they are about this one. */
export function useAskKeys(
  ask: { id: string; kind: AskKind; isOpen: boolean },
  press: (key: string) => void,
): { element: RefObject<HTMLDivElement | null>; isCurrent: boolean } {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(press);
  latest.current = press;
  const { id, kind, isOpen } = ask;
  useEffect(() => {
    if (!isOpen || element.current === null) return;
    const press = (key: string) => latest.current(key);
    return enter({ id, kind, element: element.current, press, ripe: false });
  }, [id, kind, isOpen]);
  return { element, isCurrent: useStore(current)[kind]?.id === id };
}

/** Give the focus to the first request that is open, if there is one. */
export function focusFirstAsk(): boolean {
  const first = inOrder()[0];
  first?.element.focus();
  return first !== undefined;
}

function enter(ask: Ask): () => void {
  if (open.size === 0) shortcuts.add(KEYS);
  open.add(ask);
  if (!greeted.has(ask.id)) {
    greeted.add(ask.id);
    const isFirst = inOrder()[0] === ask;
    if (isFirst && isFree(document.activeElement)) ask.element.focus({ preventScroll: true });
  }
  const timer = setTimeout(() => {
    ask.ripe = true;
    look();
  }, UNRIPE_MS);
  return () => {
    clearTimeout(timer);
    open.delete(ask);
    if (open.size === 0) shortcuts.delete(KEYS);
    look();
  };
}

/** Whether nobody types, or is busy elsewhere: a key must not answer what one has not seen. */
function isFree(active: Element | null): boolean {
  if (document.querySelector("dialog[open]") !== null) return false;
  if (active === null || active === document.body) return true;
  if (active.matches("input, textarea, select, [contenteditable]")) return false;
  if ([...open].some(({ element }) => element.contains(active))) return false;
  return document.getElementById("main")?.contains(active) ?? false;
}

function look(): void {
  const asks = inOrder();
  const of = (kind: AskKind) => {
    const those = asks.filter((ask) => ask.kind === kind && ask.ripe);
    return those.find(hasFocus) ?? those[0] ?? null;
  };
  const [permission, question] = [of("permission"), of("question")];
  const before = current.get();
  if (before.permission !== permission || before.question !== question) {
    current.set({ permission, question });
  }
}

const hasFocus = ({ element }: Ask) => element.contains(document.activeElement);

function inOrder(): readonly Ask[] {
  return [...open].sort((one, other) => {
    const place = one.element.compareDocumentPosition(other.element);
    return place & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  });
}

function press(kind: AskKind, key: string): void {
  if (held) return;
  look();
  current.get()[kind]?.press(key);
}

/** A key that is held down goes on to whatever asks next. */
let held = false;
window.addEventListener(
  "keydown",
  (event) => {
    held = event.repeat;
  },
  true,
);
document.addEventListener("focusin", look);
