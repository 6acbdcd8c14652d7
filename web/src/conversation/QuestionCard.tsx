import type { Question, QuestionRequested, QuestionResolved } from "dragoman-client";
import { useEffect, useRef } from "react";
import { useCaller } from "../app/rights";
import { Plain } from "../parts/Plain";
import type { QuestionEntry } from "../state/fold";
import { SettledCard } from "./AskCard";
import { endOf, questionsOf } from "./asks";
import { Prompt } from "./QuestionFields";
import { forgetChoices, QuestionForm } from "./QuestionForm";
import { useAnswer } from "./useAnswer";
import "./QuestionCard.css";

/** A question as a line of the conversation. */
export function QuestionCard(props: { sessionId: string; entry: QuestionEntry }) {
  const { asked, resolved, resolvedAt } = props.entry;
  const request = asked ?? resolved;
  if (request === null) return null;
  return (
    <QuestionAsk
      sessionId={props.sessionId}
      asked={request}
      resolved={resolved}
      resolvedAt={resolvedAt}
    />
  );
}

/** A question, wherever it is shown. */
export function QuestionAsk(props: {
  sessionId: string;
  asked: QuestionRequested | QuestionResolved;
  resolved: QuestionResolved | null;
  resolvedAt: string | null;
  /** It waits no more, also where nothing is known of how it ended. */
  isOver?: boolean;
}) {
  const { asked, resolved } = props;
  const answering = useAnswer(props.sessionId);
  const caller = useCaller();
  const questions = questionsOf(asked);
  const label = `Question: ${questions[0]?.header ?? asked.prompt}`;
  const { given, counts } = answering;
  const hadFocus = useRef(false);
  const isOnItsWay = given !== null && !counts;
  const isOpen = resolved === null && (!props.isOver || isOnItsWay);
  useEffect(() => {
    if (!isOpen) forgetChoices(asked.question_id);
  }, [isOpen, asked.question_id]);
  if (isOpen) {
    return (
      <QuestionForm
        label={label}
        sessionId={props.sessionId}
        asked={asked}
        questions={questions}
        answering={answering}
        hadFocus={hadFocus}
      />
    );
  }
  return (
    <SettledCard
      label={label}
      outcome={endOf(resolved, given, caller)}
      at={props.resolvedAt}
      about={questions.map(nameOf).join(", ")}
      problem={answering.problem}
      isMine={given !== null}
      hadFocus={hadFocus}
      asked={questions.map((question) => (
        <Prompt
          key={question.prompt}
          id={`${asked.question_id}${question.prompt}`}
          text={question.prompt}
        />
      ))}
    >
      {resolved?.status === "answered" && (
        <Answers questions={questions} answers={resolved.answers ?? [[resolved.response ?? ""]]} />
      )}
    </SettledCard>
  );
}

const nameOf = (question: Question) => question.header ?? question.prompt;

function Answers(props: { questions: readonly Question[]; answers: readonly string[][] }) {
  return (
    <dl className="question-answers">
      {props.questions.map((question, at) => (
        <div key={question.prompt}>
          <dt>
            <Plain text={nameOf(question)} />
          </dt>
          <dd>
            <Plain text={props.answers[at]?.join(", ") || "no answer"} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
