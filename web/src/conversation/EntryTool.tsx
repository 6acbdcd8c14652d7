import type { Item } from "dragoman-client";
import { Fold } from "../parts/Fold";
import { Json } from "../parts/Json";
import { Output } from "../parts/Output";
import { Part, Structured } from "../parts/Part";
import { Plain } from "../parts/Plain";
import { Plan } from "../parts/Plan";
import { useFold, useSessionId } from "../parts/place";
import { isRecord, stepsOf } from "../parts/steps";
import { Terminal } from "../parts/Terminal";
import type { ToolEntry, View } from "../state/fold";
import { duration } from "../ui/words";
import { Entry, type EntryProps } from "./Entry";
import {
  argumentsOf,
  commandOf,
  isShown,
  partOf,
  summaryOf,
  type ToolState,
  toolName,
  toolState,
} from "./entryFacts";
import { PermissionCard } from "./PermissionCard";
import "./EntryTool.css";

/** A call of a tool: what it is, how it stands, what was asked about it, and what came of it. */
export function EntryTool(props: EntryProps & { entry: ToolEntry }) {
  const { entry, view, marked, recent } = props;
  const state = toolState(entry, view);
  const isWanted = entry.sequence >= recent || marked === entry.key;
  const [open, setOpen] = useFold(entry.key, isTelling(entry, state, isWanted));
  const hasMark = marked !== null && entry.children.includes(marked);
  return (
    <div className="tool" data-state={state}>
      <Head entry={entry} state={state} open={open} onToggle={() => setOpen(!open)} />
      <Requests entry={entry} view={view} />
      {open && (
        <div className="tool-body">
          <Body entry={entry} state={state} />
        </div>
      )}
      {entry.children.length > 0 && <Children {...props} open={hasMark || state === "running"} />}
    </div>
  );
}

/** Whether what came of a call is worth its room before anybody asked. */
function isTelling({ call, result }: ToolEntry, state: ToolState, isWanted: boolean): boolean {
  // The request shows already what it is about.
  if (state === "waiting") return false;
  if (state === "failed") return true;
  // Of many commands that went well, the last ones are enough.
  if (commandOf(call) !== null && (isWanted || state !== "done")) return true;
  if (stepsOf(argumentsOf(call)) !== null) return true;
  return (result?.content ?? []).some(
    (part) => part.type === "image" || (part.type === "file_ref" && part.diff),
  );
}

function Head(props: { entry: ToolEntry; state: ToolState; open: boolean; onToggle: () => void }) {
  const { entry, state, open, onToggle } = props;
  const { call, result } = entry;
  const took = result?.duration_ms;
  const summary = summaryOf(call);
  // A terminal that is open says both by itself.
  const command = open || summary.isCode ? null : commandOf(call);
  const ended = open || commandOf(call) === null ? null : (result?.exit_code ?? null);
  return (
    <button type="button" className="tool-head" aria-expanded={open} onClick={onToggle}>
      <span className="tool-dot" aria-hidden="true" />
      <span className="tool-name">
        {call?.server && (
          <span className="dim">
            <Plain text={call.server} /> ›{" "}
          </span>
        )}
        <Plain text={toolName(call)} />
      </span>
      <span className="tool-summary cut" data-code={summary.isCode}>
        <Plain text={inOneLine(summary.text)} />
        {command !== null && (
          <span className="tool-command">
            <Plain text={inOneLine(command)} />
          </span>
        )}
      </span>
      {ended !== null && <span className="tool-time">exit code {ended}</span>}
      {typeof took === "number" && <span className="tool-time">{duration(took)}</span>}
      <span className="tool-state">{state}</span>
      <span className="fold-arrow tool-arrow" aria-hidden="true" />
    </button>
  );
}

const inOneLine = (text: string) => text.replaceAll(/\s*\n\s*/g, " ⏎ ");

function Requests({ entry, view }: { entry: ToolEntry; view: View }) {
  const sessionId = useSessionId();
  const asks = entry.requests
    .map((key) => view.entries.get(key))
    .filter((ask) => ask?.kind === "permission");
  if (asks.length === 0) return null;
  return (
    <div className="tool-requests">
      {asks.map((ask) => (
        <PermissionCard key={ask.key} sessionId={sessionId} entry={ask} />
      ))}
    </div>
  );
}

function Body({ entry, state }: { entry: ToolEntry; state: ToolState }) {
  const { call, result, key } = entry;
  const command = commandOf(call);
  const output = partOf(result, "tool_result")?.output ?? "";
  const more = (result?.content ?? []).filter((part) => part.type !== "tool_result");
  const steps = stepsOf(argumentsOf(call));
  let at = 0;
  return (
    <>
      {command !== null && (
        <Terminal
          id={`${key}:terminal`}
          command={command}
          output={output}
          running={state === "running"}
          cwd={call?.cwd}
          exitCode={result?.exit_code}
        />
      )}
      {steps && <Plan steps={steps} />}
      {more.map((part) => (
        <Part key={at++} id={`${key}:${at}`} part={part} />
      ))}
      {command === null && output && (
        <Result id={`${key}:result`} output={output} bad={state === "failed"} />
      )}
      {result?.truncated && <p className="small dim">The agent has cut this output.</p>}
      {result?.output_path && (
        <p className="small dim">
          The full output is in <Plain text={result.output_path} />
        </p>
      )}
      {command === null && <Arguments id={key} call={call} />}
    </>
  );
}

/** A result of one such line needs no frame. */
const SHORT = 160;

function Result({ id, output, bad }: { id: string; output: string; bad: boolean }) {
  const value = structured(output);
  if (value !== null && !bad) return <Structured id={id} value={value} />;
  const isShort = output.length < SHORT && !output.trim().includes("\n");
  if (isShort && !bad) {
    return (
      <p className="small dim">
        <Plain text={output.trim()} />
      </p>
    );
  }
  return <Output id={id} text={output} bad={bad} />;
}

function structured(output: string): unknown {
  if (!/^\s*[[{]/.test(output) || output.length > 100_000) return null;
  try {
    const value: unknown = JSON.parse(output);
    return isRecord(value) || Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function Arguments({ id, call }: { id: string; call: Item | null }) {
  const part = partOf(call, "tool_call");
  if (!part || part.arguments === "" || part.arguments === "{}") return null;
  return (
    <Fold id={`${id}:arguments`} label="Arguments">
      <Json id={`${id}:arguments`} value={part.arguments} />
      {part.input !== undefined && (
        <>
          <p className="small dim">As the agent read them:</p>
          <Json id={`${id}:input`} value={part.input} />
        </>
      )}
    </Fold>
  );
}

function Children(props: EntryProps & { entry: ToolEntry; open: boolean }) {
  const { entry, view, marked, recent, open } = props;
  const lines = entry.children.map((key) => view.entries.get(key)).filter(isShown);
  const label = `Subagent, ${lines.length} ${lines.length === 1 ? "step" : "steps"}`;
  return (
    <Fold id={`${entry.key}:children`} label={label} open={open} className="tool-children">
      <div className="tool-nested">
        {lines.map((line) => (
          <Entry key={line.key} entry={line} view={view} marked={marked} recent={recent} />
        ))}
      </div>
    </Fold>
  );
}
