/** A long time, in its two largest units. */
export function uptime(ms: number): string {
  const s = Math.floor(ms / 1000);
  const parts = [
    [Math.floor(s / 86_400), "d"],
    [Math.floor(s / 3600) % 24, "h"],
    [Math.floor(s / 60) % 60, "min"],
    [s % 60, "s"],
  ] as const;
  const first = parts.findIndex(([value]) => value > 0);
  const shown = parts.slice(first < 0 ? -1 : first).slice(0, 2);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(" ");
}
