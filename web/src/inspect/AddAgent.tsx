import { type FormEvent, useState } from "react";
import { client } from "../app/api";
import { useRefusal } from "../app/rights";
import { loadAgents } from "../sessions/agents";
import { FieldProblem, FormField } from "../sessions/FormField";
import { PairRows } from "../sessions/PairRows";
import { Dialog } from "../ui/Dialog";
import { reason, say } from "../ui/notices";
import { type AgentDraft, agentField, agentOf, EMPTY_AGENT } from "./agentDraft";

/** Opens the form for an agent that needs no code. */
export function AddAgentButton() {
  const [isOpen, setOpen] = useState(false);
  const refusal = useRefusal("admin", "Your token may not add agents.");
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onClick={() => setOpen(true)}
      >
        Add an agent
      </button>
      {isOpen && <AddAgentDialog onClose={() => setOpen(false)} />}
    </>
  );
}

interface Problem {
  field: keyof AgentDraft | null;
  text: string;
}

function AddAgentDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(EMPTY_AGENT);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<AgentDraft>) => {
    setDraft((before) => ({ ...before, ...part }));
    if (problem?.field && problem.field in part) setProblem(null);
  };
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const added = await client.addAgent(agentOf(draft));
      await loadAgents();
      onClose();
      say(`${added.name} is added.`);
    } catch (error) {
      setProblem({ field: agentField(error), text: reason(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title="Add an agent" onClose={onClose}>
      <form className="session-dialog" onSubmit={add} aria-busy={busy}>
        <p className="dim small">
          Any agent that speaks the Agent Client Protocol. Its command runs on the daemon's machine,
          as the daemon's user.
        </p>
        <AgentFields draft={draft} problem={problem} onChange={change} />
        {problem?.field === null && <FieldProblem text={problem.text} />}
        <div className="row session-dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="button primary"
            disabled={busy || !draft.id.trim() || !draft.command.trim()}
          >
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function AgentFields(props: {
  draft: AgentDraft;
  problem: Problem | null;
  onChange: (part: Partial<AgentDraft>) => void;
}) {
  const { draft, onChange } = props;
  const text = (field: "id" | "name" | "command", label: string, placeholder: string) => (
    <FormField
      label={label}
      hint={HINTS[field]}
      problem={props.problem?.field === field ? props.problem.text : null}
    >
      {(wiring) => (
        <input
          {...wiring}
          className={field === "name" ? "input" : "input mono"}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          value={draft[field]}
          onChange={(event) => onChange({ [field]: event.target.value })}
        />
      )}
    </FormField>
  );
  return (
    <>
      {text("id", "Id", "my-agent")}
      {text("command", "Command", "my-agent --acp")}
      {text("name", "Name", "My agent")}
      <div className="form-group">
        <span className="label">Environment</span>
        <PairRows what="variable" pairs={draft.env} onChange={(env) => onChange({ env })} />
        {props.problem?.field === "env" && <FieldProblem text={props.problem.text} />}
      </div>
      <div className="form-group">
        <span className="label">Offer it</span>
        <Switch
          label="files through the daemon"
          on={draft.fs}
          onSwitch={(fs) => onChange({ fs })}
        />
        <Switch
          label="commands through the daemon"
          on={draft.terminal}
          onSwitch={(terminal) => onChange({ terminal })}
        />
      </div>
    </>
  );
}

const HINTS = {
  id: "Lower case letters and digits, with - between them.",
  command: "As you would type it in a shell.",
  name: "How it is shown; else by its id.",
};

function Switch(props: { label: string; on: boolean; onSwitch: (on: boolean) => void }) {
  return (
    <label className="row small">
      <input
        type="checkbox"
        checked={props.on}
        onChange={(event) => props.onSwitch(event.target.checked)}
      />
      {props.label}
    </label>
  );
}
