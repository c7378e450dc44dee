import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["MacIntel", "en", "⌘ K"],
  ["iPhone", "de", "⌘ K"],
  ["iPad", "en", "⌘ K"],
  ["Linux x86_64", "en", "Ctrl K"],
  ["Win32", "de", "Strg K"],
  ["", "en", "Ctrl K"],
] as const)("the list of keys on %s, %s: %s", async (platform, language, expected) => {
  vi.resetModules();
  vi.stubGlobal("navigator", { platform });
  const { startLanguage } = await import("@/i18n/language");
  await startLanguage(language);
  const { SHORTCUTS } = await import("./shortcuts");
  expect(SHORTCUTS[0]?.[0]).toBe(expected);
});
