import { useState } from "react";
import { client } from "../app/api";
import { Dialog } from "../ui/Dialog";
import { visible } from "./marks";
import { nameOf } from "./paths";
import { useSessionId } from "./place";
import "./Picture.css";

/** An image that the daemon stored; a click shows it large. */
export function Picture({ path }: { path: string }) {
  const sessionId = useSessionId();
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  const source = client.files.url(sessionId, nameOf(path));
  const name = visible(nameOf(path));
  if (broken) return <p className="dim small">The image {name} cannot be shown.</p>;
  return (
    <>
      <button
        type="button"
        className="picture"
        aria-label={`Enlarge image ${name}`}
        onClick={() => setLarge(true)}
      >
        <img src={source} alt={`Attached: ${name}`} onError={() => setBroken(true)} />
      </button>
      {large && (
        <Dialog title={name} onClose={() => setLarge(false)}>
          <img className="picture-large" src={source} alt={`Attached: ${name}`} />
        </Dialog>
      )}
    </>
  );
}
