import { useState } from "react";
import { useRefusal } from "../app/rights";
import { Advanced } from "./Advanced";
import { AgentChoice } from "./AgentChoice";
import { type AgentsState, useAgents } from "./agents";
import { Back } from "./Back";
import { DirectoryField } from "./DirectoryField";
import { DirectoryPicker } from "./DirectoryPicker";
import type { Field } from "./draft";
import { FieldProblem, FormField } from "./FormField";
import { ModeFields } from "./ModeFields";
import { ModelFields } from "./ModelFields";
import { useDraft } from "./useDraft";
import { useOffers } from "./useOffers";
import "./NewSession.css";

/** Everything that a new session can be given. */
export function NewSession() {
  const agents = useAgents();
  const form = useDraft(agents.list);
  const [isPicking, setPicking] = useState(false);
  const refusal = useRefusal("write", "Your token may not start sessions.");
  return (
    <div className="page scroll">
      <form className="new-session" onSubmit={form.submit} aria-busy={form.busy}>
        <header className="row">
          <Back />
          <h1>New session</h1>
        </header>
        <Fields form={form} agents={agents} onBrowse={() => setPicking(true)} />
        {form.problem?.field === null && <FieldProblem text={form.problem.text} />}
        <footer className="row new-session-end">
          {refusal !== null && <span className="dim small">{refusal}</span>}
          {form.busy && <Patience agents={agents} agent={form.draft.agent} />}
          <button
            type="submit"
            className="button primary"
            disabled={form.busy || form.draft.agent === "" || refusal !== null}
          >
            {form.busy ? "Starting…" : "Start session"}
          </button>
        </footer>
      </form>
      {isPicking && (
        <DirectoryPicker
          start={form.draft.directory}
          onPick={(directory) => form.change({ directory })}
          onClose={() => setPicking(false)}
        />
      )}
    </div>
  );
}

function Fields(props: {
  form: ReturnType<typeof useDraft>;
  agents: AgentsState;
  onBrowse: () => void;
}) {
  const { draft, change, chooseAgent, problem } = props.form;
  const { list, problem: unheard } = props.agents;
  const { offers, loading, refresh, problem: untold } = useOffers(draft.agent);
  const wrong = (field: Field) => (problem?.field === field ? problem.text : null);
  if (list === null) return <p className="dim">{unheard || "Looking for agents…"}</p>;
  return (
    <>
      <AgentChoice
        agents={list}
        chosen={draft.agent}
        onChoose={chooseAgent}
        problem={wrong("agent")}
      />
      <ModelFields
        key={draft.agent}
        draft={draft}
        offers={offers}
        loading={loading}
        problem={(field) => wrong(field) ?? (field === "model" ? untold : null)}
        onChange={change}
        onRefresh={refresh}
      />
      <ModeFields draft={draft} modes={offers.modes} wrong={wrong} onChange={change} />
      <DirectoryField
        value={draft.directory}
        problem={wrong("directory")}
        onChange={(directory) => change({ directory })}
        onBrowse={props.onBrowse}
      />
      <FormField label="Title" problem={wrong("title")}>
        {(wiring) => (
          <input
            {...wiring}
            className="input"
            placeholder="What it is about"
            autoComplete="off"
            value={draft.title}
            onChange={(event) => change({ title: event.target.value })}
          />
        )}
      </FormField>
      <Advanced draft={draft} wrong={wrong} onChange={change} />
    </>
  );
}

/** Why it takes long, where it does. */
function Patience({ agents, agent }: { agents: AgentsState; agent: string }) {
  const isThere = agents.list?.find(({ id }) => id === agent)?.installed ?? true;
  if (isThere) return null;
  return (
    <span className="dim small" role="status">
      The agent is being installed. This takes up to a minute.
    </span>
  );
}
