import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { useProblem } from "../app/reconnect";
import { useRefusal } from "../app/rights";
import { Plain } from "../parts/Plain";
import { isLost, useLeaving } from "../ui/focus";
import { clock } from "../ui/words";
import type { Outcome } from "./asks";
import "./AskCard.css";

/** The frame of a request that waits for a person. */
export function AskCard(props: {
  label: string;
  element: RefObject<HTMLDivElement | null>;
  isCurrent: boolean;
  problem: string | null;
  /** Told, when it is over, whether the focus was in it. */
  hadFocus: RefObject<boolean>;
  children: ReactNode;
}) {
  useLeaving(props.element, (hadFocus) => {
    props.hadFocus.current = hadFocus;
  });
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and these are inside.
    <div
      ref={props.element}
      className="ask-card"
      role="group"
      aria-label={props.label}
      tabIndex={-1}
      data-current={props.isCurrent || undefined}
    >
      {props.children}
      <Problem text={props.problem} />
    </div>
  );
}

/** What a request is about, above all else. */
export function AskHead(props: { kind: string; children?: ReactNode }) {
  return (
    <div className="ask-head">
      <span className="ask-kind">
        <Plain text={props.kind} />
      </span>
      {props.children}
    </div>
  );
}

/** A request that is over: one quiet line, and below it whatever else was said. */
export function SettledCard(props: {
  label: string;
  outcome: Outcome;
  at: string | null;
  about: string;
  problem: string | null;
  /** It was answered here, or somebody was at it: their focus would be lost with the buttons. */
  isMine: boolean;
  hadFocus: RefObject<boolean>;
  /** What was asked, in full. */
  asked: ReactNode;
  /** What was answered. */
  children?: ReactNode;
}) {
  const { word, mood, by, why } = props.outcome;
  const element = useRef<HTMLDivElement>(null);
  const { isMine, hadFocus } = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it comes.
  useEffect(() => {
    if ((isMine || hadFocus.current) && isLost()) element.current?.focus({ preventScroll: true });
  }, []);
  return (
    // biome-ignore lint/a11y/useSemanticElements: there are no fields in it any more.
    <div ref={element} className="ask-settled" role="group" aria-label={props.label} tabIndex={-1}>
      <details>
        <summary>
          <span className={`chip ${mood}`}>{word}</span>
          <span className="ask-about mono cut">
            <Plain text={props.about} />
          </span>
          <span className="ask-by">
            <Plain text={by ?? why ?? ""} />
            {props.at && <time dateTime={props.at}>{clock(props.at)}</time>}
          </span>
        </summary>
        {props.asked}
      </details>
      {by && why && (
        <p className="ask-why">
          <span className="dim">The agent was told: </span>
          <Plain text={why} />
        </p>
      )}
      {props.children}
      <Problem text={props.problem} />
    </div>
  );
}

function Problem(props: { text: string | null }) {
  const text = useProblem(props.text);
  return (
    <div role="alert">
      {text && (
        <p className="ask-problem">
          <Plain text={text} />
        </p>
      )}
    </div>
  );
}

/** In place of the answers, for who may only look. */
export function MayNotAnswer() {
  const refusal = useRefusal("approve", "Your token may not answer. Whoever may is still asked.");
  return <p className="dim small">{refusal}</p>;
}

/** A key, as long as it would do something here. */
export function Key({ name }: { name: string }) {
  return (
    <span className="ask-key" aria-hidden="true">
      {name}
    </span>
  );
}
