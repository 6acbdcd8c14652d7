/** The drafts of all sessions: they stay while one looks at another. */

import { client, clientWith } from "../app/api";
import { Draft, type Memory } from "./draft";
import { fetchTelling } from "./progress";
import { Uploads } from "./uploads";

const drafts = new Map<string, Draft>();

export function draftOf(sessionId: string): Draft {
  const known = drafts.get(sessionId);
  if (known !== undefined) return known;
  const uploads = new Uploads(client, sessionId, (tell) => clientWith(fetchTelling(tell)));
  const draft = new Draft(sessionId, client, uploads, memory());
  drafts.set(sessionId, draft);
  return draft;
}

const NOWHERE: Memory = { getItem: () => null, setItem: () => {}, removeItem: () => {} };

function memory(): Memory {
  try {
    return sessionStorage;
  } catch {
    return NOWHERE;
  }
}
