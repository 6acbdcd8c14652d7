import type { PermissionReply, PermissionRequested, PermissionResolved } from "dragoman-client";
import { useEffect, useRef } from "react";
import { client } from "../app/api";
import { useCaller, useMay } from "../app/rights";
import type { PermissionEntry } from "../state/fold";
import { AskCard, AskHead, SettledCard } from "./AskCard";
import { useAskKeys } from "./askKeys";
import { endOf, receiptOf, wantedBy, wishOf } from "./asks";
import { PermissionReplies } from "./PermissionReplies";
import { PermissionWhat } from "./PermissionWhat";
import { useAnswer } from "./useAnswer";
import "./PermissionCard.css";

/** A permission as a line of the conversation. */
export function PermissionCard(props: { sessionId: string; entry: PermissionEntry }) {
  const { asked, resolved, resolvedAt } = props.entry;
  const request = asked ?? resolved;
  if (request === null) return null;
  return (
    <PermissionAsk
      sessionId={props.sessionId}
      asked={request}
      resolved={resolved}
      resolvedAt={resolvedAt}
    />
  );
}

/** A permission, wherever it is shown. */
export function PermissionAsk(props: {
  sessionId: string;
  asked: PermissionRequested;
  resolved: PermissionResolved | null;
  resolvedAt: string | null;
  /** It waits no more, also where nothing is known of how it ended. */
  isOver?: boolean;
  /** It is over, and what was being written to the agent is shown in it. */
  onUnsent?: () => void;
}) {
  const { sessionId, asked, resolved, onUnsent } = props;
  const { given, counts, problem, answer } = useAnswer(sessionId);
  const hadFocus = useRef(false);
  const isOnItsWay = given !== null && !counts;
  const isOpen = resolved === null && (!props.isOver || isOnItsWay);
  const mayAnswer = useMay("approve");
  const caller = useCaller();
  const reply = (what: PermissionReply, message?: string) =>
    answer(what, () =>
      client.replyPermission(sessionId, asked.permission_id, { reply: what, message }),
    );
  const { element, isCurrent } = useAskKeys(
    { id: asked.permission_id, kind: "permission", isOpen: isOpen && mayAnswer && given === null },
    (key) => reply(key === "y" ? "once" : key === "a" ? "always" : "reject"),
  );
  const { unsent, late } = useUnsent(!isOpen && given === null, onUnsent);
  const wanted = wantedBy(asked);
  const label = `Permission: ${asked.action}`;
  if (!isOpen) {
    return (
      <SettledCard
        label={label}
        outcome={endOf(resolved, given, caller)}
        at={props.resolvedAt}
        about={receiptOf(asked.action, wanted)}
        problem={[problem, late].filter(Boolean).join(" ") || null}
        isMine={given !== null}
        hadFocus={hadFocus}
        asked={<PermissionWhat id={asked.permission_id} wanted={wanted} />}
      />
    );
  }
  return (
    <AskCard
      label={label}
      element={element}
      isCurrent={isCurrent}
      problem={problem}
      hadFocus={hadFocus}
    >
      <AskHead kind={`Wants to ${wishOf(asked.action, wanted)}`}>
        {wanted.bySubagent && <span className="chip">subagent</span>}
      </AskHead>
      <PermissionWhat id={asked.permission_id} wanted={wanted} />
      <PermissionReplies rule={wanted.rule} given={given} reply={reply} unsent={unsent} />
    </AskCard>
  );
}

/** Words to the agent that are being written; when they come too late, a sentence that keeps them. */
function useUnsent(isTooLate: boolean, onUnsent?: () => void) {
  const unsent = useRef("");
  const words = isTooLate ? unsent.current.trim() : "";
  const isLost = words !== "";
  useEffect(() => {
    if (isLost) onUnsent?.();
  }, [isLost, onUnsent]);
  return { unsent, late: isLost ? `This was over before your message was sent: ${words}` : null };
}
