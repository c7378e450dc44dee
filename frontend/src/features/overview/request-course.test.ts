import { describe, expect, test } from "vitest";
import type { Overview } from "@/api/types";
import { coursesOf, type Told, told } from "./request-course";

type Row = Overview["endpoints"][number];
const row = (name: string, answer_rate: number | null) => ({ name, live: { answer_rate } }) as Row;
const course = (past: Parameters<typeof coursesOf>[1], seen: Told, at: number) => coursesOf(["a"], past, seen, { at, range: 8 }).get("a");

describe("a course of requests", () => {
  test("half seconds of the past and two seconds since then have one width", () => {
    const half = { name: "a", times: [98.5, 99, 99.5, 100], values: [4, 4, 8, 8], at: 100 };
    expect(
      course(
        [half],
        new Map([
          [
            "a",
            [
              [102, 2],
              [104, 3],
            ] as const,
          ],
        ]),
        104,
      ),
    ).toEqual([4, 6, 2, 3]);
  });

  test("a server whose clock is an hour behind draws the same", () => {
    const late = { name: "a", times: [-3502, -3500], values: [1, 5], at: 100 };
    expect(course([late], new Map([["a", [[102, 2]] as const]]), 102)?.slice(-3)).toEqual([1, 5, 2]);
  });

  test("what was told before the past was answered is not counted twice", () => {
    const past = { name: "a", times: [98, 100], values: [1, 1], at: 100 };
    expect(
      course(
        [past],
        new Map([
          [
            "a",
            [
              [99, 9],
              [102, 2],
            ] as const,
          ],
        ]),
        102,
      ),
    ).toEqual([1, 1, 1, 2]);
  });

  test("a rate that is told every ten seconds has no holes, and a page that slept a minute has one", () => {
    const every = course(
      [],
      new Map([
        [
          "a",
          [
            [90, 1],
            [100, 1],
          ] as const,
        ],
      ]),
      100,
    );
    expect(every).toEqual([1, 1, 1, 1]);
    const slept = coursesOf(
      ["a"],
      [],
      new Map([
        [
          "a",
          [
            [40, 1],
            [100, 1],
          ] as const,
        ],
      ]),
      { at: 100, range: 60 },
    ).get("a");
    expect(slept?.slice(5, 24).every((value) => value === null)).toBe(true);
    expect(slept?.slice(24)).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

describe("what was told", () => {
  test("grows by one point, forgets the old and who is gone, and hears nothing twice", () => {
    let seen: Told = told(new Map(), [row("a", 1), row("b", 2)], 100, 20);
    seen = told(seen, [row("a", 3)], 102, 20);
    seen = told(seen, [row("a", 4)], 102, 20);
    expect([...seen]).toEqual([
      [
        "a",
        [
          [100, 1],
          [102, 4],
        ],
      ],
    ]);
    expect(told(seen, [row("a", null)], 140, 20).get("a")).toEqual([[140, null]]);
  });
});
