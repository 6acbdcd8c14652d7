import { client } from "../app/api";
import { shortcuts } from "../app/keys";
import { daemon } from "../app/rights";
import { nextTheme, theme } from "../app/theme";
import { useStore } from "../state/store";
import { complain } from "../ui/notices";
import { Icon } from "./Icon";

const THEMES = { system: "as the system", light: "light", dark: "dark" } as const;

/** The look, help, the way out, and which daemon this is. */
export function SidebarFooter() {
  const chosen = useStore(theme);
  const version = useStore(daemon)?.version;
  return (
    <footer className="sidebar-footer row">
      <span className="dim small grow cut">{version && `Dragoman ${version}`}</span>
      <button
        type="button"
        className="button quiet small"
        title={`Look: ${THEMES[chosen]}`}
        aria-label={`Look: ${THEMES[chosen]}. Change`}
        onClick={nextTheme}
      >
        <Icon name={chosen} />
      </button>
      <button
        type="button"
        className="button quiet small"
        title="Keyboard shortcuts (?)"
        aria-label="Keyboard shortcuts"
        onClick={showHelp}
      >
        <Icon name="help" />
      </button>
      <button
        type="button"
        className="button quiet small"
        title="Sign out"
        aria-label="Sign out"
        onClick={signOut}
      >
        <Icon name="leave" />
      </button>
    </footer>
  );
}

function showHelp(): void {
  [...shortcuts]
    .flat()
    .find(({ key }) => key === "?")
    ?.act();
}

async function signOut(): Promise<void> {
  try {
    await client.logout();
    location.reload();
  } catch (error) {
    complain(error);
  }
}
