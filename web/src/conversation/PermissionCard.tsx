import type { PermissionReply, PermissionRequested, PermissionResolved } from "dragoman-client";
import { client } from "../app/api";
import { useMay } from "../app/rights";
import type { PermissionEntry } from "../state/fold";
import { AskCard, AskHead, SettledCard } from "./AskCard";
import { useAskKeys } from "./askKeys";
import { outcomeOf, summaryOf, wantedBy } from "./asks";
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
}) {
  const { sessionId, asked, resolved } = props;
  const { given, problem, answer } = useAnswer(sessionId);
  const isOpen = resolved === null && !props.isOver;
  const mayAnswer = useMay("approve");
  const reply = (what: PermissionReply, message?: string) =>
    answer(what, () =>
      client.replyPermission(sessionId, asked.permission_id, { reply: what, message }),
    );
  const { element, isCurrent } = useAskKeys(
    { id: asked.permission_id, kind: "permission", isOpen: isOpen && mayAnswer && given === null },
    (key) => reply(key === "y" ? "once" : key === "a" ? "always" : "reject"),
  );
  const wanted = wantedBy(asked);
  const label = `Permission: ${asked.action}`;
  if (!isOpen) {
    return (
      <SettledCard
        label={label}
        outcome={resolved ? outcomeOf(resolved) : UNKNOWN}
        at={props.resolvedAt}
        about={[asked.action, summaryOf(wanted)].filter(Boolean).join(": ")}
        problem={problem}
        isMine={given !== null}
        asked={<PermissionWhat id={asked.permission_id} wanted={wanted} />}
      />
    );
  }
  return (
    <AskCard label={label} element={element} isCurrent={isCurrent} problem={problem}>
      <AskHead kind="Wants to use" name={asked.action}>
        {wanted.bySubagent && <span className="chip">subagent</span>}
      </AskHead>
      <PermissionWhat id={asked.permission_id} wanted={wanted} />
      <PermissionReplies rule={wanted.rule} given={given} reply={reply} />
    </AskCard>
  );
}

const UNKNOWN = { word: "Over", mood: "", by: null, why: "It waits no more." } as const;
