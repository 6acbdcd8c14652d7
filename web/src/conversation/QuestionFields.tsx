import type { Question } from "dragoman-client";
import { useId, useRef } from "react";
import { Markdown } from "../parts/Markdown";
import { Plain } from "../parts/Plain";
import { Key } from "./AskCard";
import { type Choice, isPicked, picking, saying, takesOther } from "./choices";

/** One question, and what can be answered to it. */
export function QuestionFields(props: {
  question: Question;
  choice: Choice;
  /** The number of its first option among all. */
  first: number;
  disabled: boolean;
  onChange: (choice: Choice) => void;
}) {
  const { question, choice, disabled, onChange } = props;
  const name = useId();
  const options = question.options ?? [];
  return (
    <fieldset
      className="question-fields"
      disabled={disabled}
      aria-labelledby={`${name}${question.header ? "header" : "prompt"}`}
    >
      <div className="question-words">
        {question.header && (
          <span id={`${name}header`} className="question-header">
            <Plain text={question.header} />
          </span>
        )}
        <div id={`${name}prompt`}>
          <Prompt id={`${name}words`} text={question.prompt} />
        </div>
        {question.multi_select && <span className="dim small">Choose one or several.</span>}
      </div>
      {options.map(({ label, description }, at) => (
        <label key={label} className="question-option">
          <input
            type={question.multi_select ? "checkbox" : "radio"}
            name={name}
            data-number={props.first + at}
            checked={isPicked(question, choice, label)}
            onChange={() => onChange(picking(question, choice, label))}
          />
          <span className="grow">
            <Plain text={label} />
            {description && (
              <span className="question-description">
                <Plain text={description} />
              </span>
            )}
          </span>
          {props.first + at <= 9 && <Key name={String(props.first + at)} />}
        </label>
      ))}
      {takesOther(question) && <Other name={name} {...props} isAlone={options.length === 0} />}
    </fieldset>
  );
}

/** An answer in the person's own words. */
function Other(props: {
  name: string;
  question: Question;
  choice: Choice;
  isAlone: boolean;
  onChange: (choice: Choice) => void;
}) {
  const { question, choice, onChange } = props;
  const words = useRef<HTMLInputElement>(null);
  const label = props.isAlone ? "Your answer" : "Other answer";
  const field = (
    <input
      ref={words}
      className="input"
      type={question.secret ? "password" : "text"}
      autoComplete="off"
      aria-label={label}
      placeholder={props.isAlone ? "" : "Something else"}
      value={choice.other}
      onChange={(event) => onChange(saying(choice, event.target.value))}
    />
  );
  const note = question.secret && (
    <p className="dim small">It is sent to the agent, and not stored.</p>
  );
  if (props.isAlone) {
    return (
      <>
        {field}
        {note}
      </>
    );
  }
  return (
    <>
      <div className="question-option">
        <input
          type={question.multi_select ? "checkbox" : "radio"}
          name={props.name}
          aria-label="Other"
          checked={choice.usesOther}
          onChange={(event) => {
            // Nothing is not an answer: first the words.
            if (choice.other.trim() === "") words.current?.focus();
            else onChange({ ...choice, usesOther: event.target.checked });
          }}
        />
        {field}
      </div>
      {note}
    </>
  );
}

/** The words of a question; a plan has many lines. */
export function Prompt({ id, text }: { id: string; text: string }) {
  const words = text.trim();
  return (
    <div className="question-prompt">
      {words.includes("\n") ? <Markdown id={id} text={words} /> : <Plain text={words} />}
    </div>
  );
}
