import type { SessionStatus } from "dragoman-client";
import { useEffect, useMemo, useRef, useState } from "react";
import { sessions } from "../app/api";
import { type Shortcut, useShortcuts } from "../app/keys";
import type { Query } from "../state/sessions";
import { focusMain } from "../ui/focus";
import { isNear, useAgents } from "./agents";
import { Icon } from "./Icon";

const PAUSE_MS = 200;
const STATES: readonly (readonly [SessionStatus, string])[] = [
  ["starting", "Starting"],
  ["running", "Running"],
  ["waiting", "Waiting for you"],
  ["idle", "Idle"],
  ["ended", "Ended"],
];

/** Narrows the list: by a part of the title or id, by agent, by state. */
export function SessionSearch() {
  const [query, setQuery] = useState<Query>({});
  const field = useRef<HTMLInputElement>(null);
  const agents = useAgents().list?.filter(isNear) ?? [];
  useSearch(query);
  const keys = useMemo<readonly Shortcut[]>(
    () => [{ key: "/", does: "Search sessions", act: () => field.current?.focus() }],
    [],
  );
  useShortcuts(keys);
  const change = (part: Query) => setQuery((before) => ({ ...before, ...part }));
  return (
    <search className="session-search">
      <div className="session-search-field">
        <Icon name="search" />
        <input
          ref={field}
          type="search"
          className="input"
          placeholder="Search"
          aria-label="Search sessions"
          value={query.q ?? ""}
          onChange={(event) => change({ q: event.target.value || undefined })}
          onKeyDown={(event) => event.key === "Escape" && focusMain()}
        />
        <kbd>/</kbd>
      </div>
      <div className="row">
        <Filter
          label="Agent"
          all="All agents"
          choices={agents.map(({ id, name }) => [id, name])}
          chosen={query.agent}
          onChoose={(agent) => change({ agent })}
        />
        <Filter
          label="State"
          all="Any state"
          choices={STATES}
          chosen={query.status}
          onChoose={(status) => change({ status })}
        />
      </div>
    </search>
  );
}

function Filter<T extends string>(props: {
  label: string;
  all: string;
  choices: readonly (readonly [T, string])[];
  chosen: T | undefined;
  onChoose: (chosen: T | undefined) => void;
}) {
  const { choices, chosen } = props;
  const choose = (value: string) => props.onChoose(choices.find(([it]) => it === value)?.[0]);
  return (
    <select
      className="session-filter grow"
      aria-label={props.label}
      data-on={chosen !== undefined}
      value={chosen ?? ""}
      onChange={(event) => choose(event.target.value)}
    >
      <option value="">{props.all}</option>
      {choices.map(([value, word]) => (
        <option key={value} value={value}>
          {word}
        </option>
      ))}
    </select>
  );
}

/** Ask the daemon when a change has settled; the first list comes by itself. */
function useSearch(query: Query): void {
  const first = useRef(query);
  useEffect(() => {
    if (query === first.current) return;
    const timer = setTimeout(() => void sessions.search(query), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [query]);
}
