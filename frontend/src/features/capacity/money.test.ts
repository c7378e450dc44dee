import { expect, test } from "vitest";
import { money } from "./money";

test("three figures and the currency, and a dash for what has no price", () => {
  expect(money(0.0332, "EUR")).toBe("0.03\u00a0EUR");
  expect(money(36, "EUR")).toBe("36.0\u00a0EUR");
  expect(money(0, "EUR")).toBe("0\u00a0EUR");
  expect(money(null, "EUR")).toBe("–");
});
