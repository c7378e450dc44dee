/** What main.tsx does before the first page: fonts and styles, without which nothing has its size or place, and who answers. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@/components/mantine-styles";
import "@/components/tokens.css";
import { afterEach } from "vitest";
import { startLanguage } from "@/i18n/language";
import { install } from "./mock-api/install";

await startLanguage("en");
install();
// Words have their width from the first test on, and not from when the font happens to come.
await Promise.all(["Inter Variable", "JetBrains Mono Variable"].map((family) => document.fonts.load(`1em "${family}"`)));
afterEach(() => localStorage.clear());
