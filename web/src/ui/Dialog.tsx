import { type ReactNode, useLayoutEffect, useRef } from "react";
import { rescueFocus } from "./focus";

/** A dialog over the page; Escape and a click beside it close it. */
export function Dialog(props: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      // The browser returns the focus when it is closed, not when it is taken away.
      dialog?.close();
      rescueFocus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it already.
    <dialog
      ref={element}
      aria-label={props.title}
      onClose={() => element.current?.open === false && props.onClose()}
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
