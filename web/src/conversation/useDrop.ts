import { useEffect, useRef, useState } from "react";
import { say } from "../ui/notices";

/** Take files that are dropped anywhere on the page. Says whether some are being dragged over it. */
export function useDrop(onDrop: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      // Else the browser would leave the page and show the file.
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(false);
      latest.current(filesIn(event.dataTransfer));
    };
    const stop = new AbortController();
    const { signal } = stop;
    document.addEventListener("dragover", over, { signal });
    document.addEventListener("dragleave", leave, { signal });
    document.addEventListener("drop", drop, { signal });
    return () => stop.abort();
  }, []);
  return isOver;
}

function filesIn({ files, items }: DataTransfer): readonly File[] {
  const folders = new Set(
    [...items]
      .map((item) => item.webkitGetAsEntry())
      .filter((entry) => entry?.isDirectory)
      .map((entry) => entry?.name),
  );
  if (folders.size > 0) say("A folder cannot be attached, only files.", true);
  return [...files].filter((file) => !folders.has(file.name));
}
