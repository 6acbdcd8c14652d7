import { DragomanError, NoAnswer } from "dragoman-client";
import { Store, useStore } from "../state/store";
import "./notices.css";

interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

export const UNREACHABLE = "The daemon cannot be reached.";

const notices = new Store<readonly Notice[]>([]);
let count = 0;

/** Tell the person something, for a while. */
export function say(text: string, bad = false): void {
  const id = ++count;
  notices.update((before) => [...before, { id, text, bad }].slice(-4));
  setTimeout(() => dismiss(id), bad ? 10_000 : 4_000);
}

/** Tell of what failed, in the daemon's own words. */
export function complain(error: unknown): void {
  say(reason(error), true);
}

export function reason(error: unknown): string {
  if (error instanceof DragomanError) return error.message;
  if (error instanceof NoAnswer) return lateness(error);
  if (error instanceof TypeError) return UNREACHABLE;
  return error instanceof Error ? error.message : String(error);
}

function lateness({ method, timeoutMs }: NoAnswer): string {
  const late = `The daemon did not answer within ${timeoutMs / 1000} s.`;
  return method === "GET" ? late : `${late} It may have got this, or not.`;
}

function dismiss(id: number): void {
  notices.update((before) => before.filter((notice) => notice.id !== id));
}

/** The daemon is back: nobody says any more that it is not. */
export function dismissUnreachable(): void {
  notices.update((before) => before.filter(({ text }) => text !== UNREACHABLE));
}

export function Notices() {
  return (
    <div className="notices" role="status" aria-live="polite">
      {useStore(notices).map(({ id, text, bad }) => (
        <div key={id} className={bad ? "notice bad" : "notice"}>
          <span className="grow">{text}</span>
          <button type="button" className="button quiet small" onClick={() => dismiss(id)}>
            Dismiss
          </button>
        </div>
      ))}
    </div>
  );
}
