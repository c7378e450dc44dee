/** Prices as a form holds them: one row each, whatever it is the price of. */
import { t } from "@lingui/core/macro";
import type { Prices } from "@/api/types";

export type PriceKind = "instance_type" | "node" | "label";

export interface PriceRow {
  kind: PriceKind;
  /** Of a label: `zone=a`. */
  name: string;
  perHour: number | string;
}

export const rowsOf = (prices: Prices): PriceRow[] => [
  ...Object.entries(prices.instance_types).map(([name, perHour]) => ({ kind: "instance_type" as const, name, perHour })),
  ...Object.entries(prices.nodes).map(([name, perHour]) => ({ kind: "node" as const, name, perHour })),
  ...prices.labels.map((one) => ({ kind: "label" as const, name: `${one.key}=${one.value}`, perHour: one.per_hour })),
];

const PRICE_MISSING = t`Expected a price per hour`;
/** Of the number, not of the name. */
export const isOfPrice = (problem: string | undefined): boolean => problem === PRICE_MISSING;

/** Why a row cannot be saved; undefined where it can. */
export function rowProblem(row: PriceRow, rows: readonly PriceRow[]): string | undefined {
  const name = row.name.trim();
  if (name === "") return t`Expected a name`;
  if (row.kind === "label" && !/^[^=]+=/.test(name)) return t`Expected key=value`;
  if (typeof row.perHour !== "number" || row.perHour < 0) return PRICE_MISSING;
  if (rows.some((other) => other !== row && other.kind === row.kind && other.name.trim() === name)) return t`It has a price already`;
  return undefined;
}

export function pricesOf(currency: string, rows: readonly PriceRow[]): Prices {
  const of = (kind: PriceKind) => rows.filter((row) => row.kind === kind).map((row) => [row.name.trim(), Number(row.perHour)] as const);
  return {
    currency: currency.trim(),
    instance_types: Object.fromEntries(of("instance_type")),
    nodes: Object.fromEntries(of("node")),
    labels: of("label").map(([name, perHour]) => {
      const cut = name.indexOf("=");
      return { key: name.slice(0, cut), value: name.slice(cut + 1), per_hour: perHour };
    }),
  };
}
