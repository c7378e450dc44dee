/** What the page of the first run shows: a form, or why there is none. */
import { t } from "@lingui/core/macro";

export type SetupState = "loading" | "form" | "closed" | "no-token";

/** What follows `#` in the link; it never reaches a server's log. */
export const tokenOf = (hash: string): string => hash.replace(/^#/, "").trim();

export function setupState(open: boolean | undefined, token: string): SetupState {
  if (open === undefined) return "loading";
  if (!open) return "closed";
  return token === "" ? "no-token" : "form";
}

export const shortPassword = (password: string): string | null =>
  password !== "" && password.length < 8 ? t`Take 8 characters or more.` : null;
