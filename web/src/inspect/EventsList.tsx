import { type KeyboardEvent, useEffect, useLayoutEffect, useRef } from "react";
import { EventRow, rowId } from "./EventRow";
import type { Places } from "./eventsPlaces";
import { useRows } from "./eventsRows";

interface Props {
  places: Places;
  /** The place of what is chosen, or -1. */
  chosen: number;
  onChoose: (sequence: number) => void;
  following: boolean;
  onFollow: (following: boolean) => void;
}

/** So near to the end counts as at the end. */
const NEAR = 8;

/** All rows, of which only those that are seen exist. */
export function EventsList(props: Props) {
  const { places, chosen, following, onFollow, onChoose } = props;
  const { count, onSeen } = places;
  const list = useRef<HTMLDivElement>(null);
  const { first, end, height, look } = useRows(list, count);
  const top = useRef(0);

  useEffect(() => onSeen(first, end), [onSeen, first, end]);

  useLayoutEffect(() => {
    const element = list.current;
    if (element && following) element.scrollTop = count * height;
  }, [following, count, height]);

  useLayoutEffect(() => {
    const element = list.current;
    if (element === null || chosen < 0) return;
    const at = chosen * height;
    if (at >= element.scrollTop && at + height <= element.scrollTop + element.clientHeight) return;
    const step = Math.abs(at - element.scrollTop) < element.clientHeight + height;
    if (!step) element.scrollTop = at - element.clientHeight / 2;
    else if (at < element.scrollTop) element.scrollTop = at;
    else element.scrollTop = at + height - element.clientHeight;
  }, [chosen, height]);

  const onScroll = () => {
    look();
    const element = list.current;
    if (element === null) return;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    // Only a move upwards is somebody who wants to stay; the list growing is none.
    if (element.scrollTop < top.current && left > NEAR) onFollow(false);
    else if (element.scrollTop > top.current && left <= NEAR) onFollow(true);
    top.current = element.scrollTop;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const rows = Math.floor((list.current?.clientHeight ?? 0) / height);
    const place = movedTo(event.key, chosen, count, rows);
    const sequence = place === null ? undefined : places.sequenceAt(place);
    if (sequence === undefined) return;
    event.preventDefault();
    onChoose(sequence);
  };

  const active = places.sequenceAt(chosen);
  return (
    <div
      ref={list}
      role="listbox"
      aria-label="Events"
      aria-activedescendant={
        active === undefined || chosen < first || chosen >= end ? undefined : rowId(active)
      }
      tabIndex={0}
      className="events-list scroll"
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div className="events-rows" role="presentation" style={{ height: count * height }}>
        {Array.from({ length: Math.max(0, end - first) }, (_, index) => {
          const place = first + index;
          const sequence = places.sequenceAt(place);
          if (sequence === undefined) return null;
          return (
            <EventRow
              key={sequence}
              row={places.rowAt(place)}
              sequence={sequence}
              place={place}
              count={count}
              top={place * height}
              height={height}
              chosen={place === chosen}
              onChoose={onChoose}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Where a key leads from the chosen place; without one, arrows begin at the end. */
export function movedTo(key: string, from: number, count: number, rows: number): number | null {
  const start = from < 0 ? count : from;
  const steps: Record<string, number> = {
    ArrowDown: start + 1,
    ArrowUp: start - 1,
    PageDown: start + rows,
    PageUp: start - rows,
    Home: 0,
    End: count - 1,
  };
  const to = steps[key];
  return to === undefined ? null : Math.max(0, Math.min(count - 1, to));
}
