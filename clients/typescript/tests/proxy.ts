/** Stands between a client and a daemon, and breaks connections when it is told to. */

import { createServer, request, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export class CuttingProxy {
  /** What was asked, in order. */
  readonly asked: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** After so many bytes of an answer the connection breaks, once. */
  #cutAfter: number | null = null;

  constructor(readonly target: string) {
    this.#server = createServer((from, to) => {
      this.asked.push(from.url ?? "");
      const url = new URL(from.url ?? "/", target);
      const headers = { ...from.headers, host: url.host };
      const forward = request(url, { method: from.method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("data", (chunk: Buffer) =>
          this.#pass(chunk, to.socket, (part) => to.write(part)),
        );
        answer.on("end", () => to.end());
      });
      forward.on("error", () => to.destroy());
      to.on("close", () => forward.destroy());
      from.pipe(forward);
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** Break the next answer after so many bytes. */
  cutAfter(bytes: number): void {
    this.#cutAfter = bytes;
  }

  /** Break all connections now. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(chunk: Buffer, socket: Socket | null, write: (part: Buffer) => void): void {
    if (this.#cutAfter === null || chunk.length < this.#cutAfter) {
      if (this.#cutAfter !== null) this.#cutAfter -= chunk.length;
      write(chunk);
      return;
    }
    write(chunk.subarray(0, this.#cutAfter));
    this.#cutAfter = null;
    // The bytes are on their way first, so that the reader sees half a frame.
    setImmediate(() => socket?.destroy());
  }
}
