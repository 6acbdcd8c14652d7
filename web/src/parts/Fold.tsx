import type { ReactNode } from "react";
import { useFold } from "./place";
import "./Fold.css";

/** A line that opens what is behind it. */
export function Fold(props: {
  id: string;
  label: ReactNode;
  open?: boolean;
  className?: string;
  children: ReactNode;
}) {
  const [open, setOpen] = useFold(props.id, props.open);
  return (
    <div className={`fold ${props.className ?? ""}`} data-open={open}>
      <button
        type="button"
        className="fold-line"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span className="fold-arrow" aria-hidden="true" />
        {props.label}
      </button>
      {open && <div className="fold-body">{props.children}</div>}
    </div>
  );
}
