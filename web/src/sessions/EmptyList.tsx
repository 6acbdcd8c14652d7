import { sessions } from "../app/api";
import { useStore } from "../state/store";
import { MockButton } from "./MockButton";

/** What the list says when there is nothing in it. */
export function EmptyList() {
  const { query } = useStore(sessions.listing);
  if (query.q || query.agent || query.status) {
    return <p className="session-list-note">No session fits.</p>;
  }
  return (
    <div className="session-list-note">
      <p>No sessions yet.</p>
      {/* On a phone the list is all that one sees first. */}
      <div className="session-list-start">
        <MockButton />
        <p className="small">It is built in, needs no key, and pretends to do what agents do.</p>
      </div>
    </div>
  );
}
