import { type ReactNode, useEffect, useId, useRef } from "react";
import { useProblem } from "../app/reconnect";

interface Wiring {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A label, a field, what helps to fill it in, and what the daemon says is wrong with it. */
export function FormField(props: {
  label: string;
  hint?: ReactNode;
  problem?: string | null;
  children: (wiring: Wiring) => ReactNode;
}) {
  const id = useId();
  const { hint, problem } = props;
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children({
        id,
        "aria-describedby": problem || hint ? `${id}-about` : undefined,
        "aria-invalid": problem ? true : undefined,
      })}
      <div id={`${id}-about`} className="form-about">
        {problem ? <FieldProblem text={problem} /> : hint}
      </div>
    </div>
  );
}

/** What is wrong with a field; it comes into sight when it appears. */
export function FieldProblem(props: { text: string }) {
  const text = useProblem(props.text);
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Not returned: newer browsers give a promise, which is no cleanup.
    void element.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <p ref={element} role="alert" className="bad-text">
      {text}
    </p>
  );
}
