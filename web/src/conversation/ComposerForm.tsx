import type { Delivery } from "dragoman-client";
import {
  type ClipboardEvent,
  memo,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { client, sessions } from "../app/api";
import { focusedField, type Shortcut, useShortcuts } from "../app/keys";
import { useProblem } from "../app/reconnect";
import { type Store, useStore } from "../state/store";
import { complain } from "../ui/notices";
import { Attachments } from "./Attachments";
import { focusFirstAsk, useHasAsks } from "./askKeys";
import { ComposerBar, type EscapeKey } from "./ComposerBar";
import { ComposerField } from "./ComposerField";
import { useCapabilities } from "./capabilities";
import { obstacle } from "./draft";
import { draftOf } from "./drafts";
import { comesToSpeak } from "./speaking";
import { isTouch } from "./touch";
import { useDrop } from "./useDrop";

/** The field, its files and its buttons. */
export const ComposerForm = memo(function ComposerForm(props: {
  sessionId: string;
  agent: string;
  isRunning: boolean;
  /** Told of what was sent: one wants to see it. */
  wantsEnd: Store<number>;
}) {
  const { sessionId, isRunning } = props;
  const draft = draftOf(sessionId);
  const value = useStore(draft.value);
  const problem = useProblem(value.problem);
  const field = useRef<HTMLTextAreaElement>(null);
  const isDropping = useDrop((files) => draft.attach(files));
  const { isStopping, interrupt } = useInterrupt(sessionId);
  const canSteer = useCapabilities(props.agent)?.steer === true && isRunning;
  const send = async (delivery: Delivery) => {
    if (obstacle(draft.value.get()) !== null) return;
    if (await draft.send(delivery)) {
      props.wantsEnd.update((before) => before + 1);
      // An agent that takes its time to come up tells nothing meanwhile.
      sessions.touch(sessionId);
    }
    // A click on Send took the focus away.
    if (!isTouch()) field.current?.focus();
  };
  const onPaste = (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData;
    // Words that were copied from a document come with a picture of themselves.
    if (files.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    draft.attach([...files]);
  };
  useEffect(() => {
    if (comesToSpeak(sessionId)) field.current?.focus();
  }, [sessionId]);
  useKeys(field, isRunning, interrupt);
  const escapeKey = useEscapeKey(field, isRunning);
  return (
    <div className="composer-box" data-dropping={isDropping || undefined}>
      <Attachments draft={draft} files={value.files} />
      <ComposerField
        element={field}
        text={value.text}
        sent={value.sent}
        isSending={value.sending}
        onType={(text) => draft.type(text)}
        onPaste={onPaste}
        onSend={(isNow) => void send(isNow && canSteer ? "steer" : "queue")}
        onEscape={() => {
          if (!focusFirstAsk() && isRunning) interrupt();
        }}
      />
      <div role="alert">{problem && <p className="composer-problem">{problem}</p>}</div>
      <ComposerBar
        value={value}
        isRunning={isRunning}
        isStopping={isStopping}
        escapeKey={escapeKey}
        canSteer={canSteer}
        isDropping={isDropping}
        onAttach={(files) => draft.attach(files)}
        onInterrupt={interrupt}
        onSend={(delivery) => void send(delivery)}
      />
    </div>
  );
});

function useKeys(
  field: { current: HTMLTextAreaElement | null },
  isRunning: boolean,
  interrupt: () => void,
): void {
  const keys = useMemo<readonly Shortcut[]>(() => {
    const write = { key: "m", does: "Write a message", act: () => field.current?.focus() };
    const does = "Interrupt the turn; from the message, first go to a request";
    const stop = { key: "Escape", does, act: interrupt };
    return isRunning ? [write, stop] : [write];
  }, [field, isRunning, interrupt]);
  useShortcuts(keys);
}

/** What Escape does now: it leads from the message to a request, and interrupts where there is none. */
function useEscapeKey(
  field: { current: HTMLTextAreaElement | null },
  isRunning: boolean,
): EscapeKey | null {
  const typedIn = useStore(focusedField);
  const hasAsks = useHasAsks();
  // Another field has an Escape of its own.
  if (typedIn !== null && typedIn !== field.current) return null;
  if (typedIn !== null && hasAsks) return "goes to the request";
  return isRunning ? "interrupts" : null;
}

/** Ends the running turn. */
function useInterrupt(sessionId: string) {
  const [isStopping, setStopping] = useState(false);
  const interrupt = useCallback(() => {
    setStopping(true);
    client
      .interruptTurn(sessionId)
      .catch(complain)
      .finally(() => setStopping(false));
  }, [sessionId]);
  return { isStopping, interrupt };
}
