import type { PermissionReply } from "dragoman-client";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useMay } from "../app/rights";
import { Plain } from "../parts/Plain";
import { Key, MayNotAnswer } from "./AskCard";
import { PermissionMessage } from "./PermissionMessage";

/** What can be answered to a permission. */
export function PermissionReplies(props: {
  /** What "always" would allow. */
  rule: string;
  given: string | null;
  reply: (what: PermissionReply, message?: string) => void;
  /** What is being written to the agent. */
  unsent: RefObject<string>;
}) {
  const [isTelling, setTelling] = useState(false);
  const { given, reply } = props;
  const off = given !== null;
  const tell = useRef<HTMLButtonElement>(null);
  const wasTelling = useRef(false);
  useEffect(() => {
    if (wasTelling.current && !isTelling) tell.current?.focus();
    wasTelling.current = isTelling;
  }, [isTelling]);
  if (!useMay("approve")) return <MayNotAnswer />;
  if (isTelling) {
    return (
      <PermissionMessage
        disabled={off}
        message={props.unsent}
        onSend={(message) => reply("reject", message)}
        onClose={() => setTelling(false)}
      />
    );
  }
  return (
    <>
      <div className="row wrap">
        <button
          type="button"
          className="button primary"
          disabled={off}
          aria-keyshortcuts="y"
          onClick={() => reply("once")}
        >
          Allow once <Key name="y" />
        </button>
        <button
          type="button"
          className="button"
          disabled={off}
          aria-keyshortcuts="a"
          onClick={() => reply("always")}
        >
          Always <Key name="a" />
        </button>
        <button
          type="button"
          className="button danger"
          disabled={off}
          aria-keyshortcuts="n"
          onClick={() => reply("reject")}
        >
          Reject <Key name="n" />
        </button>
        <button
          ref={tell}
          type="button"
          className="button quiet"
          disabled={off}
          onClick={() => setTelling(true)}
        >
          Reject with a message…
        </button>
      </div>
      <p className="permission-rule dim">
        {off ? "Sending your answer…" : "Always allows, for the rest of this session: "}
        {!off && (
          <code>
            <Plain text={props.rule} />
          </code>
        )}
      </p>
    </>
  );
}
