import { useState } from "react";
import { Dialog } from "../ui/Dialog";
import { visible } from "./marks";
import { nameOf } from "./paths";
import { useSessionId } from "./place";
import { usePicture } from "./usePicture";
import "./Picture.css";

/** An image that the daemon has; a click shows it large. */
export function Picture(props: { path: string; mime: string | null; filename?: string }) {
  const { path, mime } = props;
  const [large, setLarge] = useState(false);
  const { source, onError } = usePicture(useSessionId(), path, mime);
  const name = visible(props.filename ?? nameOf(path));
  if (source === null) return <p className="dim small">The image {name} cannot be shown.</p>;
  return (
    <>
      <button
        type="button"
        className="picture"
        aria-label={`Enlarge image ${name}`}
        onClick={() => setLarge(true)}
      >
        <img src={source} alt={`Attached: ${name}`} onError={onError} />
      </button>
      {large && (
        <Dialog title={name} onClose={() => setLarge(false)}>
          <img className="picture-large" src={source} alt={`Attached: ${name}`} />
        </Dialog>
      )}
    </>
  );
}
