import { Diff } from "../parts/Diff";
import { Plain } from "../parts/Plain";
import type { Wanted } from "./asks";

/** All of what would be done, for that is what a person approves. */
export function PermissionWhat({ id, wanted }: { id: string; wanted: Wanted }) {
  const { command, cwd, paths, diff, description, why, input } = wanted;
  const isBare = command === null && diff === null && paths.length === 0;
  return (
    <div className="permission-what">
      {description && (
        <p>
          <Plain text={description} />
        </p>
      )}
      {command && (
        <pre className="permission-command">
          <code>
            <Plain text={command} />
          </code>
        </pre>
      )}
      {diff ? <Diff id={id} diff={diff} paths={paths} /> : null}
      {!diff && paths.length > 0 && <Paths paths={paths} />}
      {cwd && (
        <p className="dim small">
          in{" "}
          <code>
            <Plain text={cwd} />
          </code>
        </p>
      )}
      {why && (
        <p className="permission-why">
          <span className="dim">The agent says: </span>
          <Plain text={why} />
        </p>
      )}
      {input && <Input text={input} isOpen={isBare} />}
    </div>
  );
}

function Paths({ paths }: { paths: readonly string[] }) {
  return (
    <ul className="permission-paths" aria-label="Files">
      {paths.map((path) => (
        <li key={path}>
          <code>
            <Plain text={path} />
          </code>
        </li>
      ))}
    </ul>
  );
}

function Input({ text, isOpen }: { text: string; isOpen: boolean }) {
  return (
    <details className="permission-input" open={isOpen}>
      <summary className="dim small">All of the input</summary>
      <pre>
        <code>
          <Plain text={text} />
        </code>
      </pre>
    </details>
  );
}
