import type { AgentInfo } from "dragoman-client";
import { type FormEvent, useState } from "react";
import { client } from "../app/api";
import { useRefusal } from "../app/rights";
import { loadAgents } from "../sessions/agents";
import { FieldProblem } from "../sessions/FormField";
import { Dialog } from "../ui/Dialog";
import { reason, say } from "../ui/notices";

/** Removes an agent that was added over HTTP, after a question. */
export function RemoveAgentButton({ agent }: { agent: AgentInfo }) {
  const [isOpen, setOpen] = useState(false);
  const refusal = useRefusal("admin", "Your token may not remove agents.");
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={refusal !== null}
        title={refusal ?? undefined}
        aria-label={`Remove ${agent.name}`}
        onClick={() => setOpen(true)}
      >
        Remove
      </button>
      {isOpen && <RemoveAgentDialog agent={agent} onClose={() => setOpen(false)} />}
    </>
  );
}

function RemoveAgentDialog({ agent, onClose }: { agent: AgentInfo; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await client.removeAgent(agent.id);
      onClose();
      await loadAgents();
      say(`${agent.name} is removed.`);
    } catch (error) {
      setProblem(reason(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Remove the agent?" onClose={onClose}>
      <form className="session-dialog" onSubmit={remove}>
        <p>
          <strong>{agent.name}</strong> will be gone from the list. A turn that runs goes on to its
          end. Its sessions can be read, ended and deleted, and go on when an agent with the id{" "}
          <code>{agent.id}</code> is added again.
        </p>
        {problem !== null && <FieldProblem text={problem} />}
        <div className="row session-dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button danger" disabled={busy}>
            Remove
          </button>
        </div>
      </form>
    </Dialog>
  );
}
