import { sessions } from "../app/api";
import { useStore } from "../state/store";

/** What failed. Where the daemon cannot be heard at all, the banner says so for the whole page. */
export function Problem({ text }: { text: string }) {
  const isHeard = useStore(sessions.connection) === "open";
  if (text === "" || !isHeard) return null;
  return (
    <p role="alert" className="bad-text small">
      {text}
    </p>
  );
}
