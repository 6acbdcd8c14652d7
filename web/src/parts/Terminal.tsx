import { memo, useMemo } from "react";
import { Copy } from "../ui/Copy";
import { styled } from "./ansi";
import { Cut } from "./Cut";
import { LongRuns } from "./Long";
import { visible } from "./marks";
import { Plain } from "./Plain";
import "./Terminal.css";

const LINES = 16;

/** A command, what it printed, and how it ended. */
export const Terminal = memo(function Terminal(props: {
  id: string;
  command: string;
  output: string;
  running: boolean;
  cwd?: string | undefined;
  exitCode?: number | undefined;
}) {
  const { id, command, output, running, cwd, exitCode } = props;
  return (
    <figure className="terminal" aria-label={`Command ${visible(command)}`}>
      <figcaption className="terminal-head">
        <code className="grow">
          <span className="terminal-prompt" aria-hidden="true">
            ${" "}
          </span>
          <Plain text={command} />
        </code>
        <Copy text={command} label="Copy command" />
      </figcaption>
      {output && (
        <Cut id={id} text={output} lines={LINES} keep="end">
          {(shown) => <Output text={shown} />}
        </Cut>
      )}
      <div className="terminal-foot">
        {exitCode !== undefined && (
          <span className={exitCode === 0 ? "terminal-good" : "terminal-bad"}>
            exit code {exitCode}
          </span>
        )}
        {running && <span>running…</span>}
        {cwd && (
          <span className="cut" title={visible(cwd)}>
            in <Plain text={cwd} />
          </span>
        )}
        <span className="grow" />
        {output && <Copy text={output} label="Copy output" />}
      </div>
    </figure>
  );
});

function Output({ text }: { text: string }) {
  const runs = useMemo(() => styled(text.replace(/\n$/, "")), [text]);
  return (
    <pre className="terminal-output">
      <LongRuns runs={runs}>
        {({ text, look, ink }, at) => (
          <span
            key={at}
            className={look || undefined}
            style={
              ink
                ? { color: `color-mix(in srgb, rgb(${ink.join(" ")}) 70%, var(--terminal-ink))` }
                : undefined
            }
          >
            <Plain text={text} />
          </span>
        )}
      </LongRuns>
    </pre>
  );
}
