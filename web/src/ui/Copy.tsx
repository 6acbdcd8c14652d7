import { useState } from "react";
import { copyText } from "./clipboard";

/** Copies a text, and says so. */
export function Copy(props: { text: string | (() => string); label?: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const text = typeof props.text === "string" ? props.text : props.text();
    try {
      await copyText(text);
      setSaid("Copied");
    } catch {
      setSaid("The browser did not allow it");
    }
    setTimeout(() => setSaid(""), 1500);
  };
  const label = props.label ?? "Copy";
  return (
    <button type="button" className="button quiet small copy" onClick={copy} title={label}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}
