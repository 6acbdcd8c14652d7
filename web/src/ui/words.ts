/** How numbers, times and states are said. */

import type { SessionInfo, Usage } from "dragoman-client";

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** How long ago, or the date where that is long. */
export function ago(time: number, now = Date.now()): string {
  const past = now - time;
  if (past > 7 * 86_400_000) return new Date(time).toLocaleDateString();
  for (const [unit, ms] of STEPS) {
    if (past >= ms) return RELATIVE.format(-Math.floor(past / ms), unit);
  }
  return "now";
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString();
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value: number) => COMPACT.format(value);

/** A number of things. */
export const plural = (value: number, one: string) =>
  `${value.toLocaleString("en")} ${value === 1 ? one : `${one}s`}`;

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ["KB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log(value) / Math.log(1024)), units.length);
  return `${(value / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}

export function cost(usage: Usage | null | undefined): string | null {
  if (usage?.cost_usd === undefined || usage.cost_usd === null) return null;
  const value = usage.cost_usd;
  const digits = value > 0 && value < 0.01 ? 4 : 2;
  return `${usage.cost_source === "estimated" ? "≈ " : ""}$${value.toFixed(digits)}`;
}

/** All tokens that went in. */
export function tokensIn(usage: Usage): number {
  return (
    (usage.input_tokens ?? 0) + (usage.cached_input_tokens ?? 0) + (usage.cache_write_tokens ?? 0)
  );
}

export type Mood = "run" | "wait" | "good" | "bad" | "";

/** What a session does, in a word, and how that looks. */
export function stateOf(session: SessionInfo): { word: string; mood: Mood } {
  if (session.status === "waiting") return { word: "waiting for you", mood: "wait" };
  if (session.status === "running") return { word: "running", mood: "run" };
  if (session.status === "starting") return { word: "starting", mood: "run" };
  if (session.status === "ended") return { word: "ended", mood: "" };
  if (session.lastOutcome === "interrupted") return { word: "interrupted", mood: "wait" };
  if (session.lastOutcome === "failed") return { word: "failed", mood: "bad" };
  return { word: "idle", mood: "good" };
}

export const titleOf = (session: SessionInfo) =>
  session.title || session.preview || session.sessionId;
