/** Traffic with a new share for one deployment: the others give in proportion, whole percents, 100 in all. */
export function withShare(traffic: Readonly<Record<string, number>>, name: string, share: number): Record<string, number> {
  const others = Object.entries(traffic).filter(([other, percent]) => other !== name && percent > 0);
  const total = others.reduce((sum, [, percent]) => sum + percent, 0);
  if (total === 0) return { [name]: 100 };
  const left = 100 - share;
  const scaled = others.map(([other, percent]): [string, number] => [other, Math.floor((percent * left) / total)]);
  const largest = scaled.reduce((best, one) => (one[1] > best[1] ? one : best));
  largest[1] += left - scaled.reduce((sum, [, percent]) => sum + percent, 0);
  return { ...Object.fromEntries(scaled), [name]: share };
}
