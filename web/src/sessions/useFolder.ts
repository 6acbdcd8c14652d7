import { DragomanError, type FsEntry } from "dragoman-client";
import { useEffect, useState } from "react";
import { client } from "../app/api";
import { useReconnects } from "../app/reconnect";
import { reason } from "../ui/notices";

/** A folder of the daemon's machine, while one looks around. */
export interface Folder {
  path: string;
  root: string;
  folders: readonly FsEntry[];
  loading: boolean;
  problem: string;
}

const NOWHERE: Folder = { path: "", root: "", folders: [], loading: true, problem: "" };

/** The folders in a folder; it begins at one, or at the root where that one cannot be seen. */
export function useFolder(first: string) {
  const [wanted, setWanted] = useState({ path: first.trim(), isFirst: true });
  const [folder, setFolder] = useState(NOWHERE);
  const reconnects = useReconnects();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a daemon that is back is asked again.
  useEffect(() => {
    const stop = new AbortController();
    setFolder((before) => ({ ...before, loading: true, problem: "" }));
    look(wanted.path, wanted.isFirst, stop.signal)
      .then((found) => setFolder({ ...found, loading: false }))
      .catch((error: unknown) => {
        if (stop.signal.aborted) return;
        setFolder((before) => ({ ...before, loading: false, problem: reason(error) }));
      });
    return () => stop.abort();
  }, [wanted, reconnects]);
  const enter = (path: string) => setWanted({ path, isFirst: false });
  return { folder, enter };
}

type Found = Omit<Folder, "loading">;

async function look(path: string, orRoot: boolean, signal: AbortSignal): Promise<Found> {
  const root = (await client.files.stat("", { signal })).path;
  try {
    return { root, path: path || root, folders: await list(path || root, signal), problem: "" };
  } catch (error) {
    if (!orRoot || !(error instanceof DragomanError) || path === "") throw error;
    return { root, path: root, folders: await list(root, signal), problem: reason(error) };
  }
}

async function list(path: string, signal: AbortSignal): Promise<FsEntry[]> {
  const entries = await client.files.list(path, { signal });
  return entries.filter(({ entryType }) => entryType === "directory");
}
