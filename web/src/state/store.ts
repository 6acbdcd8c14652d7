import { useSyncExternalStore } from "react";

/** A value that is watched. Who watches is told after it changed, and reads it again. */
export class Store<T> {
  readonly #watchers = new Set<() => void>();

  constructor(private current: T) {}

  get = (): T => this.current;

  set = (next: T): void => {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const watcher of [...this.#watchers]) watcher();
  };

  update = (change: (before: T) => T): void => this.set(change(this.current));

  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };
}

/** The value of a store, and a new rendering whenever it changes. */
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
