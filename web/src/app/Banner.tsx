import { useStore } from "../state/store";
import { sessions } from "./api";

/** Says when the daemon cannot be heard; what is shown stays. */
export function Banner() {
  const connection = useStore(sessions.connection);
  return (
    <div role="status" aria-live="polite">
      {connection !== "open" && (
        <p className="banner">
          {connection === "waiting"
            ? "The connection is lost. Trying again…"
            : "Connecting to the daemon…"}
        </p>
      )}
    </div>
  );
}
