/** Arithmetic of traffic splits: whole per cent that total 100 (or 0: nobody gets anything). */

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

export const isValid = (split: Split): boolean => total(split) === 100 || total(split) === 0;

/** `80 / 20`, in the order of the names given. */
export const splitText = (split: Split, names: readonly string[]): string =>
  names.map((name) => split[name] ?? 0).join(" / ");
