import { memo, useId, useMemo } from "react";
import ReactMarkdown, { type Components, type ExtraProps, type Options } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeBlock } from "./CodeBlock";
import { Cut } from "./Cut";
import { Long } from "./Long";
import { visible } from "./marks";
import { blocks } from "./settle";
import { useCalm } from "./useCalm";
import "./Markdown.css";

type Tree = NonNullable<ExtraProps["node"]>;

/** More than this is not worth the time that its Markdown would take: the page stands still for it. */
export const MOST_MARKDOWN = 50_000;
/** While it is being written, a block is plain from here on. */
const MOST_GROWING = 16_000;

/** Markdown without any HTML of its author. While it grows, only its last block is drawn again. */
export const Markdown = memo(function Markdown(props: {
  /** Under which it is remembered that all of a huge text was asked for. */
  id?: string;
  text: string;
  growing?: boolean;
}) {
  const own = useId();
  const { id = own, text, growing = false } = props;
  if (text.length > MOST_MARKDOWN) return <Huge id={id} text={text} />;
  const parts = growing ? blocks(text) : [text];
  const last = parts.length - 1;
  return (
    <div className="markdown" data-growing={growing}>
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the blocks of a text do not move.
        <Block key={at} text={part} growing={growing && at === last} />
      ))}
    </div>
  );
});

/** As it was written. */
function Huge({ id, text }: { id: string; text: string }) {
  return (
    <Cut id={id} text={text} lines={400}>
      {(shown) => (
        <div className="markdown markdown-huge">
          <Long text={shown} />
        </div>
      )}
    </Cut>
  );
}

/** A block that is so long is not drawn again for every word that comes. */
const LONG = 8_000;

const Block = memo(function Block({ text, growing }: { text: string; growing: boolean }) {
  if (growing && text.length > MOST_GROWING) return <GrowingText text={text} />;
  return <CalmMarkdown text={text} growing={growing} />;
});

/** Its Markdown is read when it is whole. */
function GrowingText({ text }: { text: string }) {
  return (
    <div className="markdown-huge">
      <Long text={text} />
    </div>
  );
}

function CalmMarkdown({ text, growing }: { text: string; growing: boolean }) {
  return <Drawn text={useCalm(text, growing && text.length > LONG)} />;
}

const Drawn = memo(function Drawn({ text }: { text: string }) {
  const clean = useMemo(() => visible(text), [text]);
  const own = useId();
  // Ids of footnotes, of which each message has its own.
  const options = useMemo(() => ({ clobberPrefix: `${own}-` }), [own]);
  return (
    <ReactMarkdown
      remarkPlugins={PLUGINS}
      remarkRehypeOptions={options}
      components={COMPONENTS}
      // What is followed is decided below, and what is not is shown.
      urlTransform={(url) => url}
    >
      {clean}
    </ReactMarkdown>
  );
});

const PLUGINS: Options["remarkPlugins"] = [[remarkGfm, { singleTilde: false }]];

/** An address that may be followed, or nothing. */
export function safe(url: string): string {
  return /^(?:https?:\/\/|mailto:)/i.test(url) ? url : "";
}

const COMPONENTS: Components = {
  a: ({ href = "", node, children }) => {
    if (safe(href)) return <Link href={href}>{children}</Link>;
    if (node && isFootnote(node)) return <span>{children}</span>;
    return (
      <Target url={href} words={node ? textOf(node) : ""}>
        {children}
      </Target>
    );
  },
  // An image from elsewhere would tell elsewhere that it was looked at.
  img: ({ src = "", alt }) => {
    const words = `Image: ${alt || "without a name"}`;
    if (safe(src)) return <Link href={src}>{words}</Link>;
    return (
      <Target url={src} words={alt ?? ""}>
        {words}
      </Target>
    );
  },
  // Every message with footnotes would have the same id here.
  h2: ({ children }) => <h2>{children}</h2>,
  pre: ({ node, children }) => {
    const code = node?.children[0];
    if (code?.type !== "element") return <pre>{children}</pre>;
    return <CodeBlock text={textOf(code).replace(/\n$/, "")} language={languageOf(code)} />;
  },
  table: ({ children }) => (
    // biome-ignore lint/a11y/useSemanticElements: it is no section of the page, it only scrolls.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
    <div className="markdown-table scroll-x" role="group" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => (
    <span role="img" aria-label={checked ? "done" : "not done"}>
      {checked ? "☑" : "☐"}
    </span>
  ),
};

function Link(props: { href: string; children: React.ReactNode }) {
  return (
    <a href={props.href} title={props.href} target="_blank" rel="noopener noreferrer nofollow">
      {props.children}
    </a>
  );
}

/** More of an address says nothing: a picture may be in it. */
const LONG_URL = 200;

/** What leads nowhere from here, like a file: its words, and where it would lead. */
function Target(props: { url: string; words: string; children: React.ReactNode }) {
  const whole = visible(decoded(props.url));
  if (whole === "") return <span>{props.children}</span>;
  const url = whole.length > LONG_URL ? `${whole.slice(0, LONG_URL)}…` : whole;
  return (
    <span title={url}>
      {props.children}
      {url !== props.words && (
        <>
          {" "}
          <code className="markdown-target">{url}</code>
        </>
      )}
    </span>
  );
}

function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

function isFootnote({ properties }: Tree): boolean {
  return properties.dataFootnoteRef !== undefined || properties.dataFootnoteBackref !== undefined;
}

function textOf(tree: Tree): string {
  return tree.children
    .map((child) =>
      child.type === "text" ? child.value : child.type === "element" ? textOf(child) : "",
    )
    .join("");
}

function languageOf(code: Tree): string | null {
  const names = code.properties.className;
  const found = Array.isArray(names)
    ? names.find((name) => String(name).startsWith("language-"))
    : undefined;
  return found === undefined ? null : String(found).slice("language-".length);
}
