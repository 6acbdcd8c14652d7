import type { SessionInfo } from "dragoman-client";
import { useState } from "react";
import { client } from "../app/api";
import { useMay } from "../app/rights";
import { complain, say } from "../ui/notices";
import { useCapabilities } from "./capabilities";
import { continuationOf } from "./continuing";
import { draftOf } from "./drafts";
import { goAndSpeak } from "./speaking";

/** Says that the session takes nothing more, and offers what can be done about it. */
export function ComposerEnded({ session }: { session: SessionInfo }) {
  const capabilities = useCapabilities(session.agent);
  const [isBusy, setBusy] = useState(false);
  const mayWrite = useMay("write");
  const canGoOn = mayWrite && capabilities?.resume === true && Boolean(session.nativeSessionId);
  const goOn = async () => {
    setBusy(true);
    try {
      await continueIn(session);
    } catch (error) {
      setBusy(false);
      complain(error);
    }
  };
  return (
    <div className="composer-ended">
      <div className="grow">
        <p>This session has ended and takes no more messages.</p>
        {canGoOn && (
          <p className="dim small">
            A new session goes on where it stopped. Environment variables and secrets do not come
            along.
          </p>
        )}
        {capabilities?.resume === false && (
          <p className="dim small">This agent cannot go on where a session stopped.</p>
        )}
      </div>
      {canGoOn && (
        <button
          type="button"
          className="button primary"
          disabled={isBusy}
          onClick={() => void goOn()}
        >
          Continue in a new session
        </button>
      )}
    </div>
  );
}

async function continueIn(session: SessionInfo): Promise<void> {
  const { request, left } = continuationOf(session);
  const { sessionId } = await client.createSession(null, request);
  const unsent = draftOf(session.sessionId);
  draftOf(sessionId).type(unsent.value.get().text);
  unsent.type("");
  if (left.length > 0) say(`Without these MCP servers, which had secrets: ${left.join(", ")}.`);
  await goAndSpeak(sessionId);
}
