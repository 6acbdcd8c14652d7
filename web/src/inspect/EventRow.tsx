import { memo } from "react";
import { Plain } from "../parts/Plain";
import { moodOf, preciseClock, type Row } from "./events";

interface Props {
  /** null while it is fetched. */
  row: Row | null;
  sequence: number;
  place: number;
  count: number;
  top: number;
  height: number;
  chosen: boolean;
  onChoose: (sequence: number) => void;
}

/** The id of a row's element, for whoever has the focus. */
export const rowId = (sequence: number) => `event-${sequence}`;

/** One event, as one line. */
export const EventRow = memo(function EventRow(props: Props) {
  const { row, sequence, place, count, top, height, chosen } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus, and the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list says which row is active.
    <div
      id={rowId(sequence)}
      role="option"
      aria-selected={chosen}
      aria-posinset={place + 1}
      aria-setsize={count}
      className="event-row"
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={() => props.onChoose(sequence)}
    >
      <span className="event-row-sequence">{sequence}</span>
      {row === null ? <span className="event-row-empty" /> : <Line row={row} />}
    </div>
  );
});

function Line({ row }: { row: Row }) {
  return (
    <>
      <time className="event-row-time" dateTime={row.time}>
        {preciseClock(row.time)}
      </time>
      <span className="event-row-type" data-mood={moodOf(row.type)}>
        {row.type}
      </span>
      <span className="event-row-source">
        <span className="event-row-who">{row.source}</span>
        {row.synthetic && <Synthetic />}
      </span>
      <span className="event-row-summary">
        <Plain text={row.summary} />
      </span>
    </>
  );
}

function Synthetic() {
  return (
    <span className="event-row-mark" title="Synthetic: the daemon added it.">
      <span aria-hidden="true">◇</span>
      <span className="unseen">synthetic</span>
    </span>
  );
}
