/** Put a text on the clipboard. Throws where the browser does not allow it. */
export async function copyText(text: string): Promise<void> {
  // Not in every context, whatever its type says: without HTTPS there is none.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) return clipboard.writeText(text);
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "unseen";
  field.style.whiteSpace = "pre";
  field.readOnly = true;
  field.value = text;
  // What is outside an open dialog cannot be selected.
  (before?.closest("dialog") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  if (!isCopied) throw new Error("The browser did not allow it.");
}
