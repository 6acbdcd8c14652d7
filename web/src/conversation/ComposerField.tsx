import {
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
  useLayoutEffect,
  useState,
} from "react";
import { newer, older, shown } from "./history";
import { isTouch } from "./touch";

/** The field itself: it grows with its words, and remembers what was sent. */
export function ComposerField(props: {
  element: RefObject<HTMLTextAreaElement | null>;
  text: string;
  sent: readonly string[];
  isSending: boolean;
  onType: (text: string) => void;
  onPaste: (event: ClipboardEvent) => void;
  /** Send it; `isNow`: into the turn that runs. */
  onSend: (isNow: boolean) => void;
  onEscape: () => void;
}) {
  const { element, text, onType } = props;
  const [at, setAt] = useState<number | null>(null);
  useLayoutEffect(() => grow(element.current, text), [element, text]);
  const recall = (step: typeof older) => {
    const next = step({ entries: props.sent, at });
    setAt(next.at);
    onType(shown(next));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const isRecalled = at !== null && props.sent[at] === text;
    // Enter and the arrows belong to an input method while it composes.
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && isSend(event)) props.onSend(event.ctrlKey || event.metaKey);
    else if (event.key === "Escape") props.onEscape();
    else if (event.key === "ArrowUp" && (text === "" || isRecalled)) recall(older);
    else if (event.key === "ArrowDown" && isRecalled) recall(newer);
    else return;
    event.preventDefault();
  };
  return (
    <textarea
      ref={element}
      className="composer-field"
      aria-label="Message"
      placeholder="Say what you want"
      dir="auto"
      rows={1}
      enterKeyHint={isTouch() ? "enter" : "send"}
      value={text}
      readOnly={props.isSending}
      onChange={(event) => {
        setAt(null);
        onType(event.target.value);
      }}
      onPaste={props.onPaste}
      onKeyDown={onKeyDown}
    />
  );
}

/** Where there are no other keys, Enter is a new line; the button sends. */
function isSend(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !event.altKey && !isTouch();
}

/** As high as its words; the style sheet says how high at most. */
function grow(field: HTMLTextAreaElement | null, _text: string): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}
