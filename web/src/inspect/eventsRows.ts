import {
  type RefObject,
  useCallback,
  useLayoutEffect,
  useState,
  useSyncExternalStore,
} from "react";

const PHONE = "(max-width: 48rem)";
/** Rows above and below what is seen, so that scrolling never shows an empty edge. */
const SPARE = 12;

export interface Rows {
  /** The first row to draw, and the one after the last. */
  first: number;
  end: number;
  height: number;
  /** Look again at where the list is scrolled to. */
  look: () => void;
}

/** On a phone a row has two lines. */
export function useRowHeight(): number {
  const watch = useCallback((changed: () => void) => {
    const query = matchMedia(PHONE);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return useSyncExternalStore(watch, () => (matchMedia(PHONE).matches ? 50 : 28));
}

/** Which rows of a list are seen. All are equally high, so that it costs the same for any number. */
export function useRows(list: RefObject<HTMLElement | null>, count: number): Rows {
  const height = useRowHeight();
  const [seen, setSeen] = useState({ top: 0, rows: 40 });
  const look = useCallback(() => {
    const element = list.current;
    if (element === null) return;
    const top = Math.floor(element.scrollTop / height);
    const rows = Math.ceil(element.clientHeight / height) + 1;
    setSeen((before) => (before.top === top && before.rows === rows ? before : { top, rows }));
  }, [list, height]);
  useLayoutEffect(() => {
    look();
    const watcher = new ResizeObserver(look);
    if (list.current) watcher.observe(list.current);
    return () => watcher.disconnect();
  }, [list, look]);
  const first = Math.max(0, Math.min(seen.top, count - seen.rows) - SPARE);
  return { first, end: Math.min(count, seen.top + seen.rows + SPARE), height, look };
}
