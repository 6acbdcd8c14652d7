/** What the browser keeps for the page. It may be full, or closed to us: then nothing is kept. */
export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A storage that never throws; even naming one does, where it is closed. */
export function shelfIn(storage: () => Shelf): Shelf {
  const attempt = <T>(what: (storage: Shelf) => T): T | null => {
    try {
      return what(storage());
    } catch {
      return null;
    }
  };
  return {
    getItem: (key) => attempt((it) => it.getItem(key)),
    setItem: (key, text) => void attempt((it) => it.setItem(key, text)),
    removeItem: (key) => void attempt((it) => it.removeItem(key)),
  };
}

/** Kept for good. */
export const shelf = shelfIn(() => localStorage);
