/** Who starts a session wants to say something: the message field has the focus when it comes. */

import { sessions } from "../app/api";
import { go, toSession } from "../app/route";
import { isTouch } from "./touch";

let expected: string | null = null;

/** Go to a session that was just made, in order to speak. */
export async function goAndSpeak(sessionId: string): Promise<void> {
  expected = sessionId;
  // Known before it is shown, so that the field is there with the page.
  await sessions.refresh(sessionId);
  go(toSession(sessionId));
}

/** Whether somebody comes to this session in order to speak; asked once. */
export function comesToSpeak(sessionId: string): boolean {
  const isExpected = expected === sessionId;
  expected = null;
  return isExpected && !isTouch();
}

/** Give the focus to the message field; not by touch, for it would bring up a keyboard. */
export function focusField(): void {
  if (!isTouch()) document.querySelector<HTMLElement>(".composer-field")?.focus();
}
