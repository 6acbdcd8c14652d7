import {
  type FormEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";

/** What the agent is told with a rejection. */
export function PermissionMessage(props: {
  disabled: boolean;
  /** Outlives this field, for the request may be over before it is sent. */
  message: RefObject<string>;
  onSend: (message: string) => void;
  onClose: () => void;
}) {
  const [message, setMessage] = useState(props.message.current);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => field.current?.focus(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.onSend(message.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    props.onClose();
  };
  return (
    <form className="permission-message" onSubmit={submit}>
      <label htmlFor={id} className="label">
        What the agent is told
      </label>
      <input
        ref={field}
        id={id}
        className="input"
        value={message}
        placeholder="For example: use git mv instead"
        disabled={props.disabled}
        onChange={(event) => {
          props.message.current = event.target.value;
          setMessage(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="row wrap">
        <button
          type="submit"
          className="button danger"
          disabled={props.disabled || message.trim() === ""}
        >
          Reject with this
        </button>
        <button type="button" className="button quiet" onClick={props.onClose}>
          Back
        </button>
      </div>
    </form>
  );
}
