import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { LineCounts } from "../parts/LineCounts";
import { visible } from "../parts/marks";
import { Plain } from "../parts/Plain";
import { type ChangedFile, split } from "./changes";
import type { FileList } from "./changesList";

const ROW_PX = 28;

/** The names of all files, each of which leads to it. */
export function ChangesIndex({ list: { files, current, show } }: { list: FileList }) {
  const scroller = useRef<HTMLElement>(null);
  const list = useVirtualizer<HTMLElement, HTMLDivElement>({
    count: files.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  useEffect(() => {
    list.scrollToIndex(current);
  }, [list, current]);
  return (
    <nav ref={scroller} className="changes-index scroll" aria-label="Changed files">
      <div className="changes-index-rows" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ key, index, start }) => {
          const file = files[index];
          return (
            file && (
              <button
                key={key}
                type="button"
                className="changes-index-row"
                style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
                aria-current={index === current ? "true" : undefined}
                title={visible(file.path)}
                onClick={() => show(index)}
              >
                <StatusLetter status={file.status} />
                <FilePath path={file.path} />
                {file.diff && <LineCounts added={file.diff.added} removed={file.diff.removed} />}
              </button>
            )
          );
        })}
      </div>
    </nav>
  );
}

const LETTERS = { created: "A", changed: "M", deleted: "D", renamed: "R" } as const;

/** What happened to a file, as git abbreviates it. */
export function StatusLetter({ status }: { status: ChangedFile["status"] }) {
  return (
    <span className="changes-letter" data-status={status} title={status}>
      <span aria-hidden="true">{LETTERS[status]}</span>
      <span className="unseen">{status}</span>
    </span>
  );
}

/** A path whose folder gives way where there is no room for both. */
export function FilePath({ path }: { path: string }) {
  const [folder, name] = split(path);
  return (
    <span className="changes-path">
      {folder && (
        <span className="changes-folder">
          <Plain text={folder} />
        </span>
      )}
      <span className="changes-name">
        <Plain text={name} />
      </span>
    </span>
  );
}
