/** Build and development server (proxying to a running installation) of the studio. */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const backend = process.env["SHOAL_STUDIO_URL"] ?? "http://127.0.0.1:8080";
const source = fileURLToPath(new URL("./src", import.meta.url));

export default defineConfig({
  base: "/",
  plugins: [react()],
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
