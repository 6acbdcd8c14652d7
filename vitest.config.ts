import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: { alias: { "dragoman-client": here("clients/typescript/src/index.ts") } },
  test: {
    include: ["clients/typescript/tests/**/*.test.ts", "web/tests/**/*.test.{ts,tsx}"],
    environment: "node",
  },
});
