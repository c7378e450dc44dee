import { describe, expect, it } from "vitest";
import { withShare } from "./share";

describe("a share of the traffic", () => {
  it.each([
    [
      { blue: 100, green: 0 },
      { blue: 90, green: 10 },
    ],
    [
      { blue: 70, red: 30 },
      { blue: 63, red: 27, green: 10 },
    ],
    [
      { blue: 34, red: 33, teal: 33 },
      { blue: 32, red: 29, teal: 29, green: 10 },
    ],
    [{}, { green: 100 }],
    [{ green: 100 }, { green: 100 }],
    [
      { blue: 50, green: 50 },
      { blue: 90, green: 10 },
    ],
  ])("%j", (now, then) => {
    const result = withShare(now, "green", 10);
    expect(result).toEqual(then);
    expect(Object.values(result).reduce((sum, one) => sum + one, 0)).toBe(100);
  });
});
