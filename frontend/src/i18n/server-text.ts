import { i18n } from "@lingui/core";

/** A fixed text of the server (`server-texts.ts`) in the studio's language; as it came where the catalogue lacks it: in English. */
export function serverText(text: string): string {
  const id = `server: ${text}`; // as in server-texts.ts
  return Object.hasOwn(i18n.messages, id) ? i18n._(id) : text;
}
