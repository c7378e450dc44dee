/** Arithmetic of traffic splits: whole per cent that total 100 (or 0: nobody gets anything). */
import { t } from "@lingui/core/macro";
import { count, fixed, listed } from "@/components/format";

export type Split = Record<string, number>;

export const total = (split: Split): number => Object.values(split).reduce((sum, share) => sum + share, 0);

/** Sets one deployment's share and lets the others give or take in proportion, so that the total stays 100. */
export function withShare(split: Split, name: string, share: number): Split {
  const wanted = Math.max(0, Math.min(100, Math.round(share)));
  const others = Object.keys(split).filter((other) => other !== name);
  const next: Split = { ...split, [name]: wanted };
  if (others.length === 0) return next;
  const rest = 100 - wanted;
  const before = others.reduce((sum, other) => sum + (split[other] ?? 0), 0);
  let given = 0;
  others.forEach((other, index) => {
    const isLast = index === others.length - 1;
    const part = before > 0 ? Math.round(((split[other] ?? 0) / before) * rest) : Math.floor(rest / others.length);
    const value = isLast ? rest - given : Math.min(part, rest - given);
    next[other] = value;
    given += value;
  });
  return next;
}

export function sameSplit(a: Split, b: Split): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => (a[name] ?? 0) === (b[name] ?? 0));
}

/** What somebody types, and the shares that they saw when they began. */
export interface Edit {
  seen: Split;
  draft: Split;
}

/** What to show: without an edit what the server has; with one that, and whether others have moved the traffic since. */
export function standing(edit: Edit | null, now: Split): { draft: Split; overtaken: boolean } {
  if (edit === null || sameSplit(edit.draft, now)) return { draft: now, overtaken: false };
  return { draft: edit.draft, overtaken: !sameSplit(edit.seen, edit.draft) && !sameSplit(edit.seen, now) };
}

export const isValid = (split: Split): boolean => total(split) === 100 || total(split) === 0;

/** `80 / 20`, in the order of the names given. */
export const splitText = (split: Split, names: readonly string[]): string => names.map((name) => split[name] ?? 0).join(" / ");

/** Whole requests are told apart from fractions only below ten. */
const people = (rate: number): string => (rate >= 10 ? count(rate) : fixed(rate, Number.isInteger(Math.round(rate * 10) / 10) ? 0 : 1));

/** How many of the present requests change their target, in a sentence. */
export function moveSentence(before: Split, after: Split, ratePerS: number | null): string {
  if (total(after) === 0) return t`Nobody gets requests from then on: every caller is answered 404.`;
  const gains = Object.keys(after)
    .map((name) => ({ name, gain: (after[name] ?? 0) - (before[name] ?? 0) }))
    .filter(({ gain }) => gain > 0);
  const moved = gains.reduce((sum, { gain }) => sum + gain, 0);
  const to = listed(gains.map(({ name }) => name));
  if (moved === 0) return t`No request changes its target.`;
  if (ratePerS === null || ratePerS < 0.05) return t`${moved} % of the requests will go to ${to} instead; there are none at the moment.`;
  const [all, moving] = [people(ratePerS), people((ratePerS * moved) / 100)];
  return t`Of about ${all} requests per second, about ${moving} (${moved} %) move to ${to}.`;
}

export const PRESET_SHARES = [0, 1, 5, 10, 25, 50, 100] as const;
