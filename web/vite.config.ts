import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const DAEMON = "http://127.0.0.1:2468";
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // Relative, so that the page works behind a proxy at any prefix.
  base: "./",
  plugins: [react()],
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
