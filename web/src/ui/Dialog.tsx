import { type ReactNode, useEffect, useRef } from "react";

/** A dialog over the page; Escape and a click beside it close it. */
export function Dialog(props: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it already.
    <dialog
      ref={element}
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div className="row">
        <h2 className="grow">{props.title}</h2>
        <button
          type="button"
          className="button quiet small"
          aria-label="Close"
          onClick={() => element.current?.close()}
        >
          ✕
        </button>
      </div>
      {props.children}
    </dialog>
  );
}
