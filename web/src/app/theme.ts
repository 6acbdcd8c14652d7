import { shelf } from "../state/shelf";
import { Store } from "../state/store";

export type Theme = "system" | "light" | "dark";

const KEY = "dragoman.theme";

export const theme = new Store<Theme>(remembered());

function remembered(): Theme {
  const kept = shelf.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function show(): void {
  const chosen = theme.get();
  shelf.setItem(KEY, chosen);
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function nextTheme(): void {
  const order: readonly Theme[] = ["system", "light", "dark"];
  theme.set(order[(order.indexOf(theme.get()) + 1) % order.length] ?? "system");
}

theme.watch(show);
show();
