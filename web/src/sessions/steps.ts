export type Step = "next" | "previous" | "first" | "last";

/** Where a step leads in a list of so many; from nowhere it leads to an end of it. */
export function stepTo(step: Step, at: number, count: number): number {
  if (count === 0) return -1;
  switch (step) {
    case "first":
      return 0;
    case "last":
      return count - 1;
    case "next":
      return Math.min(at + 1, count - 1);
    case "previous":
      return at < 0 ? count - 1 : Math.max(at - 1, 0);
  }
}
