/** Finds a plan or todo list in what an agent gave, whatever words it has for it. */

export interface Step {
  text: string;
  state: "done" | "now" | "open" | "dropped";
}

const LISTS = ["steps", "plan", "todos", "newTodos", "items", "tasks", "entries"];
const TEXTS = ["step", "content", "text", "title", "subject", "description", "name"];
const STATES: Readonly<Record<string, Step["state"]>> = {
  completed: "done",
  complete: "done",
  done: "done",
  in_progress: "now",
  inprogress: "now",
  "in-progress": "now",
  active: "now",
  cancelled: "dropped",
  canceled: "dropped",
  skipped: "dropped",
};

/** The steps, or null where the value holds none. */
export function stepsOf(value: unknown): Step[] | null {
  const list = Array.isArray(value) ? value : listIn(value);
  if (!list || list.length === 0) return null;
  const steps = list.map(stepOf);
  return steps.every((step) => step !== null) ? steps : null;
}

function listIn(value: unknown): unknown[] | null {
  if (!isRecord(value)) return null;
  const found = LISTS.map((name) => value[name]).find(Array.isArray);
  return (found as unknown[] | undefined) ?? null;
}

function stepOf(value: unknown): Step | null {
  if (!isRecord(value)) return null;
  const text = TEXTS.map((name) => value[name]).find((each) => typeof each === "string");
  if (typeof text !== "string") return null;
  if (typeof value.completed === "boolean")
    return { text, state: value.completed ? "done" : "open" };
  if (typeof value.status !== "string") return null;
  return { text, state: STATES[value.status.toLowerCase()] ?? "open" };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
