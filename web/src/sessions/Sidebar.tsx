import { useEffect } from "react";
import { sessions } from "../app/api";
import { href, type Route, route } from "../app/route";
import { visible } from "../parts/marks";
import { countWaiting } from "../state/sessions";
import { useStore } from "../state/store";
import { titleOf } from "../ui/words";
import { Icon, type IconName } from "./Icon";
import { SessionList } from "./SessionList";
import { SessionSearch } from "./SessionSearch";
import { SidebarFooter } from "./SidebarFooter";
import "./Sidebar.css";

/** All sessions, and the way to every other place. */
export function Sidebar() {
  const waiting = countWaiting(useStore(sessions.waiting));
  useTabTitle(waiting);
  return (
    <aside className="sidebar" aria-label="Sessions">
      <div className="sidebar-top row">
        <a className="sidebar-brand row grow" href={href({ at: "home" })}>
          <img src="./icon.svg" alt="" width="26" height="26" />
          Dragoman
        </a>
        <a className="button primary small" href={href({ at: "new" })}>
          <Icon name="plus" />
          New session
        </a>
      </div>
      <nav className="sidebar-places" aria-label="Places">
        <Place to="inbox" icon="inbox" name="Inbox" count={waiting} />
        <Place to="agents" icon="agents" name="Agents" />
        <Place to="requests" icon="requests" name="Requests" />
      </nav>
      <SessionSearch />
      <SessionList />
      <SidebarFooter />
    </aside>
  );
}

/** The browser's tab says how much waits, and which session it shows. */
function useTabTitle(waiting: number): void {
  const here = useStore(route);
  const known = useStore(sessions.known);
  const session = here.at === "session" ? known.get(here.id) : undefined;
  const name = session ? visible(titleOf(session)) : "";
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name && `${name} · `}Dragoman`;
    return () => {
      document.title = "Dragoman";
    };
  }, [waiting, name]);
}

function Place(props: {
  to: Exclude<Route["at"], "session">;
  icon: IconName;
  name: string;
  count?: number;
}) {
  const here = useStore(route).at === props.to;
  return (
    <a
      className="sidebar-place"
      href={href({ at: props.to })}
      aria-current={here ? "page" : undefined}
    >
      <Icon name={props.icon} />
      {props.name}
      {props.count ? (
        <span className="badge">
          {props.count}
          <span className="unseen"> waiting for you</span>
        </span>
      ) : null}
    </a>
  );
}
