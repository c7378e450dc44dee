/** Starts the studio in its language: texts are made while modules are loaded, so that it must be known first. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@/components/mantine-styles";
import "@/components/tokens.css";
import { startLanguage } from "@/i18n/language";

await startLanguage();
if (import.meta.env.VITE_MOCK === "1") {
  const { install } = await import("../../mock-api/install");
  install();
}
await import("./studio");
