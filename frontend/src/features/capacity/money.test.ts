import { expect, test } from "vitest";
import { money } from "./money";

test("amounts with the currency, small ones as they are, and a dash for what has no price", () => {
  expect(money(0.000332, "EUR")).toBe("0.000332\u00a0EUR");
  expect(money(0.46, "EUR")).toBe("0.46\u00a0EUR");
  expect(money(1234.5, "EUR")).toBe("1,234.50\u00a0EUR");
  expect(money(0, "EUR")).toBe("0.00\u00a0EUR");
  expect(money(null, "EUR")).toBe("–");
});
