import { useEffect, useState } from "react";
import { client } from "../app/api";
import { nameOf } from "./paths";

/** Those that are nothing but a picture; an SVG may be a document with scripts. */
const HARMLESS = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/** Where an image is: among what the daemon stored of the session, else among its files. */
export function usePicture(sessionId: string, path: string, mime: string | null) {
  const stored = client.files.url(sessionId, nameOf(path));
  const [source, setSource] = useState<string | null>(stored);
  const [isElsewhere, setElsewhere] = useState(false);
  useEffect(() => {
    if (!isElsewhere) return;
    const stop = new AbortController();
    let made: string | null = null;
    const fetchIt = async () => {
      const blob = await read(sessionId, path, mime, stop.signal);
      if (stop.signal.aborted) return;
      made = blob && URL.createObjectURL(blob);
      setSource(made);
    };
    fetchIt().catch(() => stop.signal.aborted || setSource(null));
    return () => {
      stop.abort();
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [isElsewhere, sessionId, path, mime]);
  const onError = () => (isElsewhere ? setSource(null) : setElsewhere(true));
  return { source, onError };
}

async function read(sessionId: string, path: string, mime: string | null, signal: AbortSignal) {
  if (mime === null || !HARMLESS.includes(mime)) return null;
  const file = await client.files.read(path, { sessionId, signal });
  return new Blob([await file.arrayBuffer()], { type: mime });
}
