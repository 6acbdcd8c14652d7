import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const DAEMON = "http://127.0.0.1:2468";
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Beside each file of the page, the same gzipped: the daemon sends it as it is. */
const gzipped: Plugin = {
  name: "gzipped",
  apply: "build",
  writeBundle({ dir = "" }) {
    for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
      if (!/\.(?:css|html|js|svg)$/.test(name)) continue;
      const file = join(dir, name);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    }
  },
};

export default defineConfig({
  // Relative, so that the page works behind a proxy at any prefix.
  base: "./",
  plugins: [react(), gzipped],
  resolve: { alias: { "dragoman-client": here("../clients/typescript/src/index.ts") } },
  build: {
    outDir: here("../src/dragoman/http/page"),
    emptyOutDir: true,
    target: "es2022",
    // The page's own policy forbids data: scripts and styles; small files stay files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file: the page comes from this machine, and is kept by the browser.
    chunkSizeWarningLimit: 1000,
  },
  server: {
    // The daemon answers its own page only, so that is who asks.
    proxy: { "/v1": { target: DAEMON, changeOrigin: true, headers: { origin: DAEMON } } },
  },
});
