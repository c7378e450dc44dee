/** Ready-made data, for a first call without thinking: the same seed gives the same values. Pure. */
import { t } from "@lingui/core/macro";
import { datatypeInfo, type Element } from "./datatypes";

export const FILLS = ["zeros", "ones", "uniform", "normal", "count"] as const;
export type FillKind = (typeof FILLS)[number];

export interface Fill {
  kind: FillKind;
  /** Uniform: lowest and highest value. Normal: mean and standard deviation. */
  a: number;
  b: number;
  seed: number;
}

export const FILL_LABELS: Record<FillKind, string> = {
  zeros: t`Zeros`,
  ones: t`Ones`,
  uniform: t`Uniform random`,
  normal: t`Normal random`,
  count: t`Count up`,
};

export function newFill(kind: FillKind, datatype: string, seed = 1): Fill {
  const { kind: type } = datatypeInfo(datatype);
  if (kind === "normal") return type === "integer" ? { kind, a: 5, b: 2, seed } : { kind, a: 0, b: 1, seed };
  return { kind, a: 0, b: type === "integer" ? 9 : 1, seed };
}

/** Numbers in [0, 1), the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Two uniform numbers make a normal one (Box and Muller). */
function normal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

function number(fill: Fill, random: () => number, index: number, whole: boolean): number {
  switch (fill.kind) {
    case "zeros":
      return 0;
    case "ones":
      return 1;
    case "count":
      return index;
    case "uniform":
      // Both ends of whole numbers are as likely as those between.
      return whole ? Math.floor(fill.a + random() * (fill.b - fill.a + 1)) : fill.a + random() * (fill.b - fill.a);
    case "normal":
      return fill.a + normal(random) * fill.b;
  }
}

const clamp = (value: bigint, low: bigint | undefined, high: bigint | undefined): bigint =>
  low !== undefined && value < low ? low : high !== undefined && value > high ? high : value;

function element(datatype: string, fill: Fill, random: () => number, index: number): Element {
  const { kind, min, max, width, limit } = datatypeInfo(datatype);
  if (kind === "bytes") return fill.kind === "zeros" ? "" : fill.kind === "ones" ? "text" : `sample ${index + 1}`;
  if (kind === "bool") return fill.kind === "zeros" ? false : fill.kind === "ones" ? true : random() >= 0.5;
  const value = number(fill, random, index, kind === "integer");
  if (kind === "integer") {
    const whole = clamp(BigInt(Number.isFinite(value) ? Math.round(value) : 0), min, max);
    return width === 8 ? whole.toString() : Number(whole);
  }
  const bound = limit ?? Number.MAX_VALUE;
  return Math.round(Math.min(bound, Math.max(-bound, value)) * 1e6) / 1e6;
}

/** `count` elements, valid for the datatype. */
export function fillElements(datatype: string, count: number, fill: Fill): Element[] {
  const random = seeded(fill.seed);
  return Array.from({ length: count }, (_, index) => element(datatype, fill, random, index));
}
