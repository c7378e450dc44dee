import { describe, expect, test } from "vitest";
import {
  ageText,
  bytes,
  count,
  counted,
  duration,
  elapsed,
  joined,
  percent,
  rateParts,
  relativeTime,
  seconds,
  shape,
  significant,
  speed,
  tensorBytes,
} from "./format";

const text = (value: string) => value.replaceAll("\u00a0", " ");

describe("durations given in microseconds", () => {
  test.each([
    [0, "0 µs"],
    [766, "766 µs"],
    [999.4, "999 µs"],
    [999.6, "1.00 ms"],
    [4390, "4.39 ms"],
    [9996, "10.0 ms"],
    [10_700, "10.7 ms"],
    [128_000, "128 ms"],
    [999_600, "1.00 s"],
    [1_240_000, "1.24 s"],
    [192_000_000, "3.20 min"],
  ])("%d is %s", (us, expected) => expect(text(duration(us))).toBe(expected));

  test("what is not known is a dash, never 0", () => {
    expect(duration(null)).toBe("–");
    expect(duration(Number.NaN)).toBe("–");
    expect(duration(undefined)).toBe("–");
    expect(joined(rateParts(null, "req/s"))).toBe("–");
    expect(bytes(null)).toBe("–");
    expect(percent(null)).toBe("–");
    expect(count(null)).toBe("–");
    expect(speed(null)).toBe("–");
  });
});

test("three significant figures keep their width around a power of ten", () => {
  expect(significant(9.994)).toBe("9.99");
  expect(significant(9.996)).toBe("10.0");
  expect(significant(99.94)).toBe("99.9");
  expect(significant(99.96)).toBe("100");
  expect(significant(1932.4)).toBe("1,932");
});

test("rates stay plain to 9,999, then k and M", () => {
  expect(text(joined(rateParts(0, "inf/s")))).toBe("0 inf/s");
  expect(text(joined(rateParts(1932, "inf/s")))).toBe("1,932 inf/s");
  expect(text(joined(rateParts(12_340, "inf/s")))).toBe("12.3 k inf/s");
  expect(text(joined(rateParts(1_234_000, "req/s")))).toBe("1.23 M req/s");
});

test("memory is binary, network is decimal", () => {
  expect(text(bytes(0))).toBe("0 B");
  expect(text(bytes(588 * 1024))).toBe("588 KiB");
  expect(text(bytes(97.7 * 2 ** 20))).toBe("97.7 MiB");
  expect(text(bytes(1023.9 * 2 ** 20))).toBe("1.00 GiB");
  expect(text(speed(12_500_000))).toBe("12.5 MB/s");
});

test("per cent has two decimals below 1, one below 10, none above", () => {
  expect(text(percent(0))).toBe("0 %");
  expect(text(percent(0.0006))).toBe("0.06 %");
  expect(text(percent(0.071))).toBe("7.1 %");
  expect(text(percent(0.23))).toBe("23 %");
  expect(text(percent(0.0996))).toBe("10 %");
  expect(text(percent(1))).toBe("100 %");
  expect(text(percent(1.2))).toBe("120 %");
  expect(["0.99", "0.9949", "0.9986", "0.999999", "1.0004"].map((share) => text(percent(Number(share))))).toEqual([
    "99 %",
    "99 %",
    "99.86 %",
    "99.99 %",
    "100 %",
  ]);
});

test("shapes are read as prose, variable axes say so", () => {
  expect(shape([3, 224, 224])).toBe("3 × 224 × 224");
  expect(text(shape([-1, "seq"]))).toBe("-1 (any) × seq");
  expect(shape([])).toBe("scalar");
});

test("the size of one item is known only for fixed shapes and widths", () => {
  expect(tensorBytes("FP32", [3, 224, 224])).toBe(602_112);
  expect(tensorBytes("FP32", [-1])).toBeNull();
  expect(tensorBytes("BYTES", [2])).toBeNull();
  expect(tensorBytes("INT64", [])).toBe(8);
});

test("times are relative for a day, then absolute", () => {
  const now = Date.parse("2026-11-21T14:02:00Z");
  expect(relativeTime("2026-11-21T14:01:58Z", now)).toBe("just now");
  expect(relativeTime("2026-11-21T14:01:20Z", now)).toBe("40 s ago");
  expect(relativeTime("2026-11-21T13:58:00Z", now)).toBe("4 min ago");
  expect(relativeTime("2026-11-21T11:00:00Z", now)).toBe("3 h ago");
  expect(relativeTime("2026-11-18T11:00:00Z", now)).toMatch(/^2026-11-18 \d\d:\d\d$/);
  expect(relativeTime(null, now)).toBe("–");
});

test("durations between two times never go below zero", () => {
  expect(text(elapsed("2026-11-21T14:00:00Z", "2026-11-21T14:00:08Z"))).toBe("8.00 s");
  expect(text(elapsed("2026-11-21T14:00:08Z", "2026-11-21T14:00:00Z"))).toBe("0 µs");
  expect(elapsed(null, null)).toBe("");
  expect(text(seconds(3.8))).toBe("3.80 s");
  expect(text(ageText(2.2))).toBe("2 s ago");
});

test("one thing is not several", () => {
  expect(counted(0, "file")).toBe("0 files");
  expect(counted(1, "file")).toBe("1 file");
  expect(counted(1204, "file")).toBe("1,204 files");
  expect(counted(1, "class", "classes")).toBe("1 class");
});
