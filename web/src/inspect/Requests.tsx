import type { Call } from "dragoman-client";
import { useMemo, useState } from "react";
import { baseUrl, calls } from "../app/api";
import { Json } from "../parts/Json";
import { Plain } from "../parts/Plain";
import { Back } from "../sessions/Back";
import { useStore } from "../state/store";
import { Copy } from "../ui/Copy";
import { duration } from "../ui/words";
import { preciseClock } from "./events";
import { idOf, listed, moodOfStatus, pathOf, type Shown } from "./requests";
import { curlOf } from "./requestsCurl";
import { MASK, masked } from "./requestsSecrets";
import "./Requests.css";

/** What this page asked the daemon, each as a command that does the same. */
export function Requests() {
  const all = useStore(calls);
  const [folded, setFolded] = useState(true);
  const shown = useMemo(() => listed(all, folded), [all, folded]);
  return (
    <div className="requests page scroll">
      <header className="requests-head">
        <Back />
        <h1>Requests</h1>
        <span className="grow" />
        <label className="row small">
          <input
            type="checkbox"
            checked={folded}
            onChange={(event) => setFolded(event.target.checked)}
          />
          Fold repeats
        </label>
        <button type="button" className="button small" onClick={() => calls.set([])}>
          Clear
        </button>
      </header>
      <p className="dim small requests-about">
        What this page asked the daemon, the newest first. Open one to see it as a command.
      </p>
      {shown.length === 0 ? (
        <p className="requests-empty">Nothing yet.</p>
      ) : (
        <ul className="requests-list card">
          {shown.map((each) => (
            <Line key={idOf(each.call)} {...each} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Line({ call, times }: Shown) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        className="requests-line"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span className="requests-method" data-method={call.method}>
          {call.method}
        </span>
        <span className="requests-path cut">
          <Plain text={pathOf(call, baseUrl)} />
        </span>
        {times > 1 && <span className="chip">× {times}</span>}
        <span className={`chip ${moodOfStatus(call.status)}`}>{call.status ?? "no answer"}</span>
        <span className="requests-took">{duration(call.durationMs)}</span>
        <span className="requests-time">
          {preciseClock(new Date(call.startedAt).toISOString())}
        </span>
      </button>
      {open && <Detail call={call} />}
    </li>
  );
}

function Detail({ call }: { call: Call }) {
  const command = useMemo(() => curlOf(call), [call]);
  const body = useMemo(() => (call.body === null ? null : masked(call.body)), [call]);
  return (
    <div className="requests-detail">
      <figure className="requests-curl" aria-label="As curl">
        <pre>
          <Plain text={command} />
        </pre>
        <Copy text={command} label="Copy as curl" />
      </figure>
      {body !== call.body && (
        <p className="dim small">
          Secrets are left out, here and in the copy: {MASK} stands there.
        </p>
      )}
      {body !== null && (
        <>
          <h2 className="label">Body</h2>
          <Json id={`call:${idOf(call)}`} value={body} lines={60} />
        </>
      )}
    </div>
  );
}
