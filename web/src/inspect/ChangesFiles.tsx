import { ChangesFile } from "./ChangesFile";
import type { FileList } from "./changesList";

/** The files that changed, each with its diff; of many files, those that are seen exist. */
export function ChangesFiles({
  list: { scope, scroller, list, files, isOpen, toggle },
}: {
  list: FileList;
}) {
  return (
    <section
      ref={scroller}
      className="changes-files scroll"
      aria-label="Files"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
      tabIndex={0}
    >
      <div className="changes-stack" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start }) => {
          const file = files[index];
          if (!file) return null;
          return (
            <div
              key={`${scope} ${file.key}`}
              ref={list.measureElement}
              data-index={index}
              className="changes-place"
              style={{ top: start }}
            >
              <ChangesFile file={file} isOpen={isOpen(file)} onToggle={toggle} />
            </div>
          );
        })}
      </div>
    </section>
  );
}
