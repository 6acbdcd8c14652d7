/** Whether anybody can see the page. A browser opens six connections to a host for all tabs. */

/** A page that is out of sight for so long lets go of its streams. */
const GRACE_MS = 5_000;

const isHidden = () => typeof document !== "undefined" && document.hidden;

/** Ends with the outer signal, and when the page has been out of sight for a while. */
export function whileSeen(outer: AbortSignal): AbortSignal {
  if (typeof document === "undefined") return outer;
  const end = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => end.abort(), GRACE_MS);
  };
  look();
  document.addEventListener("visibilitychange", look, { signal: end.signal });
  outer.addEventListener("abort", () => end.abort(), { signal: end.signal });
  if (outer.aborted) end.abort();
  return end.signal;
}

/** When the page can be seen; at once, where it can. */
export function seen(outer: AbortSignal): Promise<void> {
  if (!isHidden() || outer.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = new AbortController();
    const look = () => {
      if (isHidden() && !outer.aborted) return;
      done.abort();
      resolve();
    };
    document.addEventListener("visibilitychange", look, { signal: done.signal });
    outer.addEventListener("abort", look, { signal: done.signal });
  });
}
