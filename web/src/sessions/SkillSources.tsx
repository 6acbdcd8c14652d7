import { focusBeside } from "../ui/focus";
import { newSkill, type SkillRow } from "./draft";
import { FieldProblem } from "./FormField";
import { Icon } from "./Icon";

const KINDS = {
  local: { word: "Folder", hint: "/home/me/skills" },
  github: { word: "GitHub", hint: "owner/repository" },
  git: { word: "Git", hint: "https://example.com/skills.git" },
} as const satisfies Record<SkillRow["type"], { word: string; hint: string }>;

/** Where a session's skills come from. */
export function SkillSources(props: {
  skills: readonly SkillRow[];
  problem: string | null;
  onChange: (skills: readonly SkillRow[]) => void;
}) {
  const { skills, onChange } = props;
  const change = (changed: SkillRow) =>
    onChange(skills.map((skill) => (skill.key === changed.key ? changed : skill)));
  return (
    <fieldset className="form-group">
      <legend className="label">Skills</legend>
      {skills.map((skill) => (
        <Source
          key={skill.key}
          skill={skill}
          onChange={change}
          onRemove={() => onChange(skills.filter(({ key }) => key !== skill.key))}
        />
      ))}
      {props.problem && <FieldProblem text={props.problem} />}
      <div className="row">
        <button
          type="button"
          className="button small"
          onClick={() => onChange([...skills, newSkill()])}
        >
          <Icon name="plus" />
          Add a source
        </button>
      </div>
    </fieldset>
  );
}

function Source(props: {
  skill: SkillRow;
  onChange: (skill: SkillRow) => void;
  onRemove: () => void;
}) {
  const { skill, onChange } = props;
  const field = (name: "source" | "skills" | "ref" | "subpath", label: string, hint: string) => (
    <input
      className="input mono grow"
      aria-label={label}
      placeholder={hint}
      autoComplete="off"
      spellCheck={false}
      required={name === "source"}
      value={skill[name]}
      onChange={(event) => onChange({ ...skill, [name]: event.target.value })}
    />
  );
  return (
    <div className="form-card">
      <div className="row wrap">
        <select
          className="input form-kind"
          aria-label="Kind of source"
          value={skill.type}
          onChange={(event) => onChange({ ...skill, type: kindOf(event.target.value) })}
        >
          {Object.entries(KINDS).map(([kind, { word }]) => (
            <option key={kind} value={kind}>
              {word}
            </option>
          ))}
        </select>
        {field("source", "Source of the skills", KINDS[skill.type].hint)}
        <button
          type="button"
          className="button quiet small"
          aria-label="Remove the source"
          onClick={(event) => {
            focusBeside(event.currentTarget.closest(".form-card"));
            props.onRemove();
          }}
        >
          <Icon name="remove" />
        </button>
      </div>
      <div className="row wrap">
        {field("skills", "Names of the skills", "names, empty: all")}
        {field("subpath", "Folder in the source", "folder in it")}
        {skill.type !== "local" && field("ref", "Branch, tag or commit", "branch, tag or commit")}
      </div>
    </div>
  );
}

function kindOf(value: string): SkillRow["type"] {
  return value === "github" || value === "git" ? value : "local";
}
