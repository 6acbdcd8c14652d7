import { Plain } from "./Plain";
import type { Step } from "./steps";
import "./Plan.css";

const WORDS = { done: "done", now: "in progress", open: "open", dropped: "dropped" } as const;
const MARKS = { done: "✓", now: "›", open: "", dropped: "–" } as const;

/** A plan or todo list. */
export function Plan({ steps }: { steps: readonly Step[] }) {
  const done = steps.filter((step) => step.state === "done").length;
  let at = 0;
  return (
    <section className="plan" aria-label="Plan">
      <p className="plan-head">
        Plan{" "}
        <span className="dim">
          {done} of {steps.length} done
        </span>
      </p>
      <ol>
        {steps.map(({ text, state }) => (
          <li key={at++} className={`plan-step ${state}`}>
            <span className="plan-mark" role="img" aria-label={WORDS[state]}>
              {MARKS[state]}
            </span>
            <span className="plan-text">
              <Plain text={text} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
