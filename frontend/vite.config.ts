/** Build and development server (proxying to a running installation) of the studio. */
import { fileURLToPath } from "node:url";
import { lingui } from "@lingui/vite-plugin";
import babel, { defineRolldownBabelPreset } from "@rolldown/plugin-babel";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compileTexts } from "./compile-texts.ts";

const backend = process.env["SHOAL_STUDIO_URL"] ?? "http://127.0.0.1:8080";
const source = fileURLToPath(new URL("./src", import.meta.url));

/** Texts marked by `t` and `Trans` become messages; only files that have some are read by Babel. */
const texts = defineRolldownBabelPreset({
  // why the message too: English has no catalogue (src/i18n/language.ts).
  preset: () => ({ plugins: [["@lingui/babel-plugin-lingui-macro", { stripMessageField: false }], () => compileTexts] }),
  rolldown: { filter: { id: /\.tsx?$/, code: /@lingui\/(core|react)\/macro/ } },
});

export default defineConfig({
  base: "/",
  plugins: [babel({ presets: [texts] }), lingui({ failOnCompileError: true }), react()],
  resolve: { alias: { "@": source } },
  // The in-memory API is part of a build only when it is asked for: everything behind this flag is dropped otherwise.
  define: { "import.meta.env.VITE_MOCK": JSON.stringify(process.env["VITE_MOCK"] ?? "") },
  build: {
    outDir: process.env["VITE_MOCK"] === "1" ? "dist-mock" : "dist",
    target: "es2022",
    sourcemap: false,
    // Nothing is inlined as a data: URI, so that the content security policy can stay strict.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // why: main.tsx imports the studio when the language is known. Without this, all that two pages share would be
          // a file of its own: 89 of them, and 30 kB more on the wire, before the first page.
          groups: [
            { name: "language", test: /src\/i18n\/language\.ts$/, priority: 2 },
            { name: "studio", test: /src\/app\/studio\.tsx$/, priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/api": { target: backend },
      "/oidc": { target: backend },
      "/ws": { target: backend, ws: true },
    },
  },
  preview: { host: "127.0.0.1" },
});
