/** What a person is about to say in one session: words and files, kept until they are sent. */

import { type Delivery, type DragomanClient, DragomanError, NoAnswer } from "dragoman-client";
import type { Shelf } from "../state/shelf";
import { Store } from "../state/store";
import { reason } from "../ui/notices";
import { remembering } from "./history";
import { randomWord } from "./random";
import type { Uploads } from "./uploads";

/** A file on its way, or there. */
export interface Attached {
  id: string;
  name: string;
  size: number;
  mime: string;
  /** Where the browser has a picture of it. */
  preview: string | null;
  /** How much of it has gone out, from 0 to 1. */
  progress: number;
  /** Where it is, once it is. */
  path: string | null;
  problem: string | null;
}

export interface DraftValue {
  text: string;
  files: readonly Attached[];
  sending: boolean;
  problem: string | null;
  /** What was sent before, the newest last. */
  sent: readonly string[];
}

export class Draft {
  readonly value: Store<DraftValue>;
  readonly #files = new Map<string, { file: File; stop: AbortController }>();
  /** Sent with the message, and with the same message again: it never arrives twice. */
  #key: string | null = null;

  constructor(
    readonly sessionId: string,
    readonly client: DragomanClient,
    readonly uploads: Pick<Uploads, "upload" | "remove">,
    /** Where it outlives its page. */
    readonly shelf: Shelf,
  ) {
    this.value = new Store<DraftValue>({
      text: this.shelf.getItem(this.#place("draft")) ?? "",
      files: [],
      sending: false,
      problem: null,
      sent: listIn(this.shelf.getItem(this.#place("sent"))),
    });
  }

  type(text: string): void {
    this.#changed({ text });
    this.#keep("draft", text);
  }

  attach(files: Iterable<File>): void {
    for (const file of files) {
      const id = randomWord();
      this.#files.set(id, { file, stop: new AbortController() });
      const fresh: Attached = {
        id,
        name: file.name,
        size: file.size,
        mime: file.type,
        preview: file.type.startsWith("image/") ? URL.createObjectURL(file) : null,
        progress: 0,
        path: null,
        problem: null,
      };
      this.#changed({ files: [...this.value.get().files, fresh] });
      void this.upload(id);
    }
  }

  /** Bring a file to the daemon; also again, where that failed. */
  async upload(id: string): Promise<void> {
    const known = this.#files.get(id);
    if (known === undefined) return;
    const { file, stop } = known;
    this.#attached(id, { problem: null, progress: 0 });
    try {
      const tell = (progress: number) => this.#attached(id, { progress });
      const path = await this.uploads.upload(file, tell, stop.signal);
      if (this.#files.has(id)) this.#attached(id, { path, progress: 1 });
      else await this.uploads.remove(path);
    } catch (error) {
      this.#attached(id, { problem: reason(error) });
    }
  }

  detach(id: string): void {
    const gone = this.value.get().files.find((file) => file.id === id);
    if (gone === undefined || this.value.get().sending) return;
    this.#files.get(id)?.stop.abort();
    this.#letGo(gone);
    this.#changed({ files: this.value.get().files.filter((file) => file.id !== id) });
    if (gone.path !== null) void this.uploads.remove(gone.path);
  }

  /** Send it. Whatever goes wrong, everything stays, and says why. */
  async send(delivery: Delivery): Promise<boolean> {
    const { text, files } = this.value.get();
    if (obstacle(this.value.get()) !== null) return false;
    this.#key ??= randomWord();
    this.#change({ sending: true, problem: null });
    const attachments = files.map(({ path, mime, name }) => ({
      path: path ?? "",
      mime: mime || null,
      filename: name,
    }));
    try {
      await this.client.postMessage(
        this.sessionId,
        { message: text, attachments },
        { delivery, idempotencyKey: this.#key },
      );
    } catch (error) {
      this.#change({ sending: false, problem: whyNot(error) });
      return false;
    }
    this.#sent(text, files);
    return true;
  }

  #sent(text: string, files: readonly Attached[]): void {
    for (const file of files) this.#letGo(file);
    const sent = remembering(this.value.get().sent, text);
    this.#key = null;
    this.#change({ text: "", files: [], sending: false, sent });
    this.#keep("draft", "");
    this.#keep("sent", JSON.stringify(sent));
  }

  #letGo({ id, preview }: Attached): void {
    this.#files.delete(id);
    if (preview !== null) URL.revokeObjectURL(preview);
  }

  /** Another message needs another key. */
  #changed(change: Partial<DraftValue>): void {
    this.#key = null;
    this.#change({ problem: null, ...change });
  }

  #attached(id: string, change: Partial<Attached>): void {
    this.#change({
      files: this.value.get().files.map((file) => (file.id === id ? { ...file, ...change } : file)),
    });
  }

  #change(change: Partial<DraftValue>): void {
    this.value.update((before) => ({ ...before, ...change }));
  }

  #keep(what: "draft" | "sent", text: string): void {
    if (text === "") this.shelf.removeItem(this.#place(what));
    else this.shelf.setItem(this.#place(what), text);
  }

  #place(what: "draft" | "sent"): string {
    return `dragoman.${what}.${this.sessionId}`;
  }
}

/** Why a draft cannot be sent now; null: it can. */
export function obstacle({ text, files, sending }: DraftValue): string | null {
  if (sending) return "It is being sent.";
  if (files.some((file) => file.problem !== null)) return "A file could not be uploaded.";
  if (files.some((file) => file.path === null)) return "Files are being uploaded.";
  if (text.trim() === "" && files.length === 0) return "There is nothing to send.";
  return null;
}

function whyNot(error: unknown): string {
  if (error instanceof DragomanError) return `Not sent: ${error.message}`;
  const why = error instanceof NoAnswer ? "No answer came." : reason(error);
  return `${why} Your message may have arrived or not. Send it again: it cannot arrive twice.`;
}

function listIn(text: string | null): readonly string[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}
