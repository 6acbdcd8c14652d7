import type { SessionInfo } from "dragoman-client";
import { useCallback, useMemo, useState } from "react";
import { useShortcuts } from "../app/keys";
import { go, href, toSession } from "../app/route";
import { useStore } from "../state/store";
import type { Transcript } from "../state/transcript";
import { reason } from "../ui/notices";
import { EventDetail, type Face } from "./EventDetail";
import { EventsBar, Progress } from "./EventsBar";
import { EventsList } from "./EventsList";
import { ExportDialog } from "./ExportDialog";
import { type Filter, NO_FILTER } from "./events";
import { useEventLog, useScan } from "./eventsLive";
import { useFound, usePlaces } from "./eventsPlaces";
import "./Events.css";

interface Props {
  session: SessionInfo | undefined;
  transcript: Transcript;
  /** The event that is looked at; the address says which. */
  sequence: number | null;
}

/** Every event of a session: a list of any length, live, and each one in full. */
export function Events({ session, transcript, sequence }: Props) {
  const { sessionId } = transcript;
  const log = useEventLog(transcript, session);
  const { count, heard, error } = useStore(log.state);
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const scan = useScan(log, transcript, filter);
  const found = useFound(scan);
  const places = usePlaces(log, found);
  /** How many had been heard when following stopped; null while it goes on. */
  const [stoodAt, setStoodAt] = useState<number | null>(sequence === null ? null : heard);
  const [face, setFace] = useState<Face>("event");
  const [exporting, setExporting] = useState(false);

  const follow = useCallback(
    (following: boolean) =>
      setStoodAt((before) => (following ? null : (before ?? log.state.get().heard))),
    [log],
  );
  const choose = useCallback(
    (next: number) => {
      follow(false);
      show(sessionId, next);
    },
    [follow, sessionId],
  );
  const close = useCallback(() => show(sessionId, null), [sessionId]);
  const chosen = sequence === null ? -1 : places.placeOf(sequence);
  const step = (by: number) => {
    const to = places.sequenceAt(chosen + by);
    return chosen >= 0 && to !== undefined ? () => choose(to) : undefined;
  };
  const previous = step(-1);
  const next = step(1);
  useDetailKeys(sequence !== null, previous, next, close);

  return (
    <section className="events" aria-label="Events" data-open={sequence !== null}>
      <EventsBar
        filter={filter}
        onFilter={setFilter}
        count={count}
        onGo={choose}
        following={stoodAt === null}
        fresh={stoodAt === null ? 0 : Math.max(0, heard - stoodAt)}
        onFollow={follow}
        onExport={() => setExporting(true)}
      />
      {found && (
        <Progress
          found={found}
          onCancel={() => scan?.cancel()}
          onAll={() => setFilter(NO_FILTER)}
        />
      )}
      {error && (
        <p role="alert" className="events-problem">
          {reason(error)}
        </p>
      )}
      <div className="events-split">
        <EventsList
          places={places}
          chosen={chosen}
          onChoose={choose}
          following={stoodAt === null}
          onFollow={follow}
        />
        {sequence !== null && (
          <EventDetail
            sessionId={sessionId}
            sequence={sequence}
            known={log.at(sequence)}
            face={face}
            onFace={setFace}
            onPrevious={previous}
            onNext={next}
            onClose={close}
          />
        )}
      </div>
      {exporting && <ExportDialog sessionId={sessionId} onClose={() => setExporting(false)} />}
    </section>
  );
}

/** To the first one that is looked at one can come back; walking on from it leaves no trail. */
function show(sessionId: string, sequence: number | null): void {
  const route = toSession(sessionId, "events", sequence ?? undefined);
  const here = href(toSession(sessionId, "events"));
  if (sequence !== null && location.hash === here) go(route);
  else location.replace(href(route));
}

function useDetailKeys(
  open: boolean,
  previous: (() => void) | undefined,
  next: (() => void) | undefined,
  close: () => void,
): void {
  const keys = useMemo(
    () =>
      open
        ? [
            { key: "ArrowLeft", does: "Previous event", act: previous ?? (() => {}) },
            { key: "ArrowRight", does: "Next event", act: next ?? (() => {}) },
            { key: "Escape", does: "Close the event", act: close },
          ]
        : [],
    [open, previous, next, close],
  );
  useShortcuts(keys);
}
