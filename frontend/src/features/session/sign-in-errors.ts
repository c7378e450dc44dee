/** Why a provider's sign-in came back without a session. The address has a code only: words in it would be anybody's. */
import { t } from "@lingui/core/macro";

const WORDS: Record<string, string> = {
  NoRole: t`You are in no group that has a role here. Ask an administrator which group you need.`,
  AccountDisabled: t`Your account is deactivated. An administrator can let you in again.`,
  AccountIsLocal: t`There is another account of your name here. An administrator can hand it over to your provider.`,
  IdentityRefused: t`What the provider said was not accepted. Try again; if it stays, an administrator finds the reason in the activity log.`,
  ProviderUnavailable: t`The provider cannot be asked just now. Try again in a moment.`,
  SignInStale: t`This sign-in was begun in another tab or browser, or took longer than ten minutes. Begin it again.`,
  TooManyAttempts: t`Too many sign-ins failed from your network. Wait up to five minutes.`,
};

export function signInError(code: string | undefined): string | null {
  if (code === undefined) return null;
  return Object.hasOwn(WORDS, code) ? (WORDS[code] ?? null) : t`The sign-in did not succeed. Try again.`;
}

/** The page that leads to the provider, and back to `next`. */
export const providerSignIn = (next: string): string => (next === "/" ? "/oidc/login" : `/oidc/login?next=${encodeURIComponent(next)}`);
