import { useId } from "react";
import { FieldProblem } from "./FormField";

export interface Choice {
  id: string;
  name: string;
  description: string;
  risky?: boolean;
}

/** One of a few, each explained in a line. */
export function Choices(props: {
  legend: string;
  choices: readonly Choice[];
  chosen: string;
  problem: string | null;
  onChoose: (id: string) => void;
}) {
  const name = useId();
  return (
    <fieldset className="choices">
      <legend className="label">{props.legend}</legend>
      {props.choices.map((choice) => (
        <label key={choice.id} className={choice.risky ? "choice risky" : "choice"}>
          <input
            type="radio"
            name={name}
            checked={props.chosen === choice.id}
            onChange={() => props.onChoose(choice.id)}
          />
          <span>
            <span className="choice-name">{choice.name}</span>
            <span className="choice-about">{choice.description}</span>
          </span>
        </label>
      ))}
      {props.problem && <FieldProblem text={props.problem} />}
    </fieldset>
  );
}
