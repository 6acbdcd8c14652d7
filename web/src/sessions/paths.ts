/** Paths of the daemon's machine, as people read them. */

/** The last two parts of a path; the whole of it where it is no longer than that. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

export interface Crumb {
  name: string;
  path: string;
}

/** The way from a root down to a path; from the top where the path is not beneath the root. */
export function crumbs(path: string, root: string): Crumb[] {
  const inside = isBeneath(path, root);
  const base = inside ? trimmed(root) : "";
  const top = inside ? root : "/";
  const rest = trimmed(path).slice(base.length).split("/").filter(Boolean);
  const below = rest.map((name, at) => ({
    name,
    path: `${base}/${rest.slice(0, at + 1).join("/")}`,
  }));
  return [{ name: top, path: top }, ...below];
}

export function isBeneath(path: string, root: string): boolean {
  return trimmed(path) === trimmed(root) || `${trimmed(path)}/`.startsWith(`${trimmed(root)}/`);
}

export function join(folder: string, name: string): string {
  return `${trimmed(folder)}/${name}`;
}

const trimmed = (path: string) => path.replace(/\/+$/, "");
