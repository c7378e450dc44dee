/** Waiting time before the next attempt to connect: 0.5 s x 2^n, at most 30 s, with 25 % jitter either way. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const base = Math.min(30_000, 500 * 2 ** Math.min(attempt, 16));
  return Math.round(base * (0.75 + random() * 0.5));
}
