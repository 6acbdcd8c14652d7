/**
 * The keys that answer: they act on the request that has the focus, else on the first in sight, and
 * are shown where they would. In a field they are letters, and Escape leads from there to a request.
 */

import { type RefObject, useEffect, useRef } from "react";
import { focusedField, isBusy, type Shortcut, shortcuts } from "../app/keys";
import { Store, useStore } from "../state/store";

export type AskKind = "permission" | "question";

interface Ask {
  id: string;
  kind: AskKind;
  element: HTMLElement;
  press: (key: string) => void;
}

/** A key that was meant for another request must not answer the next one before it is seen. */
const UNSEEN_MS = 800;

const open = new Set<Ask>();
/** Whether there is one that waits. */
const hasAsks = new Store(false);
/** Those that came before one took the focus: only what comes later may take it again. */
const greeted = new Set<string>();
/** The one that took it, as long as nobody put it elsewhere. */
let greeting: HTMLElement | null = null;
/** Of each kind, the one that the keys will be about when it has been so for long enough. */
const next: Record<AskKind, { ask: Ask | null; timer?: ReturnType<typeof setTimeout> }> = {
  permission: { ask: null },
  question: { ask: null },
};
/** Of each kind, the one that the keys are about. */
const current = new Store<Readonly<Record<AskKind, Ask | null>>>({
  permission: null,
  question: null,
});

const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

const KEYS: readonly Shortcut[] = [
  { key: "y", does: "Allow once, when an agent asks", act: () => press("permission", "y") },
  { key: "a", does: "Allow always, when an agent asks", act: () => press("permission", "a") },
  { key: "n", does: "Reject, when an agent asks", act: () => press("permission", "n") },
  ...DIGITS.map((key, at) => ({
    key,
    does: "Choose an answer, 1 to 9",
    act: () => press("question", key),
    unlisted: at > 0,
  })),
];
// Also while nothing asks, so that the help sheet names them.
shortcuts.add(KEYS);

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
    return enter({ id, kind, element: element.current, press });
  }, [id, kind, isOpen]);
  const isTyping = useStore(focusedField) !== null;
  const isNext = useStore(current)[kind]?.id === id;
  return { element, isCurrent: isNext && !isTyping };
}

/** Whether a request waits that can be answered here. */
export const useHasAsks = (): boolean => useStore(hasAsks);

/** Give the focus to the first request that is open, if there is one. */
export function focusFirstAsk(): boolean {
  const first = inOrder()[0];
  first?.element.focus();
  return first !== undefined;
}

function enter(ask: Ask): () => void {
  open.add(ask);
  hasAsks.set(true);
  sight.observe(ask.element);
  look();
  return () => {
    open.delete(ask);
    hasAsks.set(open.size > 0);
    sight.unobserve(ask.element);
    look();
  };
}

function look(): void {
  const asks = inOrder().filter(isSeen);
  for (const kind of ["permission", "question"] as const) {
    const those = asks.filter((ask) => ask.kind === kind);
    aim(kind, those.find(isChosen) ?? those[0] ?? null);
  }
}

function aim(kind: AskKind, ask: Ask | null): void {
  if (next[kind].ask === ask) return;
  clearTimeout(next[kind].timer);
  const turn = (to: Ask | null) => current.update((before) => ({ ...before, [kind]: to }));
  if (current.get()[kind] !== null) turn(null);
  const settle = () => {
    turn(ask);
    if (ask !== null) greet(ask);
  };
  next[kind] = { ask, timer: setTimeout(settle, UNSEEN_MS) };
}

/** Not before it is known to be the first: others may still be loaded, and stand above it. */
function greet(ask: Ask): void {
  if (greeted.has(ask.id) || inOrder().find(isSeen) !== ask) return;
  for (const { id } of open) greeted.add(id);
  if (!isFree(document.activeElement)) return;
  greeting = ask.element;
  ask.element.focus({ preventScroll: true });
}

/** Whether nobody types, or is busy elsewhere: a key must not answer what one has not seen. */
function isFree(active: Element | null): boolean {
  if (isBusy()) return false;
  if (active === null || active === document.body || active === greeting) return true;
  if (active.matches("input, textarea, select, [contenteditable]")) return false;
  // One reads why an answer did not count.
  if (active.matches(".ask-settled:has(.ask-problem)")) return false;
  if ([...open].some(({ element }) => element.contains(active))) return false;
  return document.getElementById("main")?.contains(active) ?? false;
}

const isChosen = ({ element }: Ask) =>
  element !== greeting && element.contains(document.activeElement);

/** Whether one sees what it is about, and what a key would press. */
function isSeen({ element }: Ask): boolean {
  const head = element.querySelector(".ask-kind");
  const target = element.querySelector("[aria-keyshortcuts], [data-number]");
  const isTall = element.clientHeight > window.innerHeight / 2;
  return isOnTop(target, element) && (isTall || isOnTop(head, element));
}

function isOnTop(part: Element | null, card: HTMLElement): boolean {
  if (part === null) return false;
  const { left, top, width, height } = part.getBoundingClientRect();
  return card.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}

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
document.addEventListener("focusin", ({ target }) => {
  if (target !== greeting) greeting = null;
  look();
});

/** What is in sight changes by scrolling, and when something above grows. */
const sight = new IntersectionObserver(look, { threshold: [0, 0.25, 0.5, 0.75, 1] });
let isPlanned = false;
window.addEventListener(
  "scroll",
  () => {
    if (open.size === 0 || isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      look();
    });
  },
  { capture: true, passive: true },
);
