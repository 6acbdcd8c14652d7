import type { ModeInfo } from "dragoman-client";
import { type Choice, Choices } from "./Choices";
import type { Draft, Field, PermissionMode } from "./draft";

const PERMISSION_MODES: readonly (Choice & { id: PermissionMode })[] = [
  { id: "default", name: "Ask", description: "The agent asks before it acts." },
  {
    id: "acceptEdits",
    name: "Accept edits",
    description: "It changes files unasked, and asks for the rest.",
  },
  { id: "plan", name: "Plan", description: "It looks and plans. Changes to files are refused." },
  { id: "bypass", name: "Bypass", description: "Everything is allowed, unasked.", risky: true },
];

/** How the agent works, and what it may do unasked. */
export function ModeFields(props: {
  draft: Draft;
  modes: readonly ModeInfo[];
  wrong: (field: Field) => string | null;
  onChange: (part: Partial<Draft>) => void;
}) {
  const { draft, modes, wrong, onChange } = props;
  const permit = (chosen: string) => {
    const permissionMode = PERMISSION_MODES.find(({ id }) => id === chosen)?.id;
    if (permissionMode) onChange({ permissionMode });
  };
  return (
    <>
      {modes.length > 0 && (
        <Choices
          legend="Mode"
          choices={modes}
          // An agent's first mode is what a session gets that names none.
          chosen={draft.mode || (modes[0]?.id ?? "")}
          problem={wrong("mode")}
          onChoose={(mode) => onChange({ mode })}
        />
      )}
      <Choices
        legend="Permissions"
        choices={PERMISSION_MODES}
        chosen={draft.permissionMode}
        problem={wrong("permissionMode")}
        onChoose={permit}
      />
    </>
  );
}
