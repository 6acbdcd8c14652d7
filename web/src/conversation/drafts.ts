/** The drafts of all sessions: they stay while one looks at another. */

import { client, clientWith } from "../app/api";
import { shelfIn } from "../state/shelf";
import { Draft } from "./draft";
import { fetchTelling } from "./progress";
import { Uploads } from "./uploads";

/** Kept as long as the browser's tab. */
const SHELF = shelfIn(() => sessionStorage);
const drafts = new Map<string, Draft>();

export function draftOf(sessionId: string): Draft {
  const known = drafts.get(sessionId);
  if (known !== undefined) return known;
  const uploads = new Uploads(client, sessionId, (tell) => clientWith(fetchTelling(tell)));
  const draft = new Draft(sessionId, client, uploads, SHELF);
  drafts.set(sessionId, draft);
  return draft;
}
