import type { Question, QuestionRequested } from "dragoman-client";
import { type FormEvent, type KeyboardEvent, type RefObject, useEffect, useState } from "react";
import { client } from "../app/api";
import { useMay } from "../app/rights";
import { Plain } from "../parts/Plain";
import { AskCard, AskHead, MayNotAnswer } from "./AskCard";
import { useAskKeys } from "./askKeys";
import { addressIn } from "./asks";
import {
  answersOf,
  type Choice,
  firstNumber,
  NO_CHOICE,
  noChoices,
  optionAt,
  picking,
} from "./choices";
import { QuestionFields } from "./QuestionFields";
import type { Answering } from "./useAnswer";

/** What is chosen stays while a card is scrolled out of sight. */
const kept = new Map<string, readonly Choice[]>();

/** Some answers are secrets: nothing of them is kept once they are given, or no longer wanted. */
export function forgetChoices(id: string): void {
  kept.delete(id);
}

function useChoices(id: string, questions: readonly Question[]) {
  const [choices, setChoices] = useState(() => kept.get(id) ?? noChoices(questions));
  useEffect(() => {
    kept.set(id, choices);
  }, [id, choices]);
  const change = (at: number, choice: Choice) =>
    setChoices((before) => before.map((each, place) => (place === at ? choice : each)));
  /** Choose by a number; gives whether there is such an option. */
  const pick = (number: number): boolean => {
    const option = optionAt(questions, number);
    const question = option && questions[option.question];
    const choice = option && choices[option.question];
    if (!option || !question || !choice) return false;
    change(option.question, picking(question, choice, option.label));
    return true;
  };
  return { choices, change, pick };
}

/** A request that waits, with one question or several. */
export function QuestionForm(props: {
  label: string;
  sessionId: string;
  asked: QuestionRequested;
  questions: readonly Question[];
  answering: Answering;
  hadFocus: RefObject<boolean>;
}) {
  const { sessionId, asked, questions } = props;
  const { given, problem, answer } = props.answering;
  const id = asked.question_id;
  const { choices, change, pick } = useChoices(id, questions);
  const mayAnswer = useMay("approve");
  const isOpen = given === null && mayAnswer;
  const press = (key: string) => {
    if (isOpen && pick(Number(key))) focusOption(element.current, Number(key));
  };
  const { element, isCurrent } = useAskKeys({ id, kind: "question", isOpen }, press);
  const answers = answersOf(questions, choices);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    answer("answer", () => client.replyQuestion(sessionId, id, { answers: [...answers] }));
  };
  return (
    <AskCard
      label={props.label}
      element={element}
      isCurrent={isCurrent}
      problem={problem}
      hadFocus={props.hadFocus}
    >
      <AskHead kind="The agent asks" />
      <form className="question-form" onSubmit={submit} onKeyDown={onDigit(press)}>
        {questions.map((question, at) => (
          <QuestionFields
            key={question.question_id ?? question.prompt}
            question={question}
            choice={choices[at] ?? NO_CHOICE}
            first={firstNumber(questions, at)}
            disabled={!isOpen}
            onChange={(choice) => change(at, choice)}
          />
        ))}
        <Address url={addressIn(asked.metadata)} />
        {mayAnswer ? (
          <Buttons
            isOpen={isOpen}
            answered={answers.filter((each) => each.length > 0).length}
            all={questions.length}
            onReject={() => answer("reject", () => client.rejectQuestion(sessionId, id))}
          />
        ) : (
          <MayNotAnswer />
        )}
      </form>
    </AskCard>
  );
}

function Buttons(props: { isOpen: boolean; answered: number; all: number; onReject: () => void }) {
  const { isOpen, answered, all } = props;
  return (
    <div className="row wrap">
      <button type="submit" className="button primary" disabled={!isOpen || answered === 0}>
        Answer
      </button>
      <button type="button" className="button" disabled={!isOpen} onClick={props.onReject}>
        Do not answer
      </button>
      <span className="dim small" role="status">
        {!isOpen && "Sending your answer…"}
        {isOpen && all > 1 && `${answered} of ${all} answered`}
      </span>
    </div>
  );
}

function Address({ url }: { url: string | null }) {
  if (url === null) return null;
  return (
    <p className="question-address">
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        <Plain text={url} />
      </a>
    </p>
  );
}

/** A choice that has the focus is a field to the page's own keys; its digits are taken here. */
function onDigit(press: (key: string) => void) {
  return (event: KeyboardEvent) => {
    if (!/^[1-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.target instanceof HTMLInputElement) || event.target.matches(".input")) return;
    event.preventDefault();
    press(event.key);
  };
}

/** So that Enter submits, and the arrows go on from there. */
function focusOption(card: HTMLElement | null, number: number): void {
  card?.querySelector<HTMLInputElement>(`input[data-number="${number}"]`)?.focus();
}
