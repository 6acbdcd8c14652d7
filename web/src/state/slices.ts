/** Long work in slices: between two of them the browser draws, and hears people. */

/** A slice ends after so much of the work, */
export const SLICE_PIECES = 500;
/** or so much time. */
const SLICE_MS = 8;

export class Slices {
  #pieces = 0;
  #began = performance.now();

  /** After each piece of the work: what to wait for where the slice is over, else null. */
  next(): Promise<void> | null {
    this.#pieces += 1;
    const isOver = this.#pieces >= SLICE_PIECES || performance.now() - this.#began >= SLICE_MS;
    return isOver ? this.#pause() : null;
  }

  async #pause(): Promise<void> {
    await nextTask();
    this.#pieces = 0;
    this.#began = performance.now();
  }
}

/** When the browser has had its turn. */
function nextTask(): Promise<void> {
  // Not in every browser, whatever its type says.
  const { scheduler } = globalThis as { scheduler?: { yield?: () => Promise<void> } };
  if (scheduler?.yield) return scheduler.yield();
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
