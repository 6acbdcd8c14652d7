import { useRef, useState } from "react";
import { FieldProblem } from "./FormField";
import { Icon } from "./Icon";
import { McpServerRow } from "./McpServerRow";
import { newServer, rowsOf, type ServerRow, serversOf } from "./mcp";

interface ServersProps {
  servers: readonly ServerRow[];
  problem: string | null;
  onChange: (servers: readonly ServerRow[]) => void;
}

/** The MCP servers of a session: in fields, or as JSON. */
export function McpServers(props: ServersProps) {
  const [isJson, setJson] = useState(false);
  const { servers, onChange } = props;
  const change = (changed: ServerRow) =>
    onChange(servers.map((server) => (server.key === changed.key ? changed : server)));
  return (
    <fieldset className="form-group">
      <legend className="label">MCP servers</legend>
      {isJson ? (
        <McpJson {...props} />
      ) : (
        servers.map((server) => (
          <McpServerRow
            key={server.key}
            server={server}
            onChange={change}
            onRemove={() => onChange(servers.filter(({ key }) => key !== server.key))}
          />
        ))
      )}
      {props.problem && <FieldProblem text={props.problem} />}
      <div className="row wrap">
        {!isJson && (
          <button
            type="button"
            className="button small"
            onClick={() => onChange([...servers, newServer()])}
          >
            <Icon name="plus" />
            Add a server
          </button>
        )}
        <button
          type="button"
          className="button quiet small"
          aria-pressed={isJson}
          onClick={() => setJson(!isJson)}
        >
          {isJson ? "Edit in fields" : "Edit as JSON"}
        </button>
      </div>
    </fieldset>
  );
}

const EXAMPLE = `{
  "docs": { "type": "local", "command": ["npx", "docs-server"] },
  "issues": { "type": "remote", "url": "https://example.com/mcp" }
}`;

function McpJson({ servers, onChange }: ServersProps) {
  const [json, setJson] = useState(() =>
    servers.length > 0 ? JSON.stringify(serversOf(servers), null, 2) : "",
  );
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const type = (text: string) => {
    setJson(text);
    const wrong = read(text, onChange);
    setProblem(wrong);
    // Keeps the form from being sent with what was there before.
    field.current?.setCustomValidity(wrong);
  };
  return (
    <>
      <textarea
        ref={field}
        className="input mono mcp-json"
        rows={8}
        spellCheck={false}
        aria-label="MCP servers as JSON"
        aria-invalid={problem !== ""}
        aria-describedby="mcp-json-about"
        placeholder={EXAMPLE}
        value={json}
        onChange={(event) => type(event.target.value)}
      />
      <p id="mcp-json-about" className={problem ? "bad-text small" : "dim small"}>
        {problem || "A server under each name. Files with mcpServers can be pasted as they are."}
      </p>
    </>
  );
}

/** Take over what the text says, or say what is wrong with it. */
function read(text: string, onRead: (rows: readonly ServerRow[]) => void): string {
  try {
    onRead(rowsOf(text));
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
