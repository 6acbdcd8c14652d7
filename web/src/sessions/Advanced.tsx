import { useId } from "react";
import type { Draft, Field } from "./draft";
import { FieldProblem, FormField } from "./FormField";
import { McpServers } from "./McpServers";
import { PairRows } from "./PairRows";
import { SkillSources } from "./SkillSources";

const FIELDS: readonly Field[] = ["mcp", "skills", "env", "agentVersion"];

/** What few sessions need, folded away until it is used or wrong. */
export function Advanced(props: {
  draft: Draft;
  wrong: (field: Field) => string | null;
  onChange: (part: Partial<Draft>) => void;
}) {
  const { draft, wrong, onChange } = props;
  const about = useId();
  const isWrong = FIELDS.some((field) => wrong(field) !== null);
  const used = draft.mcp.length + draft.skills.length + draft.env.length;
  return (
    <details
      className="card form-advanced"
      open={isWrong || undefined}
      onInvalidCapture={(event) => {
        // A browser does not lead to what is wrong where it cannot be seen, and says nothing.
        event.currentTarget.open = true;
      }}
    >
      <summary>
        MCP servers, skills, environment
        {used > 0 && <span className="chip">{used}</span>}
      </summary>
      <div className="form-advanced-fields">
        <McpServers
          servers={draft.mcp}
          problem={wrong("mcp")}
          onChange={(mcp) => onChange({ mcp })}
        />
        <SkillSources
          skills={draft.skills}
          problem={wrong("skills")}
          onChange={(skills) => onChange({ skills })}
        />
        <fieldset className="form-group" aria-describedby={about}>
          <legend className="label">Environment</legend>
          <PairRows what="variable" pairs={draft.env} onChange={(env) => onChange({ env })} />
          {wrong("env") && <FieldProblem text={wrong("env") ?? ""} />}
          <p id={about} className="dim small">
            Given to the agent's process only. The page does not keep the values.
          </p>
        </fieldset>
        <FormField
          label="Version of the agent"
          hint="Empty: the one that is installed."
          problem={wrong("agentVersion")}
        >
          {(wiring) => (
            <input
              {...wiring}
              className="input mono"
              autoComplete="off"
              value={draft.agentVersion}
              onChange={(event) => onChange({ agentVersion: event.target.value })}
            />
          )}
        </FormField>
      </div>
    </details>
  );
}
