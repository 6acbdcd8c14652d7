import { client } from "./api";

let taken: Promise<void> | null = null;

/** Swap the ticket in the page's address, if there is one, for a cookie. It is good once. */
export function takeTicket(): Promise<void> {
  // One that was refused must not keep out who signs in afterwards.
  taken ??= swap().catch((error: unknown) => {
    taken = null;
    throw error;
  });
  return taken;
}

async function swap(): Promise<void> {
  const address = new URL(location.href);
  const ticket = address.searchParams.get("ticket");
  if (ticket === null) return;
  address.searchParams.delete("ticket");
  // Before anything else, so that neither history nor a copied address has it.
  history.replaceState(null, "", address);
  await client.login(ticket);
}
