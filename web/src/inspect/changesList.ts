/** The list of changed files: which are unfolded, which of them is at the top, the way to each. */

import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import {
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useShortcuts } from "../app/keys";
import { type ChangedFile, isOpenAtFirst, linesOf } from "./changes";

const PHONE = "(max-width: 48rem)";
/** What a file takes without its lines, and each of its lines. */
const HEAD_PX = 36;
const LINE_PX = 20;
const GAP_PX = 12;
/** So many lines of a file are shown at first. */
export const FIRST_LINES = 200;

type List = Virtualizer<HTMLDivElement, HTMLDivElement>;

export interface FileList {
  scope: string;
  scroller: RefObject<HTMLDivElement | null>;
  list: List;
  files: readonly ChangedFile[];
  isOpen: (file: ChangedFile) => boolean;
  toggle: (file: ChangedFile) => void;
  hasOpen: boolean;
  setAll: (isOpen: boolean) => void;
  /** The file at the top of what is seen. */
  current: number;
  /** Unfold a file, and bring it to the top. */
  show: (index: number) => void;
}

/** The files of one list; another scope is another list. */
export function useFileList(scope: string, files: readonly ChangedFile[]): FileList {
  const unfolded = useUnfolded(scope, files);
  const { isOpen, open } = unfolded;
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: files.length,
    getScrollElement: () => scroller.current,
    // Folded and unfolded it has two heights: many that are unfolded at once are never all drawn.
    getItemKey: useCallback(
      (index: number) => {
        const file = files[index];
        return file ? `${scope} ${file.key} ${isOpen(file)}` : index;
      },
      [scope, files, isOpen],
    ),
    estimateSize: (index) => heightOf(files[index], isOpen),
    overscan: 1,
    paddingStart: GAP_PX,
    paddingEnd: 2 * GAP_PX,
    scrollPaddingStart: GAP_PX,
    gap: GAP_PX,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins at its beginning.
  useEffect(() => {
    // In some browsers it gives a promise, which is nothing to clean up.
    scroller.current?.scrollTo(0, 0);
  }, [scope]);
  const show = useCallback(
    (index: number) => {
      const file = files[index];
      if (file === undefined) return;
      open(file);
      list.scrollToIndex(index, { align: "start" });
    },
    [files, list, open],
  );
  useFileKeys(list, files.length, show);
  return { scope, scroller, list, files, ...unfolded, current: topOf(list), show };
}

/** Which files are shown with their lines: as somebody said, else as is best at first. */
function useUnfolded(scope: string, files: readonly ChangedFile[]) {
  const isPhone = useSyncExternalStore(watchPhone, () => matchMedia(PHONE).matches);
  const [choices, setChoices] = useState<ReadonlyMap<string, boolean>>(new Map());
  const all = choices.get(scope);
  const isOpen = useCallback(
    (file: ChangedFile) =>
      choices.get(`${scope} ${file.key}`) ?? all ?? isOpenAtFirst(file, files.length, isPhone),
    [scope, choices, all, files.length, isPhone],
  );
  const set = useCallback(
    ({ key }: ChangedFile, isOpen: boolean) =>
      setChoices((before) => new Map(before).set(`${scope} ${key}`, isOpen)),
    [scope],
  );
  return {
    isOpen,
    toggle: useCallback((file: ChangedFile) => set(file, !isOpen(file)), [set, isOpen]),
    open: useCallback((file: ChangedFile) => set(file, true), [set]),
    hasOpen: useMemo(() => files.some(isOpen), [files, isOpen]),
    setAll: useCallback(
      (isOpen: boolean) =>
        setChoices((before) => {
          const others = [...before].filter(([key]) => !key.startsWith(`${scope} `));
          return new Map(others).set(scope, isOpen);
        }),
      [scope],
    ),
  };
}

function watchPhone(changed: () => void): () => void {
  const query = matchMedia(PHONE);
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}

/** About how high a file is. */
function heightOf(file: ChangedFile | undefined, isOpen: (file: ChangedFile) => boolean): number {
  if (file === undefined || !isOpen(file)) return HEAD_PX;
  return HEAD_PX + LINE_PX * Math.min(Math.max(1, linesOf(file)), FIRST_LINES);
}

function topOf(list: List): number {
  const top = (list.scrollOffset ?? 0) + GAP_PX + 1;
  return list.getVirtualItems().find(({ end }) => end > top)?.index ?? 0;
}

function useFileKeys(list: List, count: number, show: (index: number) => void): void {
  const keys = useMemo(
    () => [
      { key: "]", does: "Next file", act: () => show(Math.min(count - 1, topOf(list) + 1)) },
      { key: "[", does: "Previous file", act: () => show(Math.max(0, topOf(list) - 1)) },
    ],
    [list, count, show],
  );
  useShortcuts(keys);
}
