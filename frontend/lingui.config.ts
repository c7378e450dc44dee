/** Where the studio's texts are, and where their translations: `npm run texts` brings the catalogues up to date. */
import { defineConfig } from "@lingui/conf";
import { formatter } from "@lingui/format-po";

export default defineConfig({
  sourceLocale: "en",
  locales: ["de"],
  catalogs: [{ path: "<rootDir>/src/i18n/catalogues/{locale}", include: ["<rootDir>/src"], exclude: ["**/*.test.*", "**/testing/**"] }],
  format: formatter({ lineNumbers: false, printPlaceholdersInComments: false }),
  orderBy: "origin",
  runtimeConfigModule: { i18n: ["@lingui/core", "i18n"], Trans: ["@/i18n/trans", "Trans"] },
});
