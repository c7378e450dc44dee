import { expect, test, vi } from "vitest";
import { sparkPath, thin } from "./sparkline";
import { axisText, valueText } from "./units";

const plain = (texts: string[]) => texts.map((text) => text.replaceAll("\u00a0", " "));

test("an axis has one unit, chosen by its top tick, and 0 has none", () => {
  expect(plain(axisText("duration", [0, 500, 1000, 1500]))).toEqual(["0", "0.5 ms", "1 ms", "1.5 ms"]);
  expect(plain(axisText("duration", [0, 200, 400]))).toEqual(["0", "200 µs", "400 µs"]);
  expect(plain(axisText("duration", [0, 1e6, 2e6]))).toEqual(["0", "1 s", "2 s"]);
  expect(plain(axisText("bytes", [0, 2 ** 29, 2 ** 30]))).toEqual(["0", "0.5 GiB", "1 GiB"]);
  expect(plain(axisText("inf/s", [0, 1000, 3000]))).toEqual(["0", "1,000", "3,000"]);
  expect(plain(axisText("inf/s", [0, 5000, 10_000]))).toEqual(["0", "5 k", "10 k"]);
  expect(plain(axisText("percent", [0, 0.25, 1]))).toEqual(["0", "25 %", "100 %"]);
});

test("an axis has the decimal separator of the language", async () => {
  vi.resetModules();
  const { startLanguage } = await import("@/i18n/language");
  await startLanguage("de");
  const german = await import("./units");
  expect(plain(german.axisText("percent", [0, 0.0025, 0.005]))).toEqual(["0", "0,25 %", "0,5 %"]);
  expect(plain(german.axisText("duration", [0, 500, 1500]))).toEqual(["0", "0,5 ms", "1,5 ms"]);
});

test("values carry their own unit", () => {
  expect(
    plain([
      valueText("duration", 766),
      valueText("bytes", 2 ** 20),
      valueText("errors/s", 1.2),
      valueText("percent", null),
      valueText("bytes/s", 12_340),
    ]),
  ).toEqual(["766 µs", "1.00 MiB", "1.20 /s", "–", "12.3 kB/s"]);
});

test("thinning keeps the spike that an average would lose", () => {
  const values = Array.from({ length: 1000 }, (_, index) => (index === 501 ? 99 : 1));
  const thinned = thin(values, 20);
  expect(thinned).toHaveLength(40);
  expect(Math.max(...thinned.map((value) => value ?? 0))).toBe(99);
});

test("a gap lifts the pen", () => {
  expect(sparkPath([1, 2, null, 3, 4]).match(/M/g)).toHaveLength(2);
  expect(sparkPath([null, null])).toBe("");
});
