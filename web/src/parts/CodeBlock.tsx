import { memo, useMemo } from "react";
import { Copy } from "../ui/Copy";
import { coloured } from "./code";
import { Runs } from "./Runs";
import "./CodeBlock.css";

/** Code with colours, the name of its language, and a way to copy it. */
export const CodeBlock = memo(function CodeBlock(props: { text: string; language: string | null }) {
  const { text, language } = props;
  const lines = useMemo(() => coloured(text, language), [text, language]);
  let at = 0;
  return (
    <figure className="codeblock" aria-label={language ? `Code, ${language}` : "Code"}>
      <figcaption className="codeblock-head">
        <span>{language}</span>
        <Copy text={text} />
      </figcaption>
      <pre>
        <code>
          {lines.map((runs) => (
            <span key={at++} className="codeblock-line">
              <Runs runs={runs} />
              {"\n"}
            </span>
          ))}
        </code>
      </pre>
    </figure>
  );
});
