/** Values that a search may choose from, as people write them. Pure. */
import { t } from "@lingui/core/macro";

const MOST = 16;

export type Values = { ok: true; values: number[] } | { ok: false; error: string };

/** `1, 2, 4`, `1..8` (doubling), nothing: the usual ones; rising whole numbers, or what is wrong with the text. */
export function readValues(text: string, least: number, most: number): Values {
  if (text.trim() === "") return { ok: true, values: [] };
  const found = new Set<number>();
  for (const part of text.split(",").map((word) => word.trim())) {
    const ends = part.split("..").map((word) => (word.trim() === "" ? Number.NaN : Number(word)));
    const [first = Number.NaN, last = first] = ends;
    found.add(ends.length > 2 ? Number.NaN : first);
    for (let value = first * 2; value > 0 && value < last; value *= 2) found.add(value);
    found.add(last);
  }
  const values = [...found].toSorted((one, other) => one - other);
  if (values.some((value) => !Number.isInteger(value) || value < least || value > most))
    return { ok: false, error: t`Expected whole numbers from ${least} to ${most}: 1, 2, 4 or 1..8` };
  if (values.length > MOST) return { ok: false, error: t`${values.length} values, expected at most ${MOST}` };
  return { ok: true, values };
}
