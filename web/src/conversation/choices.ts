/** What a person has chosen so far, question by question. Pure. */

import type { Question } from "dragoman-client";

export interface Choice {
  picked: readonly string[];
  /** Words of the person's own, and whether they count. */
  other: string;
  usesOther: boolean;
}

export const NO_CHOICE: Choice = { picked: [], other: "", usesOther: false };

export function noChoices(questions: readonly Question[]): readonly Choice[] {
  return questions.map(() => NO_CHOICE);
}

export const takesOther = (question: Question) =>
  question.allow_other !== false || (question.options ?? []).length === 0;

/** With this option chosen; one of several that is chosen already is let go. */
export function picking(question: Question, choice: Choice, label: string): Choice {
  if (!question.multi_select) return { ...choice, picked: [label], usesOther: false };
  const picked = choice.picked.includes(label)
    ? choice.picked.filter((each) => each !== label)
    : [...choice.picked, label];
  return { ...choice, picked };
}

/** With words of the person's own, in place of an option or beside them. Blanks are no words. */
export function saying(choice: Choice, other: string): Choice {
  return { ...choice, other, usesOther: other.trim() !== "" };
}

/** Whether an option is chosen; of one that words stand in place of, the words count. */
export function isPicked(question: Question, choice: Choice, label: string): boolean {
  return choice.picked.includes(label) && (question.multi_select === true || !choice.usesOther);
}

/** One list for each question, in the order of the options. */
export function answersOf(
  questions: readonly Question[],
  choices: readonly Choice[],
): readonly string[][] {
  return questions.map((question, at) => {
    const choice = choices[at] ?? NO_CHOICE;
    const labels = (question.options ?? []).map(({ label }) => label);
    const own = choice.usesOther ? [choice.other] : [];
    return [...labels.filter((label) => isPicked(question, choice, label)), ...own];
  });
}

/** Options are numbered through all questions, so that one key names one option. */
export function optionAt(
  questions: readonly Question[],
  number: number,
): { question: number; label: string } | null {
  let left = number;
  for (const [at, question] of questions.entries()) {
    const options = question.options ?? [];
    const option = options[left - 1];
    if (option) return { question: at, label: option.label };
    left -= options.length;
  }
  return null;
}

export const firstNumber = (questions: readonly Question[], at: number) =>
  1 + questions.slice(0, at).reduce((sum, each) => sum + (each.options ?? []).length, 0);
