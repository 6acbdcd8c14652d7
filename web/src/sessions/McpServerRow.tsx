import { focusBeside } from "../ui/focus";
import { Icon } from "./Icon";
import type { ServerRow } from "./mcp";
import { PairRows } from "./PairRows";

/** One MCP server, in fields. */
export function McpServerRow(props: {
  server: ServerRow;
  onChange: (server: ServerRow) => void;
  onRemove: () => void;
}) {
  const { server, onChange } = props;
  const change = (part: Partial<ServerRow>) => onChange({ ...server, ...part });
  const isLocal = server.kind === "local";
  return (
    <div className="form-card">
      <div className="row wrap">
        <input
          className="input grow"
          aria-label="Name of the server"
          placeholder="Name"
          autoComplete="off"
          required
          value={server.name}
          onChange={(event) => change({ name: event.target.value })}
        />
        <select
          className="input form-kind"
          aria-label="Kind of server"
          value={server.kind}
          onChange={(event) =>
            change({ kind: event.target.value === "local" ? "local" : "remote", pairs: [] })
          }
        >
          <option value="local">Local command</option>
          <option value="remote">Remote address</option>
        </select>
        <button
          type="button"
          className="button quiet small"
          aria-label={`Remove the server ${server.name}`}
          onClick={(event) => {
            focusBeside(event.currentTarget.closest(".form-card"));
            props.onRemove();
          }}
        >
          <Icon name="remove" />
        </button>
      </div>
      <input
        className="input mono"
        aria-label={isLocal ? "Command of the server" : "Address of the server"}
        placeholder={isLocal ? "npx -y some-mcp-server" : "https://example.com/mcp"}
        autoComplete="off"
        spellCheck={false}
        required
        value={isLocal ? server.line : server.url}
        onChange={(event) =>
          change(isLocal ? { line: event.target.value } : { url: event.target.value })
        }
      />
      <PairRows
        what={isLocal ? "variable" : "header"}
        pairs={server.pairs}
        onChange={(pairs) => change({ pairs })}
      />
    </div>
  );
}
