/** Colours of series: fixed meanings, and dashes once the six hues are used up. */

export type SeriesColor = "s1" | "s2" | "s3" | "s4" | "s5" | "s6";

export interface LineStyle {
  color: SeriesColor;
  dash?: [number, number];
}

/** Of what has no style of its own. */
export const PLAIN: LineStyle = { color: "s1" };

/** Styles of lines that are no deployments, in the order in which they come: more are not told apart. */
export const LINE_STYLES: readonly LineStyle[] = [
  ...(["s1", "s2", "s5", "s4", "s6", "s3"] as const).map((color) => ({ color })),
  ...(["s1", "s2", "s5", "s4", "s6", "s3"] as const).map((color) => ({ color, dash: [6, 4] as [number, number] })),
];

const HUES: SeriesColor[] = ["s1", "s3", "s5", "s4", "s6", "s2"];
const DASHES: ([number, number] | undefined)[] = [undefined, [6, 4], [2, 3]];

/** `blue` and `green` keep their meaning; further deployments take the remaining hues in order of their names. */
export function deploymentStyles(names: readonly string[]): Map<string, LineStyle> {
  const styles = new Map<string, LineStyle>();
  const fixed: Record<string, LineStyle> = { blue: { color: "s1" }, green: { color: "s3", dash: [6, 4] } };
  const rest = [...names].filter((name) => !(name in fixed)).sort();
  for (const name of names) {
    const style = fixed[name];
    if (style) styles.set(name, style);
  }
  const free = HUES.filter((hue) => ![...styles.values()].some((style) => style.color === hue));
  rest.forEach((name, index) => {
    const color = free[index % free.length] ?? "s1";
    const dash = DASHES[Math.floor(index / free.length) % DASHES.length];
    styles.set(name, dash ? { color, dash } : { color });
  });
  return styles;
}

/** The current theme's value of a token. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
