import "./LineCounts.css";

/** How many lines were added and removed; nothing where none were. */
export function LineCounts({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return null;
  return (
    <span className="line-counts mono">
      <span className="line-counts-added">+{added}</span>{" "}
      <span className="line-counts-removed">−{removed}</span>
    </span>
  );
}
