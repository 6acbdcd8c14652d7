import { useState } from "react";
import { client } from "../app/api";
import { useMay } from "../app/rights";
import { goAndSpeak } from "../conversation/speaking";
import { complain } from "../ui/notices";

/** One click to a conversation that needs no key: with the agent that is built in. */
export function MockButton() {
  const [busy, setBusy] = useState(false);
  const mayStart = useMay("write");
  const start = async () => {
    setBusy(true);
    try {
      const { sessionId } = await client.createSession(null, {
        agent: "mock",
        title: "A first look",
      });
      await goAndSpeak(sessionId);
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" className="button primary" disabled={busy || !mayStart} onClick={start}>
      Talk to the mock agent
    </button>
  );
}
