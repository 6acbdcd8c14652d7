import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "@playwright/test";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? CHROMIUM.find((path) => existsSync(path));
if (executablePath === undefined) {
  throw new Error("There is no Chromium. `make tools` installs Debian's; CHROMIUM names another.");
}

export default defineConfig({
  testDir: process.env.SHOTS ? "shots" : "e2e",
  outputDir: "test-results",
  // Most of a test is waiting for the page.
  workers: Math.min(8, availableParallelism() + 2),
  fullyParallel: true,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath, args: ["--no-sandbox", "--disable-gpu"] },
    screenshot: "only-on-failure",
  },
});
