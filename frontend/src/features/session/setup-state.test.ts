import { describe, expect, it } from "vitest";
import { setupState, shortPassword, tokenOf } from "./setup-state";

describe("the page of the first run", () => {
  it.each([
    [undefined, "t", "loading"],
    [true, "t", "form"],
    [true, "", "no-token"],
    [false, "t", "closed"],
    [false, "", "closed"],
  ] as const)("open: %s, token: '%s' shows %s", (open, token, state) => expect(setupState(open, token)).toBe(state));

  it("takes the token from behind the #", () => {
    expect(tokenOf("#shoal_a-b_c")).toBe("shoal_a-b_c");
    expect(tokenOf("")).toBe("");
  });

  it.each([
    ["", null],
    ["1234567", "Take 8 characters or more."],
    ["12345678", null],
  ])("password '%s'", (password, problem) => expect(shortPassword(password)).toBe(problem));
});
