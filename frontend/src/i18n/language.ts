/**
 * The language of the studio. Its texts stand in the code in English and need no catalogue; those of another language
 * come from `catalogues/`, before the first page is made. What the server says (errors, events, figures) stays English,
 * so that it can be searched for and is the same in logs, command line and studio; its fixed texts are in `server-text.ts`.
 */
import { i18n, type Messages } from "@lingui/core";

/** Each named in itself, so that whoever reads no other finds theirs. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "shoal.language";

const CATALOGUES: Record<Exclude<Language, "en">, () => Promise<{ messages: Messages }>> = {
  de: () => import("./catalogues/de.po"),
};

const isLanguage = (text: string | null | undefined): text is Language =>
  text !== null && text !== undefined && Object.hasOwn(LANGUAGES, text);

/** What was chosen, else the first of the browser's languages that there is, else English. */
export function preferredLanguage(chosen: string | null, offered: readonly string[]): Language {
  if (isLanguage(chosen)) return chosen;
  return offered.map((tag) => tag.split("-")[0]).find(isLanguage) ?? "en";
}

export const currentLanguage = (): Language => (isLanguage(i18n.locale) ? i18n.locale : "en");

/** Texts are made when their modules are loaded, too: the page is loaded anew. */
export function changeLanguage(language: Language): void {
  localStorage.setItem(KEY, language);
  location.reload();
}

async function messagesOf(language: Language): Promise<{ language: Language; messages: Messages }> {
  if (language === "en") return { language, messages: {} };
  try {
    const { messages } = await CATALOGUES[language]();
    return { language, messages };
  } catch (error) {
    // why not thrown: English is better than an empty page.
    reportError(error);
    return { language: "en", messages: {} };
  }
}

/** Before any module with texts is loaded. */
export async function startLanguage(wanted?: Language): Promise<void> {
  const { language, messages } = await messagesOf(wanted ?? preferredLanguage(localStorage.getItem(KEY), navigator.languages));
  i18n.loadAndActivate({ locale: language, messages });
  if (typeof document !== "undefined") document.documentElement.lang = language;
}
