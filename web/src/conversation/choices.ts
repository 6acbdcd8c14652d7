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

/** With words of the person's own, in place of an option or beside them. */
export function saying(question: Question, choice: Choice, other: string): Choice {
  const usesOther = other !== "" || !question.multi_select;
  return { other, usesOther, picked: question.multi_select ? choice.picked : [] };
}

/** One list for each question, in the order of the options. */
export function answersOf(
  questions: readonly Question[],
  choices: readonly Choice[],
): readonly string[][] {
  return questions.map((question, at) => {
    const { picked, other, usesOther } = choices[at] ?? NO_CHOICE;
    const labels = (question.options ?? []).map(({ label }) => label);
    const own = usesOther && other.trim() !== "" ? [other] : [];
    return [...labels.filter((label) => picked.includes(label)), ...own];
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
