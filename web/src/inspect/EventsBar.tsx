import { type FormEvent, useState } from "react";
import { FAMILIES, type Filter, moodOf, NO_FILTER } from "./events";
import type { Found } from "./eventsScan";
import "./EventsBar.css";

interface Props {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  count: number;
  onGo: (sequence: number) => void;
  following: boolean;
  /** So many came since the list stands still. */
  fresh: number;
  onFollow: (following: boolean) => void;
  onExport: () => void;
}

/** What one looks for among the events, and where. */
export function EventsBar(props: Props) {
  const { filter, onFilter, following, fresh } = props;
  return (
    <search className="events-bar" aria-label="Events">
      <div className="events-bar-line">
        <input
          className="input events-bar-find"
          type="search"
          placeholder="Find in all events"
          aria-label="Find in all events"
          value={filter.text}
          onChange={(event) => onFilter({ ...filter, text: event.target.value })}
        />
        <GoTo count={props.count} onGo={props.onGo} />
        <button
          type="button"
          className="button small events-bar-follow"
          aria-pressed={following}
          onClick={() => props.onFollow(!following)}
        >
          <span className="events-bar-dot" aria-hidden="true" />
          {following ? "Following" : fresh > 0 ? `Follow, ${fresh} new` : "Follow"}
        </button>
        <button type="button" className="button small" onClick={props.onExport}>
          Export
        </button>
      </div>
      <Types {...props} />
    </search>
  );
}

function Types({ filter, onFilter }: Props) {
  const toggle = (type: string) => {
    const types = new Set(filter.types);
    if (!types.delete(type)) types.add(type);
    onFilter({ ...filter, types, withoutDeltas: false });
  };
  const { withoutDeltas } = filter;
  return (
    <div className="events-types">
      <span className="events-types-label">Types</span>
      <button
        type="button"
        className="events-type"
        aria-pressed={withoutDeltas}
        onClick={() =>
          onFilter({ ...filter, types: NO_FILTER.types, withoutDeltas: !withoutDeltas })
        }
      >
        all but deltas
      </button>
      {FAMILIES.map(([family, types]) => (
        <fieldset key={family} className="events-family">
          <legend className="unseen">{family}</legend>
          {types.map((type) => (
            <button
              key={type}
              type="button"
              className="events-type"
              data-mood={moodOf(type)}
              aria-pressed={filter.types.has(type)}
              onClick={() => toggle(type)}
            >
              {type}
            </button>
          ))}
        </fieldset>
      ))}
    </div>
  );
}

function GoTo({ count, onGo }: { count: number; onGo: (sequence: number) => void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const sequence = Number.parseInt(text, 10);
    if (sequence >= 1) onGo(Math.min(sequence, Math.max(1, count)));
  };
  return (
    <form className="events-goto" onSubmit={submit}>
      <input
        className="input"
        inputMode="numeric"
        placeholder="Go to #"
        aria-label="Go to event number"
        value={text}
        onChange={(event) => setText(event.target.value.replace(/\D/g, ""))}
      />
    </form>
  );
}

/** How far the search is, and what it found. */
export function Progress(props: { found: Found; onCancel: () => void; onAll: () => void }) {
  const { found, onCancel, onAll } = props;
  return (
    <div className="events-progress">
      {found.state === "running" && (
        <progress aria-label="Searched" max={Math.max(1, found.count)} value={found.seen} />
      )}
      <span role="status">{saying(found)}</span>
      {found.state === "running" && (
        <button type="button" className="button quiet small" onClick={onCancel}>
          Stop
        </button>
      )}
      <span className="grow" />
      <button type="button" className="button quiet small" onClick={onAll}>
        Show all events
      </button>
    </div>
  );
}

const number = (value: number) => value.toLocaleString("en");

function saying({ rows, state, seen, count, error }: Found): string {
  const found = `${number(rows.length)} found`;
  if (state === "running") return `${found}, ${number(seen)} of ${number(count)} searched`;
  if (state === "cancelled") return `${found} in the last ${number(seen)} events`;
  if (state === "full") return `The last ${number(rows.length)} that fit; there may be more`;
  if (state === "failed") return `${found}. The search broke off: ${error?.message ?? ""}`;
  return rows.length === 0 ? "Nothing found" : found;
}
