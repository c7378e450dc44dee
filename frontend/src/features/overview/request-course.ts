/** The course of an endpoint's requests, of what was measured before the page was opened and what it was told since. Pure. */
import type { Overview } from "@/api/types";
import { evenly } from "@/components/charts/widths";

/** Unix seconds by the browser's clock, and requests per second then. */
type Point = readonly [at: number, rate: number | null];
export type Told = ReadonlyMap<string, readonly Point[]>;

export interface Past {
  name: string;
  /** By the server's clock. */
  times: readonly number[];
  values: readonly (number | null)[];
  /** When it was answered, by the browser's clock. */
  at: number;
}

/** What an overview tells every two seconds. */
const STEP_S = 2;
/** The overview is asked for every ten seconds where nothing is pushed. */
const WIDEST_S = 12;

/** One point more for each endpoint; what is older than `range` goes, and so does what is not shown any more. */
export function told(old: Told, endpoints: readonly Overview["endpoints"][number][], at: number, range: number): Told {
  return new Map(
    endpoints.map(({ name, live }) => {
      const before = (old.get(name) ?? []).filter(([time]) => time < at && time >= at - range - WIDEST_S);
      return [name, [...before, [at, live.answer_rate] as const]];
    }),
  );
}

/** The last `range` seconds of each, in points of one width that end at `at`. */
export function coursesOf(
  names: readonly string[],
  past: readonly Past[],
  seen: Told,
  { at, range }: { at: number; range: number },
): Map<string, (number | null)[]> {
  const pasts = new Map(past.map((one) => [one.name, one]));
  return new Map(
    names.map((name) => {
      const before = pasts.get(name);
      // why by the answer's time: the server's clock is another one, and its newest point was new then.
      const shift = before ? before.at - (before.times.at(-1) ?? before.at) : 0;
      const times = (before?.times ?? []).map((time) => time + shift);
      const until = times.at(-1) ?? Number.NEGATIVE_INFINITY;
      const since = (seen.get(name) ?? []).filter(([time]) => time > until);
      return [
        name,
        evenly([...times, ...since.map(([time]) => time)], [...(before?.values ?? []), ...since.map(([, rate]) => rate)], {
          from: at - range,
          to: at,
          step: STEP_S,
          widest: WIDEST_S,
        }),
      ];
    }),
  );
}
