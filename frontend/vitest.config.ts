/** Tests of the studio: those of plain functions in Node, those of components (`*.browser.test.tsx`) in Chromium. */
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    passWithNoTests: false,
    // A busy machine is slow, which says nothing about a test.
    testTimeout: 20_000,
    projects: [
      {
        extends: "./vite.config.ts",
        test: {
          name: "unit",
          include: ["src/**/*.test.{ts,tsx}"],
          exclude: ["src/**/*.browser.test.tsx"],
          environment: "node",
          setupFiles: ["./vitest.setup.ts"],
          // In CI one that failed is asked once more (ADR 0358).
          retry: process.env["SECOND_LOOK"] ? 1 : 0,
        },
      },
      {
        extends: "./vite.config.ts",
        // All that the studio imports is bundled before the first test: a package met later would load the page anew.
        optimizeDeps: { entries: ["src/**/*.{ts,tsx}"] },
        test: {
          name: "browser",
          include: ["src/**/*.browser.test.tsx"],
          setupFiles: ["./vitest.browser.setup.ts"],
          expect: { poll: { timeout: 10_000 } },
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            viewport: { width: 1280, height: 800 },
            // The machine's browser; nothing is downloaded.
            provider: playwright({
              launchOptions: {
                executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
                args: [
                  "--no-sandbox",
                  "--disable-gpu",
                  "--disable-background-networking",
                  "--disable-component-update",
                  "--disable-sync",
                  "--no-first-run",
                ],
              },
              contextOptions: { reducedMotion: "reduce", colorScheme: "light" },
              actionTimeout: 10_000,
            }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});
