import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: { alias: { "dragoman-client": here("clients/typescript/src/index.ts") } },
  test: {
    include: ["clients/typescript/tests/**/*.test.ts", "web/tests/**/*.test.{ts,tsx}"],
    environment: "node",
    // A busy machine is slow, and no test is wrong for that.
    testTimeout: 30_000,
  },
});
