const PATHS = {
  plus: "M8 3.5v9M3.5 8h9",
  inbox: "M2.5 9.5 4.4 3.5h7.2l1.9 6v3h-11zM2.5 9.5h3l1 1.5h3l1-1.5h3",
  agents: "M4 5.5h8v6.5H4zM8 5.5V3M6.3 8.2v1M9.7 8.2v1M2.2 8v1.6M13.8 8v1.6",
  requests: "M5.2 4.5 1.8 8l3.4 3.5M10.8 4.5 14.2 8l-3.4 3.5M9 3.5 7 12.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.3 13.5 13.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  folder: "M2 4.5h4l1.4 1.5H14v6.5H2z",
  up: "M8 13V3.5M4 7.5l4-4 4 4",
  back: "M9.5 3.5 5 8l4.5 4.5",
  light:
    "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  dark: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6",
  system: "M2 3.5h12v7.5H2zM6 13.5h4M8 11v2.5",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M6.3 6.4a1.7 1.7 0 1 1 2.4 1.6c-.5.3-.7.6-.7 1.2M8 11.2h.01",
  leave: "M9.5 3.5V2.6H3v10.8h6.5v-.9M6.5 8h7.5M11.5 5.5 14 8l-2.5 2.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.6h-2.6",
  remove: "M4 4l8 8M12 4l-8 8",
} as const;

export type IconName = keyof typeof PATHS;

/** A small drawing beside a word, or in place of one that is said elsewhere. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === "more" ? 2.2 : 1.4}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
