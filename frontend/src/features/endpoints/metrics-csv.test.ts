import { expect, test } from "vitest";
import { Ring } from "@/live/ring";
import { toCsv } from "./metrics-csv";

test("a row per time within the range, a gap is an empty cell", () => {
  const ring = new Ring(8);
  ring.load(
    ["p50_us.all", "request_rate.all"],
    [100, 102, 104, 106],
    [
      [1, null, 3, 4],
      [10.5, 20, 0, 40],
    ],
  );
  expect(toCsv(ring, ["p50_us.all", "request_rate.all"], 101, 105)).toBe(
    "time,p50_us.all,request_rate.all\n1970-01-01T00:01:42.000Z,,20\n1970-01-01T00:01:44.000Z,3,0\n",
  );
});

test("a name cannot break the table, nor start a formula", () => {
  const ring = new Ring(2);
  ring.load(['a,"b"', "=1"], [1], [[1], [2]]);
  expect(toCsv(ring, ['a,"b"', "=1"], 0, 9).split("\n")[0]).toBe('time,"a,""b""",\'=1');
});
