import type { AgentInfo } from "dragoman-client";
import { type FormEvent, useMemo, useState } from "react";
import { client } from "../app/api";
import { goAndSpeak } from "../conversation/speaking";
import { reason } from "../ui/notices";
import { type Draft, type Field, fieldOf, firstAgent, requestOf } from "./draft";
import { recall, recallFor, remember } from "./memory";

export interface Problem {
  /** null: it is about no field. */
  field: Field | null;
  text: string;
}

/** The form of a new session: what was filled in, what is wrong with it, and how to send it. */
export function useDraft(agents: readonly AgentInfo[] | null) {
  const [filled, setFilled] = useState(recall);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const draft = useMemo(() => settled(filled, agents), [filled, agents]);
  const change = (part: Partial<Draft>) => {
    setFilled({ ...draft, ...part });
    if (problem?.field && problem.field in part) setProblem(null);
  };
  const chooseAgent = (agent: string) => change({ agent, agentVersion: "", ...recallFor(agent) });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { sessionId } = await client.createSession(null, requestOf(draft));
      remember(draft);
      await goAndSpeak(sessionId);
    } catch (error) {
      setProblem({ field: fieldOf(error), text: reason(error) });
    } finally {
      setBusy(false);
    }
  };
  return { draft, change, chooseAgent, busy, problem, submit };
}

/** With an agent that there is. */
function settled(draft: Draft, agents: readonly AgentInfo[] | null): Draft {
  if (agents === null) return draft;
  const agent = firstAgent(agents, draft.agent);
  return agent === draft.agent ? draft : { ...draft, agent, ...recallFor(agent) };
}
